package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// mark stands where a secret stood.
const mark = "[redacted]"

// span is a range of bytes and what replaces it; text is empty for Mark.
type span struct {
	start, end int
	text       string
}

// replace puts the spans' texts in place. Spans are ordered and do not overlap. A span that begins or ends within a code
// point takes all of it, so valid UTF-8 stays valid whatever the spans are.
func replace(s string, spans []span) string {
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		start, end := chars.RuneStart(s, sp.start), chars.RuneEnd(s, sp.end)
		b.WriteString(s[at:max(at, start)])
		if sp.text == "" {
			b.WriteString(mark)
		} else {
			b.WriteString(sp.text)
		}
		at = max(at, end)
	}
	b.WriteString(s[at:])
	return b.String()
}

// merge gives the spans of both lists in order, and those that overlap as one. Each list is in order.
func merge(a, b []span) []span {
	if len(b) == 0 {
		return a
	}
	out := make([]span, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		if len(a) == 0 || len(b) > 0 && b[0].start < a[0].start {
			a, b = b, a
		}
		next := a[0]
		a = a[1:]
		if n := len(out) - 1; n >= 0 && next.start < out[n].end {
			out[n] = span{start: out[n].start, end: max(out[n].end, next.end)}
			continue
		}
		out = append(out, next)
	}
	return out
}
