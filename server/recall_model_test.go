package server_test

import (
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The model finds the calls and the run loops of a chain from the rules as they are worded. It looks at the whole chain
// at once, as often as it likes.

type (
	ListLoops = transcriptv1.ListRunLoopsRequest
	Recall    = transcriptv1.RecallToolCallRequest
	Recalled  = transcriptv1.RecallToolCallResponse
	Place     = transcriptv1.MessagePlace
)

// filed is a message and where it was put.
type filed struct {
	*Message
	node  string
	index int
}

func (f filed) place() *Place { return &Place{NodeId: f.node, MessageIndex: int32(f.index)} }

func (f filed) is(role transcriptv1.Role) bool { return f.Role == role }

func (f filed) calls() (calls []*transcriptv1.ToolCall) {
	for _, p := range f.Parts {
		if c := p.GetToolCall(); c != nil {
			calls = append(calls, c)
		}
	}
	return calls
}

// modelCall is a call: of message at the nth. result is a message, or -1.
type modelCall struct {
	*transcriptv1.ToolCall
	at, nth, result int
}

// talk is a chain with its calls in order and the results that answer nothing.
type talk struct {
	all     []filed
	calls   []*modelCall
	leftOut map[int]bool
}

func sameID(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func newTalk(all []filed) *talk {
	t := &talk{all: all, leftOut: map[int]bool{}}
	var group []*modelCall
	results := false
	for i, m := range all {
		switch calls := m.calls(); {
		case m.is(transcriptv1.Role_ROLE_TOOL):
			k := slices.IndexFunc(group, func(c *modelCall) bool { return c.result < 0 && sameID(c.Id, m.ToolCallId) })
			if t.leftOut[i] = k < 0; k >= 0 {
				group[k].result, results = i, true
			}
		case len(calls) == 0:
			group = nil
		default:
			if results {
				group = nil
			}
			results = false
			for nth, c := range calls {
				group = append(group, &modelCall{c, i, nth, -1})
			}
			t.calls = append(t.calls, group[len(group)-len(calls):]...)
		}
	}
	return t
}

// of are the calls of an id, latest first.
func (t *talk) of(id *string) (calls []*modelCall) {
	for _, c := range slices.Backward(t.calls) {
		if sameID(c.Id, id) {
			calls = append(calls, c)
		}
	}
	return calls
}

func toolState(c *modelCall, all []filed) transcriptv1.ToolCallState {
	switch {
	case c.result < 0:
		return transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED
	case all[c.result].IsError:
		return transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR
	default:
		return transcriptv1.ToolCallState_TOOL_CALL_STATE_OK
	}
}

// loops are the run loops, newest first, without previews.
func (t *talk) loops() (loops []*transcriptv1.RunLoop) {
	var starts []int
	before := transcriptv1.Role_ROLE_UNSPECIFIED
	for i, m := range t.all {
		if t.leftOut[i] || m.is(transcriptv1.Role_ROLE_SYSTEM) {
			continue
		}
		user := transcriptv1.Role_ROLE_USER
		if before == 0 || m.Role == user && before != user {
			starts = append(starts, i)
		}
		before = m.Role
	}
	for k, start := range slices.Backward(starts) {
		end, last := len(t.all), k == len(starts)-1
		if !last {
			end = starts[k+1]
		}
		loops = append(loops, t.loop(start, end, last))
	}
	return loops
}

func (t *talk) loop(start, end int, last bool) *transcriptv1.RunLoop {
	l := &transcriptv1.RunLoop{
		First: t.all[start].place(), Last: t.all[end-1].place(), LeadIn: !t.all[start].is(transcriptv1.Role_ROLE_USER),
		Messages: int32(end - start), TokensEstimated: true,
	}
	replied, replyLast := false, false
	for i, m := range t.all[start:end] {
		f := canonical.FactsOf(m.Message)
		l.Bytes += int64(f.Length)
		l.Tokens += int64(f.Length+3) / 4
		if !t.leftOut[start+i] && f.Role >= runloop.User {
			replyLast = f.Role == runloop.Assistant && len(f.Calls) == 0 && !f.Empty
			replied = replied || replyLast
		}
	}
	for _, c := range t.calls {
		if c.at < start || c.at >= end {
			continue
		}
		if c.result < 0 {
			l.UnansweredCalls++
		}
		if len(l.ToolCalls) == 100 {
			l.MoreToolCalls++
			continue
		}
		s := &transcriptv1.ToolCallSummary{Id: c.Id, Name: c.Name, State: toolState(c, t.all), CallPlace: t.all[c.at].place()}
		if c.result >= 0 {
			s.ResultPlace = t.all[c.result].place()
		}
		l.ToolCalls = append(l.ToolCalls, s)
	}
	switch {
	case last && (l.LeadIn || !replyLast):
		l.State = transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN
	case !replied || l.UnansweredCalls > 0:
		l.State = transcriptv1.RunLoopState_RUN_LOOP_STATE_INTERRUPTED
	default:
		l.State = transcriptv1.RunLoopState_RUN_LOOP_STATE_CLOSED
	}
	return l
}
