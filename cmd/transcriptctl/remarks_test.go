package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRemarkOfCompaction: messages that a compaction shortened are told of, with the view that has them as they were.
func TestRemarkOfCompaction(t *testing.T) {
	s := newStack(t)
	s.must("put", "--text", strings.Repeat("long ", 200), "--alias", "chat/a")
	s.must("put", "--text", "reply", "--role", "assistant", "--alias", "chat/a", "--parent", "chat/a")
	s.must("compact", "chat/a", "--max-user-chars", "10")
	if r := s.run("assemble", "chat/a"); r.notes != "transcriptctl: shortened by a compaction: 1 message; see --view full\n" {
		t.Errorf("%q", r.notes)
	}
	if r := s.run("assemble", "chat/a", "--view", "full"); r.notes != "" {
		t.Errorf("of the full view: %q", r.notes)
	}
}

// TestRemarkOfMore: a listing that is cut by its default says so, and not where all of it is shown or the limit was given.
func TestRemarkOfMore(t *testing.T) {
	s := newStack(t)
	talk := func(alias, text string, loops int) {
		one := fmt.Sprintf(`{"role":"user","content":%q},{"role":"assistant","content":"yes"}`, text)
		list := "[" + strings.Join(slices.Repeat([]string{one}, loops), ",") + "]"
		if r := s.runWith(t.Context(), list, "put", "--alias", alias); r.code != exitOK {
			t.Fatal(r.notes)
		}
	}
	talk("chat/a", "needle", 21)
	talk("chat/b", "thread", 20)
	for _, args := range [][]string{{"search", "needle", "chat/a"}, {"search", "needle", "--prefix", ""}, {"loops", "chat/a"}} {
		for limit, want := range map[string]struct {
			lines int
			notes string
		}{
			"":   {20, "transcriptctl: these are the first 20, there is more; -n N prints N, -n 0 all\n"},
			"5":  {5, ""},
			"21": {21, ""},
			"0":  {21, ""},
		} {
			with := args
			if limit != "" {
				with = append(slices.Clone(args), "-n", limit)
			}
			if r := s.run(with...); listedIn(r.out) != want.lines || r.notes != want.notes {
				t.Errorf("%v: %d lines, remark %q; want %d, %q", with, listedIn(r.out), r.notes, want.lines, want.notes)
			}
		}
	}
	if r := s.run("search", "thread", "chat/b"); listedIn(r.out) != 20 || r.notes != "" {
		t.Errorf("of 20 hits: %d lines, remark %q", listedIn(r.out), r.notes)
	}
}

// TestRemarkOfEmptyNamespace: what reads a whole namespace says so where nothing was ever put there, and succeeds.
func TestRemarkOfEmptyNamespace(t *testing.T) {
	s := newStack(t)
	s.must("put", "--text", "something", "--alias", "other")
	for _, args := range [][]string{
		{"verify"}, {"stats"}, {"export"}, {"alias", "list"}, {"search", "x", "--prefix", ""}, {"tree", "--prefix", ""}, {"stats", "--output", "json"},
	} {
		r := s.run(append(args, "--namespace", "nothing")...)
		if want := "transcriptctl: nothing was ever put into namespace nothing; is it another --namespace?\n"; r.code != exitOK || r.notes != want {
			t.Errorf("%v: exit code %d, remark %q", args, r.code, r.notes)
		}
		if r := s.run(args...); r.code != exitOK || r.notes != "" {
			t.Errorf("%v where something was put: exit code %d, remark %q", args, r.code, r.notes)
		}
	}
}

// TestPutEmptyText: a message without text is no message of --text.
func TestPutEmptyText(t *testing.T) {
	s := newStack(t)
	if r := s.run("put", "--text", ""); r.code != exitUsage || !strings.Contains(r.notes, "--text must not be empty") || s.nodes() != 0 {
		t.Errorf("exit code %d, %q, %d nodes", r.code, r.notes, s.nodes())
	}
}
