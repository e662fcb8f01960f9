package compaction

import (
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// prefix is the length in bytes of the first n code points of s.
func prefix(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// MakeLine replaces the parts of the result m by its line, in place. f are the facts of m as it is; name is its own, else
// that of the call that it answers; from is where it was put.
func MakeLine(m *transcriptv1.Message, f *runloop.Facts, name runloop.Optional, from runloop.Source) {
	replaceParts(m, textParts(runloop.LineText(name, f, from)))
}

// Summary is the message that a caller's summary becomes.
func Summary(text string) *transcriptv1.Message {
	return &transcriptv1.Message{
		Role: transcriptv1.Role_ROLE_USER, Origin: transcriptv1.Origin_ORIGIN_SUMMARY, Parts: textParts(text),
	}
}

func textParts(text string) []*transcriptv1.Part {
	return []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}
}

// replaceParts makes m a message whose content the server made. Its other members stay.
func replaceParts(m *transcriptv1.Message, parts []*transcriptv1.Part) {
	m.Parts = parts
	m.ContentForm = transcriptv1.ContentForm_CONTENT_FORM_UNSPECIFIED
	m.Origin = transcriptv1.Origin_ORIGIN_SHORTENED
}
