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
	// answer is one all of whose calls are part of the answer, and partly one some of whose are.
	answer
	partly
	// result is a result or a stub, answered one that is part of the answer.
	result
	answered
	user
	// system is a system or developer message in a loop, summary a summary in one. (A summary comes before all loops,
	// unless a node was made elsewhere.)
	system
	summary
	// leftOut is a left-out line in a loop, where none stands unless a node was made elsewhere: it is not shown.
	leftOut

	// shorter, on user, reply, answer and answered, says that cutting shortens the text; on result, that a line does; on calls and
	// partly, that shorter arguments do, where Clear.Arguments asks for them. cleared says that it is shown so where its loop is shown
	// whole; on result, calls and partly.
	shorter item = 0x80
	cleared item = 0x40
)

func (i item) kind() item      { return i &^ (shorter | cleared) }
func (i item) shorter() bool   { return i&shorter != 0 }
func (i item) aside() bool     { return i.kind() == summary || i.kind() == leftOut }
func (i item) assistant() bool { return i.kind() <= partly }
func (i item) hasCalls() bool  { return i.kind() == calls || i.kind() == partly }
func (i item) isResult() bool  { return i.kind() == result || i.kind() == answered }

// itemOf is what is remembered of m, of which so much is part of the answer.
func (p *Policy) itemOf(m *runloop.Brief, of share) item {
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
		i, shortens = p.callsOf(m, of)
	case m.Role == runloop.Assistant:
		i = other
	case m.Role == runloop.Tool && of == all:
		i, shortens = answered, !m.Made && p.cuts(m, p.MaxReplyChars)
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

// callsOf is the kind of a message with calls, and whether cutting shortens it.
func (p *Policy) callsOf(m *runloop.Brief, of share) (i item, shortens bool) {
	switch of {
	case all:
		return answer, p.cuts(m, p.MaxReplyChars)
	case some:
		return partly, p.Clear.Arguments && p.savingOf(m) > 0
	default:
		return calls, p.Clear.Arguments && p.savingOf(m) > 0
	}
}

// savingOf is what shorter arguments of a message's calls save, those aside that are part of the answer.
func (p *Policy) savingOf(m *runloop.Brief) (saves int) {
	for k, n := range m.Savings {
		if k >= len(m.Names) || !p.AnswersBy(m.Names[k]) {
			saves += n
		}
	}
	return saves
}

func (p *Policy) cuts(m *runloop.Brief, limit int) bool {
	return limit > 0 && cutShortens(m.TextPoints, limit)
}

// whole are the actions of a loop that is shown whole.
func whole(to []Action, loop []item) []Action {
	for _, i := range loop {
		action := Keep
		switch {
		case i.kind() == leftOut:
			action = Drop
		case i&cleared != 0 && i.kind() == result:
			action = Line
		case i&cleared != 0:
			action = Shorten
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
		case calls, partly, answer:
			action = callsAction(i, trace)
		case answered:
			action = orShorter(i, CutReply)
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

// callsAction is that of a message with calls in a condensed loop, which shows all calls where trace.
func callsAction(i item, trace bool) Action {
	switch {
	case trace && i.hasCalls():
		return orShorter(i, Shorten)
	case trace:
		return Keep
	case i.kind() == answer:
		return orShorter(i, CutReply)
	case i.kind() == partly:
		return Answer
	default:
		return Drop
	}
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
