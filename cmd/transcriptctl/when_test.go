package main

import (
	"strings"
	"testing"
)

// TestSince: every listing that has times takes --since in the same forms, and refuses what is none with the same words.
func TestSince(t *testing.T) {
	s := newStack(t)
	s.must("put", "--text", "hello", "--alias", "chat/1")
	for _, command := range []string{
		"log chat/1", "loops chat/1", "loops --stale 0s", "alias list", "alias list --folder chat", "alias history chat/1", "search hello chat/1",
		"search hello --prefix chat/", "audit alias chat/planted-alias --namespace team-a testdata/audit.jsonl",
	} {
		args := strings.Fields(command)
		for _, all := range []string{"1000w", "1971-01-01", "1971-01-01T00:00:00Z"} {
			if out := s.must(append(args, "--since", all)...); out == "" || out != s.must(args...) && args[1] != "--stale" {
				t.Errorf("%s --since %s: %q", command, all, out)
			}
		}
		if out := s.must(append(args, "--since", "9000-01-01")...); out != "" {
			t.Errorf("%s: %q is of the year 9000", command, out)
		}
		if r := s.run(append(args, "--since", "soon")...); r.code != exitUsage || !strings.Contains(r.notes, "--since: "+errNotATime.Error()) {
			t.Errorf("%s: exit code %d, %q", command, r.code, r.notes)
		}
	}
}

// TestShortLimit: -5 is --limit 5 where a command has that flag, and nothing elsewhere.
func TestShortLimit(t *testing.T) {
	s := newStack(t)
	s.must("put", "--text", "1", "--alias", "chat/a")
	for range 6 {
		s.must("put", "--text", "more", "--alias", "chat/a", "--parent", "chat/a")
	}
	for args, want := range map[string]int{
		"log chat/a -5": 5, "log -2 chat/a": 2, "log chat/a -0": 7, "alias history -3 chat/a": 3, "--namespace default log chat/a -1": 1, "log chat/a -n 4": 4,
		"search -1 more chat/a": 1, "loops chat/a -2": 1, "log chat/a -005": 5,
	} {
		if out := s.must(strings.Fields(args)...); strings.Count(out, "\n") != want+1 { // below the heads
			t.Errorf("%s printed\n%s", args, out)
		}
	}
	for _, args := range []string{"show chat/a -5", "log chat/a -5x", "log chat/a -n -5", "log chat/a -- -5"} {
		if r := s.run(strings.Fields(args)...); r.code != exitUsage {
			t.Errorf("%s: exit code %d, %q, %q", args, r.code, r.out, r.notes)
		}
	}
}
