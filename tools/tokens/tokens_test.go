package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/redact"
)

const someRules = `
[[rules]]
id = "acme-key"
regex = '''\b((?i)acme_[a-f0-9]{20})(?:[\x60'"\s;]|\\[nr]|$)'''
[[rules]]
id = "beside-a-name"
regex = '''(?i)beside[ =]{1,3}([a-f0-9]{32})'''
[[rules]]
id = "a-path"
path = '''\.p12$'''
[[rules]]
id = "of-a-group"
regex = '''(\w{20})://(\w{20})'''
secretGroup = 2
`

func TestSamples(t *testing.T) {
	rules, err := parse("some", someRules)
	if err != nil || len(rules) != 3 {
		t.Fatalf("%d rules, %v", len(rules), err)
	}
	tokens := rules[0].samples()
	if len(tokens) != perRule || !slices.Equal(tokens, rules[0].samples()) {
		t.Errorf("%q, and then %q", tokens, rules[0].samples())
	}
	for _, token := range tokens {
		if len(token) != len("acme_")+20 || !strings.HasPrefix(token, "acme_") || !rules[0].expression.MatchString(token) {
			t.Errorf("%q is no token of the rule", token)
		}
	}
	for _, r := range rules[1:] {
		if tokens := r.samples(); len(tokens) > 0 {
			t.Errorf("%s does not stand alone, but has %q", r.id, tokens)
		}
	}
	if got := rules[2].secret("aaaaaaaaaaaaaaaaaaaa://bbbbbbbbbbbbbbbbbbbb"); got != "bbbbbbbbbbbbbbbbbbbb" {
		t.Errorf("the second group is %q", got)
	}
	if _, err := parse("bad", "[[rules]]\nid='x'\nregex='('"); err == nil {
		t.Error("no expression, no error")
	}
}

// Lines are counted as changed that are not there any more, be they one or a whole key.
func TestChangedLines(t *testing.T) {
	const pem = "-----BEGIN PRIVATE KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\nEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu\n-----END PRIVATE KEY-----\n"
	var r report
	for text, want := range map[string]int{
		"a\nb\nb\n": 0, "a\npassword=swordfish\nb\n": 1, "a\n" + pem + "b\npassword=swordfish\n": 5,
	} {
		if lines, changed := r.file(options{}, "a", text); changed != want || lines != strings.Count(text, "\n")+1 {
			t.Errorf("%d of %d lines of %q changed, want %d", changed, lines, text, want)
		}
	}
}

func TestBoundsFail(t *testing.T) {
	var r report
	r.figure("a", "1", "<= 1", true)
	if r.failed || r.missing {
		t.Error("failed within the bound")
	}
	r.conversations(options{transcripts: t.TempDir()})
	if r.failed || !r.missing {
		t.Error("conversations are not there, and nothing is missing")
	}
	r.figure("a", "2", "<= 1", false)
	if !r.failed || !strings.Contains(r.String(), "FAILS") || !strings.Contains(r.String(), "NOT MEASURED") {
		t.Errorf("not said:\n%s", &r)
	}
}

// What each calls its function with is what redaction changed.
func TestChangedStrings(t *testing.T) {
	was := map[string]any{"password": "swordfish", "list": []any{"a", "b"}, "n": 1.0}
	is := map[string]any{"password": redact.Mark, "list": []any{"a", "b"}, "n": 1.0}
	all, changed := 0, 0
	each(was, is, func(a, b string) {
		all++
		if a != b {
			changed++
		}
	})
	if all != 3 || changed != 1 {
		t.Errorf("%d of %d strings changed", changed, all)
	}
}
