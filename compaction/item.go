package compaction

import "github.com/transcriptd/transcriptd/compaction/runloop"

// item is what is remembered of a message behind the preamble, or of a stub: a kind, and whether it can be shorter.
type item uint8

// The kinds.
const (
	// other is an assistant message that has no calls and is empty.
	other item = iota
	// reply is one that can be a final reply, calls one with calls.
	reply
	calls
	// result is a result or a stub.
	result
	user
	// system is a system or developer message in a loop, summary a summary in one. (A summary comes before all loops,
	// unless a node was made elsewhere.)
	system
	summary
	// leftOut is a left-out line in a loop, where none stands unless a node was made elsewhere: it is not shown.
	leftOut

	// shorter, on user and reply, says that cutting shortens the text; on result, that a line does.
	shorter item = 0x80
)

func (i item) kind() item      { return i &^ shorter }
func (i item) shorter() bool   { return i&shorter != 0 }
func (i item) aside() bool     { return i.kind() == summary || i.kind() == leftOut }
func (i item) assistant() bool { k := i.kind(); return k == other || k == reply || k == calls }

// itemOf is what is remembered of m.
func (p *Policy) itemOf(m *runloop.Brief) item {
	var i item
	var shortens bool
	switch {
	case m.Summary:
		i = summary
	case m.LeftOutLine:
		i = leftOut
	case m.Role == runloop.User:
		i, shortens = user, p.cuts(m, p.MaxUserChars)
	case m.CanReply():
		i, shortens = reply, p.cuts(m, p.MaxReplyChars)
	case m.Role == runloop.Assistant && m.Calls > 0:
		i = calls
	case m.Role == runloop.Assistant:
		i = other
	case m.Role == runloop.Tool:
		i, shortens = result, m.Mark.LineLength != 0
	default:
		i = system
	}
	if shortens {
		i |= shorter
	}
	return i
}

func (p *Policy) cuts(m *runloop.Brief, limit int) bool {
	return limit > 0 && cutShortens(m.TextPoints, limit)
}

// lines is how many of the r results before the last assistant message of a loop shown whole become lines: the first.
func (p *Policy) lines(r int64) int64 {
	keep := int64(p.KeepToolResults)
	if keep < 0 || r <= keep {
		return 0
	}
	step := max(1, 2*keep)
	return step * ((r - keep) / step)
}

// whole are the actions of a loop that is shown whole.
func (p *Policy) whole(to []Action, loop []item) []Action {
	var results, before int64
	for _, i := range loop {
		switch {
		case i.kind() == result:
			results++
		case i.assistant():
			before = results
		}
	}
	lines := p.lines(before)
	for _, i := range loop {
		action := Keep
		switch i.kind() {
		case result:
			if lines > 0 && i.shorter() {
				action = Line
			}
			lines--
		case leftOut:
			action = Drop
		default:
		}
		to = append(to, action)
	}
	return to
}

// condensed are the actions of a loop that is condensed, with its calls where trace.
func (p *Policy) condensed(to []Action, loop []item, trace bool) []Action {
	final := len(loop) - 1
	for final >= 0 && loop[final].kind() != reply {
		final--
	}
	for n, i := range loop {
		action := Drop
		switch i.kind() {
		case system, summary:
			action = Keep
		case user:
			action = orShorter(i, CutUser)
		case reply:
			if n == final {
				action = orShorter(i, CutReply)
			}
		case calls:
			if trace {
				action = Keep
			}
		case result:
			if trace {
				action = orShorter(i, Line)
			}
		default:
		}
		to = append(to, action)
	}
	return to
}

func orShorter(i item, shortened Action) Action {
	if i.shorter() {
		return shortened
	}
	return Keep
}

// asked are the actions of the open loop in a compaction with a summary: user and system messages stay.
func asked(to []Action, loop []item) []Action {
	for _, i := range loop {
		action := Drop
		if isAsked(i) {
			action = Keep
		}
		to = append(to, action)
	}
	return to
}

func isAsked(i item) bool { return i.kind() == user || i.kind() == system }
