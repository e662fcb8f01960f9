// Command cycles tells how large the cycles of files are in the packages of a workspace: files of a package that use each other's
// types, functions, fields and constants, each of them, over others, all the rest. A reader has to hold such files in mind at
// once. It fails where a cycle has more files than the bound.
//
//	GOWORK=off go -C tools run ./cycles [-most 8] [-all] [-C ..] [package ...]
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	most := flag.Int("most", 8, "how many files a cycle may have")
	all := flag.Bool("all", false, "print the largest cycle of every package")
	dir := flag.String("C", "..", "the folder of the workspace")
	aside := flag.String("aside", "", "packages with such a path in theirs are passed over, separated by commas")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = []string{"work"}
	}
	large, err := report(*dir, packages, *most, *all, *aside)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cycles:", err)
		os.Exit(2)
	}
	if large > 0 {
		fmt.Fprintf(os.Stderr, "cycles: %d packages have a cycle of more than %d files; cut it, or make a room (a package) of a part of it\n", large, *most)
		os.Exit(1)
	}
}

// report prints the largest cycles, and tells how many are larger than most.
func report(dir string, patterns []string, most int, all bool, aside string) (large int, err error) {
	packages, exports, err := list(dir, patterns)
	if err != nil {
		return 0, err
	}
	for _, p := range packages {
		if passedOver(p.ImportPath, aside) {
			continue
		}
		uses, err := usesOf(p, exports)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		cycle := largest(components(uses))
		if len(cycle) > most {
			large++
		}
		if all || len(cycle) > most {
			fmt.Printf("%3d of %3d files  %s  %s\n", len(cycle), len(p.GoFiles), p.ImportPath, strings.Join(cycle, " "))
		}
	}
	return large, nil
}

func passedOver(path, aside string) bool {
	for part := range strings.SplitSeq(aside, ",") {
		if part != "" && strings.Contains(path+"/", part) {
			return true
		}
	}
	return false
}

// largest is the cycle of the most files, in order; nothing where no files use each other.
func largest(components [][]string) (most []string) {
	for _, c := range components {
		if len(c) > 1 && len(c) > len(most) {
			most = c
		}
	}
	slices.Sort(most)
	return most
}
