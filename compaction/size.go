package compaction

import "github.com/transcriptd/transcriptd/compaction/runloop"

// size is what messages take of the limits.
type size struct{ bytes, tokens int64 }

func (s size) plus(t size) size  { return size{s.bytes + t.bytes, s.tokens + t.tokens} }
func (s size) minus(t size) size { return size{s.bytes - t.bytes, s.tokens - t.tokens} }

// fullSize is that of a message shown as it is.
func fullSize(m *runloop.Brief) size {
	tokens, _ := m.Tokens()
	return size{int64(m.Length), tokens}
}

func stubSize(c runloop.Call) size { return madeSize(runloop.StubLength(c)) }

func leftOutSize(loops int64) size { return madeSize(runloop.LeftOutLength(loops)) }

func madeSize(length int) size { return size{int64(length), runloop.EstimateTokens(int64(length))} }

// shortSize is that of a message made shorter, from above: a line at its own length; a cut message without its text, with
// as much text as its limit allows, the mark, and two bytes that say that it is cut; one with shorter arguments without what these save,
// and with those two bytes. It is never more than full, in bytes, in
// the tokens of so many bytes, nor in those that are noted.
func (p *Policy) shortSize(i item, m *runloop.Brief, full size) size {
	if !i.shorter() {
		return full
	}
	length := 0
	switch i.kind() {
	case user:
		length = cutLength(m, p.MaxUserChars)
	case reply, answer, answered:
		length = cutLength(m, p.MaxReplyChars)
	case calls, partly:
		length = m.Length - p.savingOf(m) + originLength
	default:
		length = m.Mark.LineLength
	}
	s := madeSize(min(length, int(full.bytes)))
	return size{s.bytes, min(s.tokens, full.tokens)}
}

// cutLength bounds from above the encoded size of a message that is cut to limit code points.
func cutLength(m *runloop.Brief, limit int) int {
	octets := limit
	if m.TextOctets != m.TextPoints {
		octets = 4 * limit
	}
	return m.Length - m.TextOctets + octets + len(CutMark) + originLength
}

// originLength is the size of the member that says that a message was shortened.
const originLength = 2
