package server_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// repair is design 6, "Groups and repair", told once more over messages: what the effective view of a chain shows.
func repair(messages []*Message) []*Message {
	type call struct {
		*transcriptv1.ToolCall
		answered bool
	}
	var shown []*Message
	var group []*call
	results := false
	for _, m := range messages {
		if m.Role == transcriptv1.Role_ROLE_TOOL {
			for _, c := range group {
				if !c.answered && (c.Id == nil) == (m.ToolCallId == nil) && c.GetId() == m.GetToolCallId() {
					c.answered, results = true, true
					shown = append(shown, m)
					break
				}
			}
			continue
		}
		var calls []*call
		for _, p := range m.Parts {
			if c := p.GetToolCall(); c != nil {
				calls = append(calls, &call{ToolCall: c})
			}
		}
		if len(calls) == 0 || results {
			for _, c := range group {
				if !c.answered {
					s := stub("", "")
					s.ToolCallId, s.Name = c.Id, c.Name
					shown = append(shown, s)
				}
			}
			group, results = nil, false
		}
		group = append(group, calls...)
		shown = append(shown, m)
	}
	return shown
}

func drawMessage(t *rapid.T) *Message {
	id := func() *string {
		return rapid.SampledFrom([]*string{nil, new(string), ptr("1"), ptr("2")}).Draw(t, "id")
	}
	words := rapid.SampledFrom([]string{"", " ", "x", "longer text than that"}).Draw(t, "text")
	switch rapid.IntRange(0, 5).Draw(t, "message") {
	case 0:
		return user(words)
	case 1:
		return system(words)
	case 2:
		return assistant(words)
	case 3:
		m := &Message{Role: transcriptv1.Role_ROLE_ASSISTANT}
		for range rapid.IntRange(1, 3).Draw(t, "calls") {
			m.Parts = append(m.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{Id: id(), Name: id()}}})
		}
		return m
	default:
		return &Message{Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: id(), Parts: text(words)}
	}
}

func ptr(s string) *string { return &s }

// TestRandomChains compares both views of random chains, in one reply, in frames and from every ancestor on, with what
// was put and with repair.
func TestRandomChains(t *testing.T) {
	r := newRig(t)
	repaired, clean := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		req := &transcriptv1.PutNodesRequest{Namespace: "random"}
		var put []*Message
		for i := range rapid.IntRange(1, 12).Draw(rt, "nodes") {
			n := &transcriptv1.NewNode{Previous: i > 0}
			for range rapid.IntRange(1, 4).Draw(rt, "messages") {
				n.Messages = append(n.Messages, drawMessage(rt))
			}
			put, req.Nodes = append(put, n.Messages...), append(req.Nodes, n)
		}
		nodes := must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), req)).Nodes
		for view, want := range map[transcriptv1.View][]*Message{full: put, effective: repair(put)} {
			q := &Assemble{Namespace: "random", Head: byID(nodes[len(nodes)-1].NodeId), View: view, NodeDetail: envelopes}
			whole := r.assemble(q)
			r.sameMessages("the view", whole.Messages, want...)
			r.verify(whole.Messages, whole.Nodes, "")
			totals := whole.Counters.Full
			if view == effective {
				totals = whole.Counters.Effective
			}
			equal(r, "the messages counted", fmt.Sprint(totals.Messages, totals.Bytes), fmt.Sprint(whole.Report.Messages, whole.Report.Bytes))
			frames, err := r.frames(q)
			if err != nil || len(frames) != 1 {
				rt.Fatalf("%d frames, %v", len(frames), err)
			}
			r.sameMessages("the frame", frames[0].Messages, want...)
			at := rapid.IntRange(0, len(nodes)-1).Draw(rt, "ancestor")
			q.AfterId = nodes[at].NodeId
			tail := r.assemble(q)
			r.verify(tail.Messages, tail.Nodes, q.AfterId)
			q.AfterId, q.Head = "", byID(nodes[at].NodeId)
			r.sameMessages("an ancestor's view and the tail", append(r.assemble(q).Messages, tail.Messages...), want...)
			if whole.Report.Repairs > 0 {
				repaired++
			} else {
				clean++
			}
		}
		if r.Failed() {
			rt.FailNow()
		}
	})
	if repaired == 0 || clean == 0 {
		t.Errorf("%d repaired and %d clean views: one of the two was not tried", repaired, clean)
	}
}
