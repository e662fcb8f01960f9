// The tokens command measures which token forms redaction knows, and what it changes that holds no secret:
//
//   - tokens that stand alone: for each rule of gitleaks whose tokens are known without a name beside them, random tokens
//     are made, and each must be replaced as a whole. --rules adds the rules of another scanner that are written alike, as
//     config/betterleaks.toml is, whose Go module not every module proxy serves;
//   - strings in real conversations that change;
//   - lines in the sources of Go and of Python that change.
//
// It fails where a figure is out of its bound, and exits with 77 where one could not be had.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// The bounds.
const (
	leastAlone  = 0.90    // share of the tokens that stand alone and are replaced
	mostStrings = 8       // strings of the real conversations that change
	mostLines   = 0.00014 // share of the lines of Go's and Python's sources that change
)

// notDone is the exit code where nothing failed, but something could not be measured.
const notDone = 77

type options struct {
	rules       []string
	transcripts string
	perMaker    bool
	showLines   bool
}

func main() {
	var o options
	flag.Func("rules", "measure the rules in `FILE` too, in the form of gitleaks.toml (may be repeated)", func(file string) error {
		o.rules = append(o.rules, file)
		return nil
	})
	flag.StringVar(&o.transcripts, "transcripts", os.Getenv("TRANSCRIPTS_DIR"), "the real conversations (*.jsonl.gz) are in `DIR`")
	flag.BoolVar(&o.perMaker, "makers", false, "print the share of each maker")
	flag.BoolVar(&o.showLines, "changes", false, "print each line and string that changes")
	flag.Parse()
	os.Exit(run(o))
}

func run(o options) int {
	var r report
	r.alone(o)
	r.conversations(o)
	r.sources(o)
	fmt.Print(r.String())
	switch {
	case r.failed:
		return 1
	case r.missing:
		return notDone
	}
	return 0
}

// report collects the figures.
type report struct {
	lines           []string
	failed, missing bool
}

// figure notes one, and whether it keeps its bound.
func (r *report) figure(what, figure, bound string, kept bool) {
	verdict := "ok"
	if !kept {
		verdict, r.failed = "FAILS", true
	}
	r.lines = append(r.lines, fmt.Sprintf("%-44s %-32s %-12s %s", what, figure, bound, verdict))
}

// beside notes a figure that has no bound.
func (r *report) beside(what, figure string) {
	r.lines = append(r.lines, fmt.Sprintf("%-44s %s", what, figure))
}

// notMeasured notes what could not be measured, so that nobody misses it.
func (r *report) notMeasured(what string, why any) {
	r.missing = true
	rule := strings.Repeat("#", 96)
	r.lines = append(r.lines, rule, fmt.Sprintf("##  NOT MEASURED: %s: %v", what, why), rule)
}

func (r *report) String() string { return strings.Join(r.lines, "\n") + "\n" }

func percent(part, whole int) string {
	return fmt.Sprintf("%.4g %% (%d of %d)", 100*float64(part)/float64(max(whole, 1)), part, whole)
}
