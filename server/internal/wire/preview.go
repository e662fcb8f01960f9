package wire

import (
	"unicode/utf8"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
)

// Preview shows the beginnings of messages' texts: chars code points, secrets replaced before anything is cut.
type Preview struct {
	Chars  int
	Redact bool
}

// Add adds the message's text to a preview, on a line of its own, and tells whether there is room for more. A message
// that has no text adds nothing.
func (p Preview) Add(to *string, m *transcriptv1.Message) (more bool) {
	text := MessageText(m)
	if p.Redact {
		text = redact.Text(text)
	}
	if *to != "" && text != "" {
		text = *to + "\n" + text
	}
	if text != "" {
		*to = FirstPoints(text, p.Chars)
	}
	return utf8.RuneCountInString(*to) < p.Chars
}

// FirstPoints are the first n code points of s.
func FirstPoints(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// RedactedName is a name or an id that a caller chose, without secrets; nil where there is none.
func RedactedName(name *string) *string {
	if name == nil {
		return nil
	}
	shown := redact.Text(*name)
	return &shown
}
