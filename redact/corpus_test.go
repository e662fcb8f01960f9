package redact_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/redact"
)

// entry is one text of a corpus; secrets are the parts of it that must not survive.
type entry struct {
	title, text string
	secrets     []string
}

// corpus reads a file of entries; see its first lines.
func corpus(t testing.TB, file string) []entry {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for _, block := range strings.Split("\n"+string(raw), "\n%% ")[1:] {
		title, text, _ := strings.Cut(block, "\n")
		e := entry{title: title}
		for {
			before, rest, found := strings.Cut(text, "‹")
			e.text += before
			if !found {
				break
			}
			secret, after, closed := strings.Cut(rest, "›")
			if !closed {
				t.Fatalf("%s: %q has no closing mark", file, title)
			}
			e.text += secret
			e.secrets = append(e.secrets, secret)
			text = after
		}
		e.text = strings.TrimSuffix(e.text, "\n")
		entries = append(entries, e)
	}
	return entries
}

// survives says whether the secret, or twelve bytes of it in a row, can still be read in out.
func survives(out, secret string) bool {
	const window = 12
	if len(secret) <= window {
		return strings.Contains(out, secret)
	}
	for i := 0; i+window <= len(secret); i++ {
		if part := secret[i : i+window]; strings.Contains(out, part) && !strings.HasPrefix(part, "-----") && !strings.HasSuffix(part, "-----") {
			return true
		}
	}
	return false
}

// leaks are the entries of which a secret survives.
func leaks(r *redact.Redactor, entries []entry) (out []string) {
	for _, e := range entries {
		got := r.Text(e.text)
		for _, secret := range e.secrets {
			if survives(got, secret) {
				out = append(out, e.title+": "+secret+" in "+got)
			}
		}
	}
	return out
}

func TestNoSecretOfTheCorpusSurvives(t *testing.T) {
	entries := corpus(t, "secrets.txt")
	if len(entries) < 200 {
		t.Errorf("%d entries, want 200", len(entries))
	}
	for _, e := range entries {
		if len(e.secrets) == 0 {
			t.Errorf("%s: no secret", e.title)
		}
	}
	for _, leak := range leaks(&redact.Redactor{}, entries) {
		t.Error(leak)
	}
}

// Redaction takes the secret and leaves what stands around it: not less than the mark, not more than what is marked in
// the corpus.
func TestWhatStandsAroundASecretStays(t *testing.T) {
	for _, e := range corpus(t, "secrets.txt") {
		want, rest := "", e.text
		for _, s := range e.secrets {
			before, after, _ := strings.Cut(rest, s)
			want, rest = want+before+redact.Mark, after
		}
		want += rest
		got := strings.ReplaceAll(redact.Text(e.text), `"pin":"`+redact.Mark+`"`, `"pin":`+redact.Mark)
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", e.title, got, want)
		}
	}
}

func TestHarmlessLookAlikesStay(t *testing.T) {
	entries := corpus(t, "harmless.txt")
	if len(entries) < 200 {
		t.Errorf("%d entries, want 200", len(entries))
	}
	for _, e := range entries {
		if got := redact.Text(e.text); got != e.text {
			t.Errorf("%s:\n got %s\nwant %s", e.title, got, e.text)
		}
	}
}

// What the corpus's texts are when they are strings of a JSON document, once and twice, is found as well, and the
// documents stay valid.
func TestTheCorpusWithinJSON(t *testing.T) {
	for _, e := range append(corpus(t, "secrets.txt"), corpus(t, "harmless.txt")...) {
		once := encode(t, map[string]any{"content": e.text, "n": 1})
		twice := encode(t, map[string]any{"arguments": once})
		want := redact.Text(e.text)
		var outer, inner struct{ Arguments, Content string }
		decode(t, redact.Text(twice), &outer)
		decode(t, outer.Arguments, &inner)
		if inner.Content != want {
			t.Errorf("%s:\n got %s\nwant %s", e.title, inner.Content, want)
		}
	}
}

func TestTheCorpusKeepsThePromises(t *testing.T) {
	for _, e := range append(corpus(t, "secrets.txt"), corpus(t, "harmless.txt")...) {
		promises(t, e.text)
	}
}

// promises checks what the package comment promises of every text.
func promises(t *testing.T, s string) {
	t.Helper()
	got := redact.Text(s)
	if again := redact.Text(got); again != got {
		t.Errorf("Text(%q) = %q, and of that %q", s, got, again)
	}
	if len(got) > 4*len(s)+len(redact.Mark) {
		t.Errorf("Text(%q) has %d bytes of %d", s, len(got), len(s))
	}
	if utf8.ValidString(s) && !utf8.ValidString(got) {
		t.Errorf("Text(%q) = %q is not UTF-8", s, got)
	}
	if json.Valid([]byte(s)) && !json.Valid([]byte(got)) {
		t.Errorf("Text(%q) = %q is not JSON", s, got)
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func decode(t *testing.T, s string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), into); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
}
