package compaction

import (
	"slices"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// AnswersBy tells whether calls of a tool are part of the answer.
func (p *Policy) AnswersBy(name runloop.Optional) bool {
	if len(p.ReplyTools) == 0 || !name.Present {
		return false
	}
	_, found := slices.BinarySearch(p.ReplyTools, name.Value)
	return found
}

// AnswerNames are the names of a message's calls with those alone that answer, the Policy's own strings; nil where none does.
func (p *Policy) AnswerNames(names []runloop.Optional) []runloop.Optional {
	var out []runloop.Optional
	for k, name := range names {
		at, found := slices.BinarySearch(p.ReplyTools, name.Value)
		if !name.Present || !found {
			continue
		}
		if out == nil {
			out = make([]runloop.Optional, len(names))
		}
		out[k] = runloop.Some(p.ReplyTools[at])
	}
	return out
}

// AnswerCalls are those of the calls that are part of the answer.
func (p *Policy) AnswerCalls(calls []runloop.Call) (out []runloop.Call) {
	for _, c := range calls {
		if p.AnswersBy(c.Name) {
			out = append(out, c)
		}
	}
	return out
}

// share tells how much of a message is part of the answer.
type share uint8

// The shares: none of it, some of its calls, all of its calls or the result.
const (
	none share = iota
	some
	all
)

// answers follows the group of calls that the messages so far end in, as far as Policy.ReplyTools need it. A call whose name is not told
// is another tool's.
type answers struct {
	calls []answering
	// results says that a result was paired, so that further calls begin a new group.
	results bool
}

// answering is a call of the group: whether it is part of the answer, and whether it has its result.
type answering struct{ replies, answered bool }

// end ends the group.
func (a *answers) end() { a.calls, a.results = a.calls[:0], false }

// next takes the next message that repair shows, behind the stubs due before it.
func (a *answers) next(p *Policy, m *runloop.Brief) share {
	switch {
	case len(p.ReplyTools) == 0:
		return none
	case m.Role == runloop.Tool:
		return a.result(m.Mark.Answers - 1)
	case m.Calls == 0 || a.results:
		a.end()
	}
	replies := 0
	for k := range m.Calls {
		is := k < len(m.Names) && p.AnswersBy(m.Names[k])
		a.calls = append(a.calls, answering{replies: is})
		if is {
			replies++
		}
	}
	switch replies {
	case 0:
		return none
	case m.Calls:
		return all
	default:
		return some
	}
}

// result takes the result of a call of the group; -1: it is not told of which.
func (a *answers) result(call int) share {
	a.results = true
	if call < 0 || call >= len(a.calls) {
		return none
	}
	a.calls[call].answered = true
	return a.calls[call].share()
}

// stub takes the stub of the first call of the group without a result.
func (a *answers) stub() share {
	for k := range a.calls {
		if !a.calls[k].answered {
			return a.result(k)
		}
	}
	return none
}

func (c answering) share() share {
	if c.replies {
		return all
	}
	return none
}
