package compaction

import (
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// CutModel is what AppendCut has to do, told over messages: it shortens the text of m to limit code points and CutMark, in place, and tells whether it did: of the text parts, in
// order, those that fit stay, the first that does not is cut between two code points, later ones go. Other parts stay.
// It does nothing where that gives no fewer code points or a longer encoding, nor where limit is 0 or less.
func CutModel(m *transcriptv1.Message, limit int) bool {
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
