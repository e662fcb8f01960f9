package compaction

import (
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// CutMark stands at the end of text that was cut.
const CutMark = "...[truncated]"

// Cut shortens the text of m to limit code points and CutMark, in place, and tells whether it did: of the text parts, in
// order, those that fit stay, the first that does not is cut between two code points, later ones go. Other parts stay.
// It does nothing where that gives no fewer code points or a longer encoding, nor where limit is 0 or less.
func Cut(m *transcriptv1.Message, limit int) bool {
	if limit <= 0 || !cutShortens(textPoints(m), limit) {
		return false
	}
	parts, form, origin, size := m.Parts, m.ContentForm, m.Origin, proto.Size(m)
	replaceParts(m, cutParts(parts, limit))
	if proto.Size(m) > size {
		m.Parts, m.ContentForm, m.Origin = parts, form, origin
		return false
	}
	return true
}

// cutShortens tells whether text of so many code points, cut to limit, has fewer.
func cutShortens(points, limit int) bool { return points-len(CutMark) > limit }

func textPoints(m *transcriptv1.Message) int {
	n := 0
	for _, p := range m.Parts {
		if t, ok := p.Kind.(*transcriptv1.Part_Text); ok {
			n += utf8.RuneCountInString(t.Text)
		}
	}
	return n
}

// cutParts returns parts with their text cut. The parts themselves are not changed.
func cutParts(parts []*transcriptv1.Part, limit int) []*transcriptv1.Part {
	out := make([]*transcriptv1.Part, 0, len(parts))
	cut := false
	for _, p := range parts {
		t, ok := p.Kind.(*transcriptv1.Part_Text)
		switch {
		case !ok:
			out = append(out, p)
		case cut:
		default:
			end := prefix(t.Text, limit)
			if cut = end < len(t.Text); cut {
				p = &transcriptv1.Part{Extras: p.Extras, Kind: &transcriptv1.Part_Text{Text: t.Text[:end] + CutMark}}
			}
			limit -= utf8.RuneCountInString(t.Text[:end])
			out = append(out, p)
		}
	}
	return out
}

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
