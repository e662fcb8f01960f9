package server

import (
	"strings"
	"unicode/utf8"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
)

// preview shows the beginnings of messages' texts: chars code points, secrets replaced before anything is cut.
type preview struct {
	chars  int
	redact bool
}

// add adds the message's text to a preview, on a line of its own, and tells whether there is room for more. A message
// that has no text adds nothing.
func (p preview) add(to *string, m *transcriptv1.Message) (more bool) {
	text := messageText(m)
	if p.redact {
		text = redact.Text(text)
	}
	if *to != "" && text != "" {
		text = *to + "\n" + text
	}
	if text != "" {
		*to = firstPoints(text, p.chars)
	}
	return utf8.RuneCountInString(*to) < p.chars
}

// messageText is the text of a message's text parts, each on a line of its own.
func messageText(m *transcriptv1.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if t, ok := p.Kind.(*transcriptv1.Part_Text); ok && t.Text != "" {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// firstPoints are the first n code points of s.
func firstPoints(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
