package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
)

// report prints figures, as the table of docs/performance.md or as a list.
type report struct {
	out, notes io.Writer
	json       bool
	all        []measure.Figure
}

func newReport(out, notes io.Writer, json bool) *report {
	return &report{out: out, notes: notes, json: json, all: []measure.Figure{}}
}

func (r *report) note(format string, args ...any) { fmt.Fprintf(r.notes, format+"\n", args...) }

// begin tells of the machine.
func (r *report) begin(machine string) {
	if r.json {
		r.note("%s", machine)
		return
	}
	fmt.Fprintf(r.out, "%s\n\n| row | what | target | figure | met | what it means |\n| --- | --- | --- | --- | --- | --- |\n", machine)
}

// figures tells those of a row.
func (r *report) figures(figures []measure.Figure) {
	r.all = append(r.all, figures...)
	for _, f := range figures {
		if !r.json {
			fmt.Fprintf(r.out, "| %d | %s | %s | %s | %s | %s |\n", f.Row, f.What, f.Target, value(f), verdict(f), f.Means)
		}
	}
}

// end tells what the figures were made of.
func (r *report) end() error {
	if r.json {
		e := json.NewEncoder(r.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r.all)
	}
	for i, f := range r.all {
		if i == 0 || r.all[i-1].Row != f.Row {
			fmt.Fprintf(r.out, "\nRow %d\n\n", f.Row)
		}
		if f.Void != "" {
			fmt.Fprintf(r.out, "- void: %s\n", f.Void)
		}
		for _, line := range f.Beside {
			fmt.Fprintf(r.out, "- %s\n", line)
		}
	}
	return nil
}

func value(f measure.Figure) string {
	switch {
	case f.Void != "" && f.Value == 0:
		return "–"
	case f.Low != 0 || f.High != 0:
		return fmt.Sprintf("%.3g (%.3g to %.3g)", f.Value, f.Low, f.High)
	default:
		return fmt.Sprintf("%.3g", f.Value)
	}
}

func verdict(f measure.Figure) string {
	switch {
	case f.Void != "":
		return "void"
	case f.Met:
		return "yes"
	default:
		return "**no**"
	}
}
