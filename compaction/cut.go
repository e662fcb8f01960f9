package compaction

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Numbers of fields on the wire; see message.proto.
const (
	messagesField protowire.Number = 1 // of a payload

	partsField  protowire.Number = 2 // of Message
	formField   protowire.Number = 7
	originField protowire.Number = 9
	extrasField protowire.Number = 10

	textField      protowire.Number = 8 // of Part
	reasoningField protowire.Number = 9
	callField      protowire.Number = 12

	nameField      protowire.Number = 2 // of ToolCall
	argumentsField protowire.Number = 3
)

// CutMark stands at the end of text that was cut.
const CutMark = "...[truncated]"

// cutShortens tells whether text of so many code points, cut to limit, has fewer.
func cutShortens(points, limit int) bool { return points-len(CutMark) > limit }

// AppendCut appends a message, an entry of a payload, with its text shortened to limit code points and CutMark: of the
// text parts, in order, those that fit stay, the first that does not is cut between two code points, later ones go. Other
// parts stay. It is for messages that a plan cuts: their text has more than limit code points and those of the mark. false,
// and dst as it was, where the message would be longer encoded, or the bytes do not parse.
//
// It works on bytes, since a window has thousands of messages to cut, and to decode them and encode them again costs
// several times what reading them does.
func AppendCut(dst, entry []byte, limit int) ([]byte, bool) {
	return (&cutting{left: limit}).append(dst, entry)
}

// AppendAnswer appends a message as part of the answer: of its calls those of ReplyTools stay, its reasoning goes, and its text is
// cut as AppendCut does, where that gives fewer code points. It is for messages that a plan says Answer of, which lose a call. m is
// what is kept of it. false, and dst as it was, where the bytes do not parse.
func (p *Policy) AppendAnswer(dst, entry []byte, m *runloop.Brief) ([]byte, bool) {
	c := &cutting{left: math.MaxInt, tools: p}
	if p.cuts(m, p.MaxReplyChars) {
		c.left = p.MaxReplyChars
	}
	return c.append(dst, entry)
}

// AppendShort appends a message with calls with their arguments shortened (runloop.ShortenArguments), but for the calls of ReplyTools. All else
// stays. It is for messages that a plan says Shorten of. false, and dst as it was, where nothing gets shorter, or the bytes do not parse.
func (p *Policy) AppendShort(dst, entry []byte) ([]byte, bool) {
	return (&cutting{arguments: p}).append(dst, entry)
}

// append appends a message that is cut.
func (c *cutting) append(dst, entry []byte) ([]byte, bool) {
	value, ok := valueOf(entry)
	if !ok {
		return dst, false
	}
	// It is made behind room for the tag and length that the whole has, which is no less than it will need, and moved up.
	start, room := len(dst), protowire.SizeTag(messagesField)+protowire.SizeVarint(uint64(len(value)))
	c.out = append(dst, entry[:room]...)
	body := len(c.out)
	if !c.message(value) || len(c.out)-body > len(value) {
		return dst, false
	}
	value = c.out[body:]
	out := protowire.AppendTag(c.out[:start], messagesField, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(len(value)))
	return append(out, value...), true
}

// cutting is a message being cut.
type cutting struct {
	out []byte
	// left are the code points that still fit; done says that a text did not.
	left int
	done bool
	// tools, if not nil, says which calls stay; then others go, and reasoning.
	tools *Policy
	// arguments, if not nil, says which calls keep their arguments; others get shorter, and nothing else does.
	arguments *Policy
}

// message appends a message with its parts cut, its origin set and its form left to them; false where it is not cut.
func (c *cutting) message(b []byte) bool {
	marked := false
	for len(b) > 0 {
		number, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return false
		}
		if number > originField && !marked {
			c.origin()
			marked = true
		}
		switch number {
		case partsField:
			switch {
			case c.arguments != nil:
				c.shorten(b[:n])
			case !c.goes(b[:n]):
				c.part(b[:n])
			}
		case formField:
			if c.arguments != nil {
				c.out = append(c.out, b[:n]...)
			}
		case originField:
		default:
			c.out = append(c.out, b[:n]...)
		}
		b = b[n:]
	}
	if !marked {
		c.origin()
	}
	return c.done || c.tools != nil
}

// goes tells whether a part is a call that does not stay, or reasoning that goes with one.
func (c *cutting) goes(field []byte) bool {
	if c.tools == nil {
		return false
	}
	part, _ := valueOf(field)
	if _, at := fieldOf(part, reasoningField); at >= 0 {
		return true
	}
	call, at := fieldOf(part, callField)
	return at >= 0 && !c.tools.answersBy(call)
}

// answersBy tells whether an encoded call is part of the answer.
func (p *Policy) answersBy(call []byte) bool {
	name, at := fieldOf(call, nameField)
	return at >= 0 && p.AnswersBy(runloop.Some(string(name)))
}

// shorten appends a part, the arguments of a call shortened.
func (c *cutting) shorten(field []byte) {
	part, _ := valueOf(field)
	call, at := fieldOf(part, callField)
	if at < 0 || c.arguments.answersBy(call) {
		c.out = append(c.out, field...)
		return
	}
	arguments, before := fieldOf(call, argumentsField)
	short, done := runloop.ShortenArguments(string(arguments))
	if before < 0 || !done {
		c.out = append(c.out, field...)
		return
	}
	c.done = true
	length := before + protowire.SizeTag(argumentsField) + protowire.SizeBytes(len(short))
	c.out = protowire.AppendTag(c.out, partsField, protowire.BytesType)
	c.out = protowire.AppendVarint(c.out, uint64(at+protowire.SizeTag(callField)+protowire.SizeBytes(length)))
	c.out = protowire.AppendTag(append(c.out, part[:at]...), callField, protowire.BytesType)
	c.out = protowire.AppendVarint(c.out, uint64(length))
	c.out = protowire.AppendTag(append(c.out, call[:before]...), argumentsField, protowire.BytesType)
	c.out = append(protowire.AppendVarint(c.out, uint64(len(short))), short...)
}

func (c *cutting) origin() {
	c.out = protowire.AppendTag(c.out, originField, protowire.VarintType)
	c.out = protowire.AppendVarint(c.out, uint64(transcriptv1.Origin_ORIGIN_SHORTENED))
}

// part appends a part: the first text that does not fit is cut, later ones go, others stay.
func (c *cutting) part(field []byte) {
	part, _ := valueOf(field)
	text, at := fieldOf(part, textField)
	switch {
	case at < 0:
		c.out = append(c.out, field...)
	case c.done:
	default:
		end := c.fitting(text)
		if c.done = end < len(text); !c.done {
			c.out = append(c.out, field...)
			return
		}
		c.cut(part[:at], text[:end])
	}
}

// cut appends a part of the fields before its text, the text that fits, and the mark.
func (c *cutting) cut(before, text []byte) {
	short := len(text) + len(CutMark)
	c.out = protowire.AppendTag(c.out, partsField, protowire.BytesType)
	c.out = protowire.AppendVarint(c.out, uint64(len(before)+protowire.SizeTag(textField)+protowire.SizeBytes(short)))
	c.out = protowire.AppendTag(append(c.out, before...), textField, protowire.BytesType)
	c.out = protowire.AppendVarint(c.out, uint64(short))
	c.out = append(append(c.out, text...), CutMark...)
}

// fitting is the bytes of a text that fit.
func (c *cutting) fitting(text []byte) (end int) {
	for end < len(text) && c.left > 0 {
		if c.left >= 8 && len(text)-end >= 8 && binary.LittleEndian.Uint64(text[end:])&notASCII == 0 {
			c.left, end = c.left-8, end+8
			continue
		}
		_, size := utf8.DecodeRune(text[end:])
		c.left, end = c.left-1, end+size
	}
	return end
}

// notASCII are the bits of eight bytes of which one is set where not all are ASCII.
const notASCII = 0x8080808080808080

// fieldOf is the value of a message's field of bytes and where the field begins; -1 where there is none.
func fieldOf(message []byte, of protowire.Number) (value []byte, at int) {
	for at < len(message) {
		number, _, n := protowire.ConsumeField(message[at:])
		if n < 0 {
			return nil, -1
		}
		if number == of {
			value, ok := valueOf(message[at : at+n])
			if !ok {
				return nil, -1
			}
			return value, at
		}
		at += n
	}
	return nil, -1
}

// valueOf is the value of a field of bytes.
func valueOf(field []byte) ([]byte, bool) {
	_, wire, tag := protowire.ConsumeTag(field)
	if tag < 0 || wire != protowire.BytesType {
		return nil, false
	}
	value, n := protowire.ConsumeBytes(field[tag:])
	return value, n >= 0
}
