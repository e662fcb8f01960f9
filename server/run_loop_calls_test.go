package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// timeOf is when the model counts a message of a node as said.
func (v *viewModel) timeOf(at *transcriptv1.MessagePlace) time.Time {
	n := v.node(at.NodeId)
	if len(n.notes) > 0 && n.notes[at.MessageIndex].SentAt != nil {
		return n.notes[at.MessageIndex].SentAt.AsTime()
	}
	return time.UnixMilli(n.firstPut)
}

// checkCalls compares what is told of the calls of all loops with their nodes, read one by one. It counts the calls, those that were
// answered and those whose arguments were cut.
func (p *program) checkCalls(head string, chars int) (calls, answered, cut int) {
	reply := must[*transcriptv1.ListRunLoopsResponse](p.rig)(p.ListRunLoops(p.ctx(), &ListLoops{
		Namespace: p.namespace, Head: byID(head), PageSize: 100, ArgumentChars: int32(chars),
	}))
	for _, l := range reply.RunLoops {
		seen := map[string]int{} // of a message, the calls that were listed
		equal(p.rig, "that a loop has no end", l.EndedAt == nil, l.State == transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN)
		if l.EndedAt != nil {
			equal(p.rig, "when a loop ended", l.EndedAt.AsTime().UnixMilli(), p.timeOf(l.Last).UnixMilli())
		}
		for _, c := range l.ToolCalls {
			calls++
			key := fmt.Sprint(c.CallPlace.NodeId, c.CallPlace.MessageIndex)
			var all []*transcriptv1.ToolCall
			for _, part := range p.node(c.CallPlace.NodeId).messages[c.CallPlace.MessageIndex].Parts {
				if part.GetToolCall() != nil {
					all = append(all, part.GetToolCall())
				}
			}
			want := []rune(all[seen[key]].Arguments)
			seen[key]++
			equal(p.rig, "that arguments are cut", c.ArgumentsCut, chars > 0 && len(want) > chars)
			equal(p.rig, "the arguments", c.Arguments, string(want[:min(len(want), chars)]))
			equal(p.rig, "when a call was made", c.CalledAt.AsTime().UnixMilli(), p.timeOf(c.CallPlace).UnixMilli())
			equal(p.rig, "that it has a time of its answer", c.AnsweredAt != nil, c.ResultPlace != nil)
			if c.ResultPlace != nil {
				answered++
				equal(p.rig, "when it was answered", c.AnsweredAt.AsTime().UnixMilli(), p.timeOf(c.ResultPlace).UnixMilli())
			}
			if c.ArgumentsCut {
				cut++
			}
		}
	}
	return calls, answered, cut
}

// growCalls puts calls with arguments, and results for some of them, in one node or in two.
func (p *program) growCalls() {
	t := p.t
	put := func(m *Message) {
		req := &PutNode{Namespace: p.namespace, Parent: byID(p.heads[len(p.heads)-1]), Messages: []*Message{m}}
		if rapid.Bool().Draw(t, "noted") {
			req.Notes = []*transcriptv1.MessageNote{drawNote(t)}
		}
		p.heads = append(p.heads, must[*transcriptv1.PutNodeResponse](p.rig)(p.PutNode(p.ctx(), req)).NodeId)
	}
	calls := calling("t", rapid.SliceOfN(rapid.SampledFrom([]string{"1", "2", "3"}), 1, 3).Draw(t, "ids")...)
	for _, part := range calls.Parts {
		part.GetToolCall().Arguments = rapid.SampledFrom([]string{"", "{}", "é", "not JSON \U0001F600", `{"a":[1,2,3]}`}).Draw(t, "arguments")
	}
	put(calls)
	for _, id := range rapid.SliceOfN(rapid.SampledFrom([]string{"1", "2", "4"}), 0, 2).Draw(t, "results") {
		put(result(id, "r"))
	}
}

// TestRunLoopCalls compares times and arguments of the calls in random trees with what was put.
func TestRunLoopCalls(t *testing.T) {
	bothEngines(t, func(r *rig) {
		var calls, answered, cut int
		model := &viewModel{rig: r, namespace: "calls"}
		rapid.Check(r.T, func(rt *rapid.T) {
			p := &program{viewModel: model, t: rt}
			for range rapid.IntRange(1, 12).Draw(rt, "steps") {
				p.grow()
				p.growCalls()
			}
			a, b, c := p.checkCalls(p.head(), rapid.SampledFrom([]int{0, 1, 2, 3, 2000}).Draw(rt, "chars"))
			calls, answered, cut = calls+a, answered+b, cut+c
			if r.Failed() {
				rt.FailNow()
			}
		})
		if !testing.Short() && min(calls, answered, cut) == 0 {
			r.Errorf("%d calls, %d answered, %d cut: something was not tried", calls, answered, cut)
		}
	})
}

// TestRunLoopArguments: secrets are replaced before anything is cut, and JSON that is not cut stays JSON.
func TestRunLoopArguments(t *testing.T) {
	r := newRig(t)
	const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
	call := calling("send", "1")
	call.Parts[0].GetToolCall().Arguments = `{"to":"é","token":"` + secret + `","text":"hello"}`
	sent := &transcriptv1.MessageNote{SentAt: timestamppb.New(time.UnixMilli(1_700_000_000_123))}
	head := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Messages: []*Message{user("go"), call}, Notes: []*transcriptv1.MessageNote{{}, sent},
	})).NodeId
	one := func(req *ListLoops) *transcriptv1.ToolCallSummary {
		req.Head = byID(head)
		return r.loops(req).RunLoops[0].ToolCalls[0]
	}
	whole := one(&ListLoops{ArgumentChars: 2000})
	equal(r, "the arguments", whole.Arguments, call.Parts[0].GetToolCall().Arguments)
	equal(r, "when it was made", whole.CalledAt.AsTime(), sent.SentAt.AsTime())
	equal(r, "when it was answered", whole.AnsweredAt == nil, true)
	equal(r, "the first code points", one(&ListLoops{ArgumentChars: 8}).Arguments, `{"to":"é`)
	hidden := one(&ListLoops{ArgumentChars: 2000, Redact: true})
	equal(r, "that a secret is gone", strings.Contains(hidden.Arguments, secret[:12]), false)
	equal(r, "that it is JSON", json.Valid([]byte(hidden.Arguments)), true)
	cut := one(&ListLoops{ArgumentChars: 30, Redact: true})
	equal(r, "the beginning of what is left", strings.HasPrefix(hidden.Arguments, cut.Arguments) && cut.ArgumentsCut, true)
	plain := one(&ListLoops{})
	equal(r, "arguments that were not asked for", plain.Arguments == "" && !plain.ArgumentsCut, true)
}

// TestPagesOfLargeCalls: a loop with as many and as large calls as are listed comes in one reply.
func TestPagesOfLargeCalls(t *testing.T) {
	r := newRig(t)
	name := strings.Repeat("\U0001F600", 250)
	chain := []*Message{user("go")}
	for i := range 100 {
		m := calling(name, fmt.Sprint(i, strings.Repeat("x", 1000)))
		m.Parts[0].GetToolCall().Arguments = strings.Repeat("\U0001F600", 3000)
		chain = append(chain, m, result(*m.Parts[0].GetToolCall().Id, "r"))
	}
	ids := r.chain("", chain...)
	page := r.loops(&ListLoops{Head: byID(ids[200]), ArgumentChars: 2000, PreviewChars: 10_000})
	equal(r, "the calls", len(page.RunLoops[0].ToolCalls), 100)
	if size := proto.Size(page); size < 900_000 || size > 2<<20 {
		r.Errorf("a loop of %d bytes", size)
	}
}
