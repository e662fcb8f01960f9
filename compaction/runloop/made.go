package runloop

import (
	"strconv"
	"strings"
)

// StubText is the text of the message that stands in for a result that never came.
const StubText = "[no result: the call was interrupted]"

// StubLength is the encoded size, as an entry of a payload, of the stub for a call: a TOOL message with the call's id
// and name, one text part, origin STUB.
func StubLength(c Call) int {
	body := 2 + textPartLength(len(StubText)) + optionalLength(c.ID) + optionalLength(c.Name) + 2
	return entryLength(body)
}

// MaxLeftOut is the most run loops that a left-out line tells of.
const MaxLeftOut = 1<<31 - 1

// What stands around the number in the text of a left-out line.
const beforeLeftOut, behindLeftOut = "[", " earlier turns are not shown]"

// LeftOutText is the text of the line that says that so many run loops are not shown.
func LeftOutText(loops int64) string {
	return beforeLeftOut + strconv.FormatInt(loops, 10) + behindLeftOut
}

// LeftOutIn is the number in the text of a left-out line; 0 where it is none.
func LeftOutIn(text string) int64 {
	number := strings.TrimSuffix(strings.TrimPrefix(text, beforeLeftOut), behindLeftOut)
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 || LeftOutText(n) != text {
		return 0
	}
	return n
}

// LeftOutLength is the encoded size, as an entry of a payload, of the left-out line for so many run loops: a USER message with
// one text part, origin LEFT_OUT.
func LeftOutLength(loops int64) int {
	text := len(beforeLeftOut) + digits(int(loops)) + len(behindLeftOut)
	return entryLength(2 + textPartLength(text) + 2)
}

// Source is where a message was put: the first 12 hex digits of the node's id, and its index there from 0.
type Source struct {
	Node  string
	Index int
}

// LineText is the text of the line that can replace a result: name is the result's own, else that of the call it
// answers.
func LineText(name Optional, f *Facts, from Source) string {
	b := make([]byte, 0, 96)
	b = append(b, "[result of "...)
	b = append(b, orDash(name)...)
	b = append(b, ", "...)
	b = strconv.AppendInt(b, int64(f.PartsLength), 10)
	b = append(b, " bytes, left out; recall "...)
	b = append(b, orDash(f.CallID)...)
	b = append(b, ' ')
	b = append(b, from.Node...)
	b = append(b, '.')
	b = strconv.AppendInt(b, int64(from.Index), 10)
	return string(append(b, ']'))
}

// lineLength is the encoded size of the message whose parts were replaced by its line, or 0 where that is not shorter.
func lineLength(name Optional, f *Facts, from Source) int {
	text := len("[result of , ") + len(orDash(name)) + digits(f.PartsLength) +
		len(" bytes, left out; recall ") + len(orDash(f.CallID)) + 1 + len(from.Node) + 1 + digits(from.Index) + 1
	n := entryLength(f.BareLength + textPartLength(text) + 2)
	if n >= f.Length {
		return 0
	}
	return n
}

func orDash(o Optional) string {
	if !o.Present {
		return "-"
	}
	return o.Value
}

// entryLength is the size of a length-delimited field whose number is below 16.
func entryLength(body int) int { return 1 + varintLength(body) + body }

// textPartLength is the size of a parts entry that holds one text part.
func textPartLength(text int) int { return entryLength(entryLength(text)) }

func optionalLength(o Optional) int {
	if !o.Present {
		return 0
	}
	return entryLength(len(o.Value))
}

func varintLength(n int) int {
	l := 1
	for ; n >= 0x80; n >>= 7 {
		l++
	}
	return l
}

func digits(n int) int {
	d := 1
	for ; n >= 10; n /= 10 {
		d++
	}
	return d
}
