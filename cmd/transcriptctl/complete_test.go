package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// completed are the values that a line is completed to, without what they are.
func completed(t *testing.T, words ...string) string {
	t.Helper()
	r := ctl(append([]string{completeWord}, words...)...)
	if r.code != exitOK || r.notes != "" {
		t.Fatalf("%q: exit code %d, %q", words, r.code, r.notes)
	}
	var values []string
	for line := range strings.Lines(r.out) {
		value, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		values = append(values, value)
	}
	return strings.Join(values, " ")
}

// TestComplete: a word is completed to what may stand in its place.
func TestComplete(t *testing.T) {
	s := newStack(t)
	contextsAt(t)
	t.Setenv("TRANSCRIPTCTL_ADDR", s.addr)
	s.must("put", "--text", "a", "--alias", "chat/a b", "--alias", "chat/c", "--alias", "branch/c")
	s.must("put", "--namespace", "team", "--text", "a", "--alias", "chat/theirs")
	mustCtl(t, "context", "add", "here", "--addr", s.addr, "--namespace", "team")
	mustCtl(t, "context", "add", "there", "--addr", "127.0.0.1:1")
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"co"}, "compact collect context conformance completions"},
		{[]string{"--namespace", "team", "alias", "re"}, "resolve"},
		{[]string{"help", "alias", "re"}, "resolve"},
		{[]string{"help", "nonsense", ""}, ""},
		{[]string{"completions", ""}, "bash zsh fish"},
		{[]string{"alias", "delete", "--if"}, "--if-exists --if-head --if-revision"},
		{[]string{"put", "--form", "p"}, "protojson"},
		{[]string{"put", "--form=p"}, "--form=protojson"},
		{[]string{"put", "--form=p", "--", "--f"}, ":files"},
		{[]string{"search", "x", "--role=user,too"}, "--role=user,tool"},
		{[]string{"put", ""}, ":files"},
		{[]string{"put", "x", ""}, ""},
		{[]string{"import", "one", "two", ""}, ":files"},
		{[]string{"stats", "--ca", ""}, ":files"},
		{[]string{"log", ""}, "branch/c chat/a b chat/c"},
		{[]string{"log", "-n", "5", "chat/a"}, "chat/a b"},
		{[]string{"log", "-n"}, ""},
		{[]string{"log", "-n5", "b"}, "branch/c"},
		{[]string{"log", "alias:b"}, "alias:branch/c"},
		{[]string{"put", "--parent=b"}, "--parent=branch/c"},
		{[]string{"alias", "list", "-r", "b"}, "branch/c"},
		{[]string{"export", "--chat", ""}, "a b c"},
		{[]string{"--namespace=team", "log", ""}, "chat/theirs"},
		{[]string{"--context", "here", "log", ""}, "chat/theirs"},
		{[]string{"--addr", s.addr, "--namespace", ""}, "default team"},
		{[]string{"--addr", "nonsense", "log", ""}, ""},
		{[]string{"--context", "nonsense", "log", ""}, ""},
		{[]string{"--context", ""}, "here there"},
		{[]string{"context", "use", "t"}, "there"},
		{[]string{"alias", "nonsense", "--nonsense", "re"}, "resolve"},
	} {
		if got := completed(t, c.words...); got != c.want {
			t.Errorf("%q is completed to %q, want %q", c.words, got, c.want)
		}
	}
	if out := ctl(completeWord, "alias", "res").out; out != "resolve\tTell which node an alias points to\n" {
		t.Errorf("%q", out)
	}
}

// TestCompleteMany: of more names than can be offered the last is one, so that no shell takes what only the first have in common.
func TestCompleteMany(t *testing.T) {
	s := newStack(t)
	args := []string{"put", "--text", "a"}
	for i := range 90 {
		args = append(args, "--alias", fmt.Sprintf("n1%03d", i), "--alias", fmt.Sprintf("n2%03d", i), "--alias", fmt.Sprintf("n3%03d", i))
		if i%30 == 29 {
			s.must(args...)
			args = []string{"put", "--text", "a"}
		}
	}
	t.Setenv("TRANSCRIPTCTL_ADDR", s.addr)
	names := strings.Fields(completed(t, "log", "n"))
	if len(names) != completionsMost+1 || names[len(names)-1] != "n3089" {
		t.Errorf("%d names, the last is %q", len(names), names[len(names)-1])
	}
}

// TestCompleteSilent: where no server answers, completion soon ends and says nothing.
func TestCompleteSilent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	for _, addr := range []string{"127.0.0.1:1", listener.Addr().String(), "far.example:1"} {
		t.Setenv("TRANSCRIPTCTL_ADDR", addr)
		began := time.Now()
		var out, notes bytes.Buffer
		err := run(context.Background(), []string{completeWord, "log", ""}, strings.NewReader(""), &out, &notes)
		if err != nil || out.Len() > 0 || notes.Len() > 0 || time.Since(began) > 3*completionWait {
			t.Errorf("%s: %v, %q, %q, in %s", addr, err, out.String(), notes.String(), time.Since(began))
		}
	}
}

// TestHelpCommand: help says what --help says.
func TestHelpCommand(t *testing.T) {
	contextsAt(t)
	for _, command := range []string{"", "alias", "alias set", "put", "help"} {
		words := strings.Fields(command)
		told := mustCtl(t, append([]string{"help"}, words...)...)
		if want := mustCtl(t, append(words, "--help")...); told != want || told == "" {
			t.Errorf("help %s tells\n%s\nwant\n%s", command, told, want)
		}
	}
	for _, command := range []string{"nonsense", "put x", "alias nonsense"} {
		if r := ctl(append([]string{"help"}, strings.Fields(command)...)...); r.code != exitUsage || !strings.Contains(r.notes, "there is no command") {
			t.Errorf("help %s: exit code %d, %q", command, r.code, r.notes)
		}
	}
}
