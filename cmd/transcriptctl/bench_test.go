package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What cannot be measured as it is asked for is a mistake of the command line, and the error says what can be.
func TestBenchMistakes(t *testing.T) {
	for text, args := range map[string][]string{
		`no row "99": rows are 1 to `: {"--rows", "99"},
		`no row "0": rows are 1 to `:  {"--rows", "1,0"},
		`no row "": rows are 1 to `:   {"--rows", ""},
		`no row "x": rows are 1 to `:  {"--rows=x"},
		"--restless is of row 25":     {"--rows", "1,24", "--restless"},
		"--transcriptd ":              {"--transcriptd", filepath.Join(t.TempDir(), "nowhere")},
	} {
		var notes bytes.Buffer
		err := run(t.Context(), append([]string{"bench"}, args...), strings.NewReader(""), &notes, &notes)
		if code := report(&notes, err); code != exitUsage || !strings.Contains(notes.String(), text) {
			t.Errorf("%v: exit code %d, %s", args, code, notes.String())
		}
	}
}

// A server elsewhere that is not there is told of as every other command does.
func TestBenchUnreachable(t *testing.T) {
	s := newStack(t)
	s.stop()
	r := s.run("bench", "--rows", "1")
	if r.code != exitUnavailable || !strings.Contains(r.notes, "Start it with 'transcriptd'") || r.out != "" {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.notes)
	}
}

// The machine and what is measured stand before the table, which is a list with --json and then has nothing before it.
func TestBenchPrints(t *testing.T) {
	s := newStack(t)
	const what = "transcriptd test at "
	r := s.run("bench", "--rows", "16,24")
	if lines := strings.Split(r.out, "\n"); r.code != exitOK || len(lines) < 4 || !strings.HasPrefix(lines[0], "fsync ") ||
		lines[1] != what+s.addr || !strings.HasSuffix(r.out, "\n0 met, 0 not, 3 void\n") {
		t.Errorf("exit code %d, %s\n%s", r.code, r.out, r.notes)
	}
	r = s.run("bench", "--rows", "16", "--rows", "24", "--json")
	var list []map[string]any
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || len(list) != 3 || !strings.Contains(r.notes, what) {
		t.Fatalf("%v, %s\n%s", err, r.out, r.notes)
	}
	for _, key := range []string{"row", "what", "target", "figure", "met", "void"} {
		if _, ok := list[0][key]; !ok {
			t.Errorf("no %s in %v", key, list[0])
		}
	}
}

// gone is a reader that went away.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// A reader that goes away ends the run, which is no failure.
func TestBenchEndsWithItsReader(t *testing.T) {
	s := newStack(t)
	var notes bytes.Buffer
	err := run(t.Context(), []string{"--addr", s.addr, "bench", "--quick", "--rows", "14"}, strings.NewReader(""), gone{}, &notes)
	if code := report(&notes, err); code != exitOK || strings.Contains(notes.String(), "all of it took") {
		t.Errorf("exit code %d, %s", code, notes.String())
	}
}
