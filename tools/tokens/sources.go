package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/transcriptd/transcriptd/redact"
)

// sources counts the lines of Go's and Python's own sources that change.
func (r *report) sources(o options) {
	all, changed := 0, 0
	for _, s := range []struct {
		language, ending string
		command          []string // prints the folder
	}{
		{"Go", ".go", []string{"go", "env", "GOROOT"}},
		{"Python", ".py", []string{"python3", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"}},
	} {
		lines, touched, err := r.source(o, s.ending, s.command)
		if err == nil && lines < 100_000 {
			err = fmt.Errorf("there are only %d lines", lines)
		}
		if err != nil {
			r.notMeasured("lines in "+s.language+"'s sources", err)
			continue
		}
		r.beside("lines that change in "+s.language+"'s sources", percent(touched, lines))
		all, changed = all+lines, changed+touched
	}
	if all > 0 {
		r.figure("  in both", percent(changed, all), fmt.Sprintf("<= %g %%", 100*mostLines), float64(changed) <= mostLines*float64(all))
	}
}

// source counts the lines of the files with an ending below the folder that a command prints, and those of them that change.
// What others have installed there is not looked at.
func (r *report) source(o options, ending string, command []string) (lines, changed int, err error) {
	root, err := exec.Command(command[0], command[1:]...).Output()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", command[0], err)
	}
	err = filepath.WalkDir(strings.TrimSpace(string(root)), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "site-packages" || entry.Name() == "dist-packages"):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ending:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n, touched := r.file(o, path, string(text))
		lines, changed = lines+n, changed+touched
		return nil
	})
	return lines, changed, err
}

func (r *report) file(o options, path, text string) (lines, changed int) {
	was := strings.SplitAfter(text, "\n")
	redacted := redact.Text(text)
	if redacted == text {
		return len(was), 0
	}
	is := strings.SplitAfter(redacted, "\n")
	kept := make(map[string]int, len(is))
	for _, line := range is {
		kept[line]++
	}
	for _, line := range was {
		if kept[line]--; kept[line] < 0 {
			changed++
			r.change(o, path, line, "")
		}
	}
	return len(was), changed
}
