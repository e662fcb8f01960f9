package redact_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/redact"
)

// The seeds are the corpora, and what is in testdata/fuzz: inputs that once broke a promise.
func FuzzText(f *testing.F) {
	for _, e := range append(corpus(f, "secrets.txt"), corpus(f, "harmless.txt")...) {
		f.Add(e.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		promises(t, s)
	})
}

// Whatever a text repeats, the work grows with its length alone. The seeds are what TestWorkGrowsWithTheLength takes, and pairs of
// that.
func FuzzWork(f *testing.F) {
	for i, piece := range nasty {
		f.Add(piece + nasty[(i*7+1)%len(nasty)])
	}
	f.Fuzz(func(t *testing.T, piece string) {
		if piece == "" || len(piece) > 256 {
			return
		}
		checkWork(t, piece, strings.Repeat(piece, 1<<16/len(piece)))
	})
}

// A document keeps its form: the same members, the same lengths of lists, the same kinds of values, save that a number may
// become a string, and the numbers after it in a list zeros, where they were the bytes of a key.
func FuzzJSON(f *testing.F) {
	for _, e := range corpus(f, "secrets.txt") {
		f.Add([]byte(e.text))
		if quoted, err := json.Marshal(map[string]string{"a": e.text}); err == nil {
			f.Add(quoted)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		promises(t, string(raw))
		var was, is any
		if json.Unmarshal(raw, &was) != nil {
			return // a number out of range
		}
		decode(t, redact.Text(string(raw)), &is)
		if !sameForm(was, is) {
			t.Errorf("%q became %q", raw, redact.Text(string(raw)))
		}
	})
}

func sameForm(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) < len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; ok && !sameForm(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		gone := len(b) > 0 && b[0] == redact.Mark
		for i, v := range a {
			if !sameForm(v, b[i]) && !(gone && b[i] == 0.0) {
				return false
			}
		}
		return true
	case float64:
		return reflect.DeepEqual(a, b) || b == redact.Mark
	case string:
		_, ok := b.(string)
		return ok
	}
	return a == b
}
