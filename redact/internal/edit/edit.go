// Package edit has the ranges of a text that are secret, and puts marks in their place. It knows no secrets.
package edit

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// Mark stands where a secret stood.
const Mark = "[redacted]"

// Span is a range of bytes and what replaces it; Text is empty for Mark.
type Span struct {
	Start, End int
	Text       string
}

// Replace puts the spans' texts in place. Spans are ordered and do not overlap. A span that begins or ends within a code
// point takes all of it, so valid UTF-8 stays valid whatever the spans are.
func Replace(s string, spans []Span) string {
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		start, end := chars.RuneStart(s, sp.Start), chars.RuneEnd(s, sp.End)
		b.WriteString(s[at:max(at, start)])
		if sp.Text == "" {
			b.WriteString(Mark)
		} else {
			b.WriteString(sp.Text)
		}
		at = max(at, end)
	}
	b.WriteString(s[at:])
	return b.String()
}

// Merge gives the spans of both lists in order, and those that overlap as one. Each list is in order.
func Merge(a, b []Span) []Span {
	if len(b) == 0 {
		return a
	}
	out := make([]Span, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		if len(a) == 0 || len(b) > 0 && b[0].Start < a[0].Start {
			a, b = b, a
		}
		next := a[0]
		a = a[1:]
		if n := len(out) - 1; n >= 0 && next.Start < out[n].End {
			out[n] = Span{Start: out[n].Start, End: max(out[n].End, next.End)}
			continue
		}
		out = append(out, next)
	}
	return out
}
