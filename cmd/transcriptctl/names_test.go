package main

import (
	"strings"
	"testing"
)

// TestNames: an alias, and the beginning of some, are written alike in every command.
func TestNames(t *testing.T) {
	s := newStack(t)
	s.must("put", "--text", "hello", "--alias", "alias:chat/42")
	s.must("alias", "set", "alias:branch/try", "alias:chat/42")
	for _, command := range []string{
		"show %", "log %", "loops %", "describe %", "assemble %", "diff % %", "tree %", "search hello %", "replay %", "alias resolve %", "alias history %", "export --chat %",
		"alias list %", "tree --prefix %", "search hello --prefix %", "loops --stale 0s %", "export --prefix %", "alias list --folder %",
	} {
		plain := s.run(strings.Fields(strings.ReplaceAll(command, "%", "chat/42"))...)
		marked := s.run(strings.Fields(strings.ReplaceAll(command, "%", "alias:chat/42"))...)
		if plain.code != exitOK || marked.code != exitOK || plain.out == "" && !strings.Contains(command, "--folder") && !strings.Contains(command, "replay") {
			t.Errorf("%s: exit codes %d and %d, %q, %q", command, plain.code, marked.code, plain.notes, marked.notes)
		}
		if plain.out != marked.out && !strings.Contains(command, "describe") && !strings.Contains(command, "--stale") {
			t.Errorf("%s: %q, and marked %q", command, plain.out, marked.out)
		}
	}
	if plain, id := s.must("export", "--chat", "chat/42"), s.must("export", "--chat", "42"); plain != id || !strings.Contains(id, `"id":"42"`) {
		t.Errorf("%q, by its id %q", plain, id)
	}
	if out := s.must("alias", "delete", "--prefix", "alias:branch/", "--yes"); !strings.Contains(out, "branch/try") {
		t.Error(out)
	}
	for _, test := range []struct{ args, want string }{
		{"alias resolve node:0123456789", "takes an alias, and node: names a node: write alias:NAME"},
		{"alias set node:0123456789 chat/42", "takes an alias"},
		{"put --text x --alias node:0123456789", "takes an alias"},
		{"alias list node:01", "takes an alias"},
		{"tree --prefix node:01", "takes an alias"},
		{"search x --prefix node:01", "takes an alias"},
		{"loops --stale 1h node:01", "takes an alias"},
		{"export --prefix node:01", "takes an alias"},
		{"export --prefix branch/", "--prefix must begin with chat/"},
		{"export --chat alias:branch/try", "the aliases of these begin with chat/"},
		{"export --chat 42 --prefix chat/", "give either --chat or --prefix"},
		{"alias resolve alias:", "must not be empty"},
		{"log alias:", "a REF must not be empty"},
		{"log node:", "a REF must not be empty"},
		{"log node:0123", "too short"},
		{"log node:0123456789ABCDEF", "in capitals"},
		{"log node:chat/42", "node: goes with an id"},
	} {
		if r := s.run(strings.Fields(test.args)...); r.code != exitUsage || !strings.Contains(r.notes, test.want) {
			t.Errorf("%s: exit code %d, %q, want %q", test.args, r.code, r.notes, test.want)
		}
	}
	if r := s.run("log", ""); r.code != exitUsage || !strings.Contains(r.notes, "must not be empty") {
		t.Errorf("exit code %d, %q", r.code, r.notes)
	}
}

// TestSuggestions: what is not there is told with what may have been meant.
func TestSuggestions(t *testing.T) {
	s := newStack(t)
	s.must("put", "--text", "hello", "--alias", "chat/42")
	s.must("put", "--text", "hello", "--alias", "plain")
	s.must("put", "--text", "hello", "--alias", "chat/abcdef")
	const chat, short = "There is no alias 42, but there is chat/42: is that meant?", "If abc is meant as an id, it is too short, since the beginning of an id needs 6 digits or more."
	for _, test := range []struct{ args, want string }{
		{"log 42", chat}, {"show 42", chat}, {"loops 42", chat}, {"describe 42", chat}, {"assemble 42", chat}, {"tree 42", chat}, {"search x 42", chat},
		{"alias resolve 42", chat}, {"alias history 42", chat}, {"alias set x 42", chat}, {"put --text x --parent 42", chat}, {"diff chat/42 42", chat},
		{"alias delete 42 --if-exists", chat}, {"put --text x --alias plain --if-head 42", chat}, {"recall 42 call_1", chat},
		{"log chat/plain", "There is no alias chat/plain, but there is plain: is that meant?"},
		{"export --chat plain", "There is no alias chat/plain, but there is plain: is that meant?"},
		{"log abcdef", "There is no alias abcdef, but there is chat/abcdef"},
		{"log abc", short}, {"alias resolve abc", short},
		{"log ABCDEF12", "If ABCDEF12 is meant as an id, it is in capitals, and ids are in small letters."},
		{"log ABC", "it is in capitals, and ids are in small letters, and too short"},
		{"log " + strings.Repeat("a", idDigits+1), "too long, since an id has 64 digits"},
	} {
		r := s.run(strings.Fields(test.args)...)
		if r.code != exitNotFound || !strings.Contains(r.notes, test.want) {
			t.Errorf("%s: exit code %d, %q, want %q", test.args, r.code, r.notes, test.want)
		}
		if generic := strings.Contains(r.notes, "See what is there"); generic && strings.Contains(test.want, "but there is") {
			t.Errorf("%s: %q", test.args, r.notes)
		}
	}
	for _, args := range []string{"log nobody", "alias resolve nobody", "log 0123456789"} {
		if r := s.run(strings.Fields(args)...); r.code != exitNotFound || strings.Contains(r.notes, "meant") || !strings.Contains(r.notes, "alias list") {
			t.Errorf("%s: exit code %d, %q", args, r.code, r.notes)
		}
	}
	for _, args := range []string{"alias list 4", "tree --prefix 4", "search hello --prefix 4", "loops --stale 0s 4"} {
		if r := s.run(strings.Fields(args)...); r.code != exitOK || !strings.Contains(r.notes, "no alias begins with 4, but chat/42 does: is chat/4 meant?") {
			t.Errorf("%s: exit code %d, %q", args, r.code, r.notes)
		}
	}
	if r := s.run("alias", "delete", "42"); r.code != exitOK || !strings.Contains(r.notes, chat) {
		t.Errorf("exit code %d, %q", r.code, r.notes)
	}
}
