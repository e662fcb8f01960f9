package promises

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func place(n *node, index int) *transcriptv1.MessagePlace {
	return &transcriptv1.MessagePlace{NodeId: n.id, MessageIndex: int32(index)}
}

// holdRecall holds that every call of a chain is found with its result, whatever was compacted.
func (w *tree) holdRecall(head *node) {
	w.t.Helper()
	calls := head.full().calls
	for i, c := range calls {
		same := func(o *pairedCall) bool { return sameOptional(o.call.Id, c.call.Id) }
		occurrence := count(calls[i+1:], same)
		reply, err := w.api.RecallToolCall(w.ctx, &transcriptv1.RecallToolCallRequest{
			Namespace: w.namespace, Head: ref(head), ToolCallId: c.call.Id, Occurrence: int32(occurrence),
		})
		if err != nil {
			w.t.Fatalf("recall %v, occurrence %d: %v\n%s", c.call, occurrence, err, w.show(head))
		}
		want := &transcriptv1.RecallToolCallResponse{
			Call: c.call, CallPlace: place(c.in.home, c.in.index), State: transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED,
			SentAt: reply.SentAt, EarlierOccurrences: int32(count(calls[:i], same)),
		}
		if r := c.result; r != nil {
			want.State = stateOf(r)
			want.ResultPlace, want.Parts, want.ResultBytes = place(r.home, r.index), r.Parts, partsSize(r)
		}
		if !proto.Equal(reply, want) {
			w.t.Fatalf("recall %v, occurrence %d: %v\nthe model's %v\n%s", c.call, occurrence, reply, want, w.show(head))
		}
	}
	for m := range head.full().out {
		w.holdLeftOut(head, m)
	}
}

// holdLeftOut holds that a result that answers nothing is still found where it was put.
func (w *tree) holdLeftOut(head *node, m *message) {
	w.t.Helper()
	reply, err := w.api.RecallToolCall(w.ctx, &transcriptv1.RecallToolCallRequest{
		Namespace: w.namespace, Head: ref(head), ToolCallId: m.ToolCallId, Place: fmt.Sprintf("%s.%d", m.home.id, m.index),
	})
	if err != nil {
		w.t.Fatalf("recall what is left out: %v\n%s", err, w.show(head))
	}
	want := &transcriptv1.RecallToolCallResponse{
		State: stateOf(m), LeftOut: true, SentAt: reply.SentAt, EarlierOccurrences: reply.EarlierOccurrences,
		ResultPlace: place(m.home, m.index), Parts: m.Parts, ResultBytes: partsSize(m),
	}
	if !proto.Equal(reply, want) {
		w.t.Fatalf("recall what is left out: %v\nthe model's %v\n%s", reply, want, w.show(head))
	}
}

func stateOf(result *message) transcriptv1.ToolCallState {
	switch {
	case result == nil:
		return transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED
	case result.IsError:
		return transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR
	default:
		return transcriptv1.ToolCallState_TOOL_CALL_STATE_OK
	}
}

func partsSize(m *message) int64 { return int64(proto.Size(&transcriptv1.Message{Parts: m.Parts})) }

func count[T any](list []T, f func(T) bool) int {
	n := 0
	for _, x := range list {
		if f(x) {
			n++
		}
	}
	return n
}

// holdLine holds that a line leads to exactly the result that it replaced.
func (w *tree) holdLine(head *node, m *message) {
	w.t.Helper()
	text := m.Parts[0].GetText()
	id, at := recallOf(text)
	if w.recalled[head.id+at] {
		return
	}
	w.recalled[head.id+at] = true
	var original *message
	for _, n := range head.path() {
		for _, o := range n.messages {
			if n.covers == nil && fmt.Sprintf("%s.%d", n.id[:12], o.index) == at {
				original = o
			}
		}
	}
	if original == nil || original.Role != tool {
		w.t.Fatalf("%q names no result of the chain\n%s", text, w.show(head))
	}
	req := &transcriptv1.RecallToolCallRequest{Namespace: w.namespace, Head: ref(head), Place: at}
	if id != "-" {
		req.ToolCallId = &id
	}
	reply, err := w.api.RecallToolCall(w.ctx, req)
	if err != nil {
		w.t.Fatalf("recall %q: %v\n%s", text, err, w.show(head))
	}
	if !proto.Equal(reply.ResultPlace, place(original.home, original.index)) || reply.LeftOut || reply.ResultBytes != partsSize(original) ||
		!bytes.Equal(encoded(&transcriptv1.Message{Parts: reply.Parts}), encoded(&transcriptv1.Message{Parts: original.Parts})) ||
		!strings.Contains(text, fmt.Sprintf(", %d bytes, left out;", partsSize(original))) {
		w.t.Fatalf("%q leads to %v, and replaced %v of %s\n%s", text, reply, original.Message, original.home.id[:12], w.show(head))
	}
}

// holdLoops holds ListRunLoops up to the loops of everything ever put.
func (w *tree) holdLoops(head *node) {
	w.t.Helper()
	reply, err := w.api.ListRunLoops(w.ctx, &transcriptv1.ListRunLoopsRequest{Namespace: w.namespace, Head: ref(head), PageSize: 100})
	if err != nil {
		w.t.Fatalf("list run loops: %v\n%s", err, w.show(head))
	}
	want := loopList(head.full())
	slices.Reverse(want)
	if len(reply.RunLoops) != len(want) || reply.NextPageToken != "" {
		w.t.Fatalf("%d run loops, the model's %d\n%s", len(reply.RunLoops), len(want), w.show(head))
	}
	for i, got := range reply.RunLoops {
		if (got.EndedAt == nil) != (got.State == transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN) {
			w.t.Fatalf("run loop %d from the last ended at %v\n%s", i, got.EndedAt, w.show(head))
		}
		got.StartedAt, got.EndedAt = nil, nil
		for _, c := range got.ToolCalls {
			c.CalledAt, c.AnsweredAt = nil, nil
		}
		if !proto.Equal(got, want[i]) {
			w.t.Fatalf("run loop %d from the last: %v\nthe model's %v\n%s", i, got, want[i], w.show(head))
		}
	}
}

// loopList are the run loops of a chain as ListRunLoops tells of them, but for their times.
func loopList(c *chain) (out []*transcriptv1.RunLoop) {
	_, loops := loopsOf(c.shown, c.ended)
	at := map[*message]int{}
	for i, m := range c.all {
		at[m] = i
	}
	for i, l := range loops {
		last := i == len(loops)-1
		through := len(c.all)
		if !last {
			through = at[loops[i+1].messages[0]]
		}
		r := &transcriptv1.RunLoop{LeadIn: l.leadIn, Outcome: l.ended}
		switch {
		case last && !l.closed():
			r.State = transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN
		case l.interrupted():
			r.State = transcriptv1.RunLoopState_RUN_LOOP_STATE_INTERRUPTED
		default:
			r.State = transcriptv1.RunLoopState_RUN_LOOP_STATE_CLOSED
		}
		for k := at[l.messages[0]]; k < through; k++ {
			m := c.all[k]
			if m.isOpaque() {
				continue
			}
			tokens, estimated := m.tokens()
			r.Messages, r.Bytes, r.Tokens, r.TokensEstimated = r.Messages+1, r.Bytes+int64(len(m.bytes)), r.Tokens+tokens, r.TokensEstimated || estimated
			r.Last = place(m.home, m.index)
			if r.First == nil {
				r.First = r.Last
			}
		}
		for _, p := range c.calls {
			if slices.Contains(l.messages, p.in) {
				r.ToolCalls = append(r.ToolCalls, summaryOf(p))
				if p.result == nil {
					r.UnansweredCalls++
				}
			}
		}
		out = append(out, r)
	}
	return out
}

func summaryOf(p *pairedCall) *transcriptv1.ToolCallSummary {
	s := &transcriptv1.ToolCallSummary{Id: p.call.Id, Name: p.call.Name, CallPlace: place(p.in.home, p.in.index), State: stateOf(p.result)}
	if p.result != nil {
		s.ResultPlace = place(p.result.home, p.result.index)
	}
	return s
}
