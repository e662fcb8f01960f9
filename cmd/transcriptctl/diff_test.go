package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDiff: what each chain has alone, and their common ancestor.
func TestDiff(t *testing.T) {
	s := newStack(t)
	s.must("put", "--text", "root", "--alias", "a")
	s.must("put", "--text", "both", "--alias", "a", "--parent", "a")
	s.must("alias", "set", "b", "a")
	s.must("alias", "set", "at", "a")
	for _, put := range []string{"a a1", "a a2", "a a3", "b b1"} {
		alias, text, _ := strings.Cut(put, " ")
		s.must("put", "--text", text, "--alias", alias, "--parent", alias)
	}
	// What is no turn of anybody counts, too.
	s.must("put", "--text", "c1", "--alias", "c", "--parent", "at")
	s.must("put", "--role", "system", "--text", "c2", "--alias", "c", "--parent", "c")
	s.must("put", "--role", "system", "--text", "c3", "--alias", "c", "--parent", "c")
	s.must("put", "--text", "other", "--alias", "other")
	for args, want := range map[string]string{
		"a b": "a a3,a a2,a a1,b b1,both both", "b a": "a b1,b a3,b a2,b a1,both both", "a at": "a a3,a a2,a a1,both both", "at a": "b a3,b a2,b a1,both both",
		"a a": "both a3", "b c": "a b1,b c3,b c2,b c1,both both", "a other": "a a3,a a2,a a1,a both,a root,b other", "other a": "a other,b a3,b a2,b a1,b both,b root",
		"a b -2": "a a3,a a2,b b1,both both",
	} {
		r := s.run(append([]string{"diff"}, strings.Fields(args)...)...)
		var lines []string
		for line := range strings.Lines(r.out) {
			if strings.HasPrefix(line, "IN ") {
				continue
			}
			words := strings.Fields(line)
			lines = append(lines, words[0]+" "+words[4])
		}
		if got := strings.Join(lines, ","); got != want || r.code != exitOK {
			t.Errorf("%s: exit code %d, %s, want %s", args, r.code, got, want)
		}
		if apart := strings.Contains(args, "other"); apart != strings.Contains(r.notes, "have no node in common") {
			t.Errorf("%s: %q", args, r.notes)
		}
		if cut := strings.Contains(args, "-2"); cut != strings.Contains(r.notes, "1 node more that a alone has") {
			t.Errorf("%s: %q", args, r.notes)
		}
	}
	if r := s.run("diff", "a", "nobody"); r.code != exitNotFound {
		t.Errorf("exit code %d, %q", r.code, r.notes)
	}
	var sides []string
	for line := range strings.Lines(s.must("diff", "a", "b", "--output", "json")) {
		var l struct {
			In   string
			Node struct{ Info struct{ NodeID string } }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || len(l.Node.Info.NodeID) != idDigits {
			t.Fatal(line, err)
		}
		sides = append(sides, l.In)
	}
	if got := strings.Join(sides, " "); got != "a a a b both" {
		t.Error(got)
	}
}
