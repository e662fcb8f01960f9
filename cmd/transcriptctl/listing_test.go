package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
)

// TestLimits: 20 entries without -n, all with 0, else as many as asked for, over as many pages as that takes.
func TestLimits(t *testing.T) {
	s := newStack(t)
	texts := make([]string, 0, 2*130)
	for i := range cap(texts) {
		texts = append(texts, fmt.Sprint("word ", i))
	}
	var b strings.Builder
	for i := range 130 {
		fmt.Fprintf(&b, `{"role":"user","content":%q},{"role":"assistant","content":"word"},`, texts[i])
	}
	s.importText(`{"id":"1","messages":[` + strings.TrimSuffix(b.String(), ",") + "]}\n").sums(t)
	for _, test := range []struct {
		limit string
		lines int
	}{{"", 20}, {"0", 130}, {"1", 1}, {"101", 101}, {"1000", 130}} {
		for _, args := range [][]string{
			{"loops", "chat/1"}, {"search", "WORD", "chat/1", "--role", "user"}, {"search", "-e", "^word \\d+$", "--prefix", ""},
			{"loops", "chat/1", "--output", "json"}, {"search", "word ", "--prefix", "chat", "--output", "json"},
		} {
			if test.limit != "" {
				args = append(args, "-n", test.limit)
			}
			if n := listedIn(s.must(args...)); n != test.lines {
				t.Errorf("%v: %d lines, want %d", args, n, test.lines)
			}
		}
	}
	if out := s.must("search", "no such text", "--prefix", "", "-n", "0"); out != "" {
		t.Errorf("%q", out)
	}
}

// listedIn counts the entries of a listing: its lines without its heads.
func listedIn(out string) int {
	n := strings.Count(out, "\n")
	if n > 0 && !strings.HasPrefix(out, "{") {
		n--
	}
	return n
}

// TestRecallLarge: a result of several pages is printed whole; control characters are shown, and escaped with json.
func TestRecallLarge(t *testing.T) {
	s := newStack(t)
	text := strings.Repeat("läng\u202e ", (canonical.MaxMessageBytes-1000)/9)
	line := `{"id":"1","messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"a\u0007",` +
		`"type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a\u0007","content":"` + text + "\"}]}\n"
	s.importText(line).sums(t)
	r := s.run("recall", "chat/1", "a\a")
	if r.code != exitOK || r.out != strings.ReplaceAll(text, "\u202e", `\u202e`)+"\n" || !strings.Contains(r.notes, `[call a\x07]`) {
		t.Errorf("exit code %d, %d bytes of %d, %.200q", r.code, len(r.out), len(text), r.notes)
	}
	if out := s.must("recall", "chat/1", "a\a", "--output", "json"); !strings.Contains(strings.ReplaceAll(out, `\u202e`, "\u202e"), text) {
		t.Error("json does not have the result whole")
	}
}

// TestManyAliases: show and log say where a node has more aliases than they were told.
func TestManyAliases(t *testing.T) {
	s := newStack(t)
	put := []string{"put", "--text", "x"}
	for i := range 101 {
		put = append(put, "--alias", fmt.Sprintf("a%03d", i))
	}
	s.must(put...)
	if out := s.must("show", "a000"); strings.Count(out, "alias") != 101 || !strings.Contains(out, "there may be more") {
		t.Errorf("show says %s", out)
	}
	if out := s.must("log", "a000"); !strings.Contains(out, "[a000, a001, a002, a003 and perhaps more]") {
		t.Errorf("log says %s", out)
	}
	s.must("alias", "delete", "a100")
	if out := s.must("log", "a000"); !strings.Contains(out, "[a000, a001, a002, a003 and 96 more]") {
		t.Errorf("log says %s", out)
	}
}
