package recall

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// partsPage takes a page out of the parts of a result.
type partsPage struct {
	// room is the bytes of the page, as encoded.
	room int
	// part and offset are where it begins, then where the next page does: an offset is in bytes of a text part.
	part, offset int
	parts        []*transcriptv1.Part
}

// valid tells whether the page begins within parts, and between code points.
func (p *partsPage) valid(parts []*transcriptv1.Part) bool {
	switch {
	case p.part >= len(parts):
		return false
	case p.offset == 0:
		return true
	}
	text, ok := parts[p.part].Kind.(*transcriptv1.Part_Text)
	return ok && p.offset < len(text.Text) && utf8.RuneStart(text.Text[p.offset])
}

// fill takes parts for as long as there is room, of the first at least a code point. Text is cut where the room ends, and
// what is not text goes whole, alone if it is larger than a page.
func (p *partsPage) fill(parts []*transcriptv1.Part) {
	for room := p.room; p.part < len(parts); p.part, p.offset = p.part+1, 0 {
		rest, text, isText := p.rest(parts[p.part])
		size := 1 + protowire.SizeBytes(proto.Size(rest))
		if size > room && isText {
			n := p.cut(text, room-(size-len(text)))
			if n == 0 && len(p.parts) > 0 {
				return
			}
			if n < len(text) {
				p.parts = append(p.parts, &transcriptv1.Part{Extras: rest.Extras, Kind: &transcriptv1.Part_Text{Text: text[:n]}})
				p.offset += n
				return
			}
		} else if size > room && len(p.parts) > 0 {
			return
		}
		p.parts = append(p.parts, rest)
		room -= size
	}
}

// rest is what is left of the part that the page goes on in. What the provider said beside a text goes with its beginning.
func (p *partsPage) rest(part *transcriptv1.Part) (rest *transcriptv1.Part, text string, isText bool) {
	t, isText := part.Kind.(*transcriptv1.Part_Text)
	if !isText {
		return part, "", false
	}
	if p.offset == 0 {
		return part, t.Text, true
	}
	text = t.Text[p.offset:]
	return &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: text}}, text, true
}

// cut is how many bytes of a text fit into a room, between code points; on an empty page at least a code point, and all of
// a text that has none.
func (p *partsPage) cut(text string, room int) int {
	n := max(min(room, len(text)), 0)
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	if n == 0 && len(p.parts) == 0 {
		_, n = utf8.DecodeRuneInString(text)
	}
	return n
}
