package server_test

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// recallSpace is the namespace of the tests that compare with the model.
const recallSpace = "recall"

// tree is a random tree of nodes: of each the path to it.
type tree struct {
	ids         []string
	paths       map[string][]filed
	compactions int
}

// drawTree puts a tree of nodes with calls that repeat, results that answer nothing, nodes without messages, forks, and
// compactions.
func (r *rig) drawTree(rt *rapid.T, nodes int) *tree {
	all := &tree{paths: map[string][]filed{}}
	for n := range rapid.IntRange(1, nodes).Draw(rt, "nodes") {
		req := &PutNode{Namespace: recallSpace}
		var path []filed
		if n > 0 {
			parent := all.ids[max(len(all.ids)-1-rapid.SampledFrom([]int{0, 0, 0, 0, 1, 3}).Draw(rt, "back"), 0)]
			req.Parent, path = byID(parent), all.paths[parent]
		}
		for range rapid.IntRange(0, 4).Draw(rt, "messages") {
			recent := path[max(len(path)-4, 0):]
			req.Messages = append(req.Messages, drawNext(rt, append(slices.Clip(recent), file("", req.Messages)...)))
		}
		if len(req.Messages) == 0 {
			req.Metadata = []*transcriptv1.MetadataEntry{{Key: "k", Value: "v"}}
		}
		id := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
		all.add(id, append(slices.Clip(path), file(id, req.Messages)...))
		if rapid.IntRange(0, 4).Draw(rt, "compacts") == 0 {
			r.drawCompaction(rt, all, id)
		}
	}
	return all
}

func (all *tree) add(id string, path []filed) { all.ids, all.paths[id] = append(all.ids, id), path }

// drawCompaction compacts a chain where that saves anything; that adds a node and no messages.
func (r *rig) drawCompaction(rt *rapid.T, all *tree, head string) {
	req := &Compact{Namespace: recallSpace, Head: byID(head), Policy: &Policy{ClearToolResults: clears(new(int32))}}
	switch rapid.IntRange(0, 2).Draw(rt, "keeps") {
	case 0:
		req.Summary, req.SummaryOnly = "s", true
	case 1:
		req.Policy.ToolTrace = transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	}
	dry := proto.CloneOf(req)
	dry.DryRun = true
	reply, err := r.Compact(r.ctx(), dry)
	if err == nil && reply.NotWrittenReason == 0 {
		req.ThroughId = reply.ThroughId
		reply, err = r.Compact(r.ctx(), req)
	}
	if err != nil && failureOf(err).code != codes.FailedPrecondition {
		rt.Fatalf("%v: %v", req, err)
	}
	if reply.GetWritten() {
		all.add(reply.NodeId, all.paths[head])
		all.compactions++
	}
}

// file is the messages of a node with their places.
func file(node string, messages []*Message) (filedAs []filed) {
	for i, m := range messages {
		filedAs = append(filedAs, filed{m, node, i})
	}
	return filedAs
}

// drawNext draws a message, more often than not a result of a call that came shortly before.
func drawNext(rt *rapid.T, recent []filed) *Message {
	var ids []*string
	for _, m := range recent {
		for _, c := range m.calls() {
			ids = append(ids, c.Id)
		}
	}
	m := drawMessage(rt)
	if len(ids) > 0 && rapid.IntRange(0, 2).Draw(rt, "answers") > 0 {
		m = &Message{Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: rapid.SampledFrom(ids).Draw(rt, "of"), Parts: text("result")}
	}
	m.IsError = m.Role == transcriptv1.Role_ROLE_TOOL && rapid.Bool().Draw(rt, "error")
	return m
}

// TestRecallOfRandomChains recalls every call of random chains, by its id and occurrence and by its place and that of its
// result, and compares with the model; the same with run loops.
func TestRecallOfRandomChains(t *testing.T) {
	r := newRig(t)
	var tried struct{ answered, unanswered, leftOut, orphans, refused, loops, compactions int }
	rapid.Check(t, func(rt *rapid.T) {
		all := r.drawTree(rt, 14)
		tried.compactions += all.compactions
		for _, head := range []string{all.ids[len(all.ids)-1], rapid.SampledFrom(all.ids).Draw(rt, "head")} {
			model := newTalk(all.paths[head])
			for _, id := range []*string{nil, ptr(""), ptr("1"), ptr("2"), ptr("3")} {
				tried.orphans += r.recallAll(model, head, id)
			}
			for i := range model.all {
				tried.refused += r.recallPlace(model, head, i)
			}
			for _, c := range model.calls {
				if c.result < 0 {
					tried.unanswered++
				} else {
					tried.answered++
				}
			}
			for _, out := range model.leftOut {
				tried.leftOut += map[bool]int{true: 1}[out]
			}
			r.sameLoops(model.loops(), &ListLoops{
				Namespace: recallSpace, Head: byID(head), PageSize: rapid.Int32Range(1, 5).Draw(rt, "page"),
			})
			tried.loops += len(model.loops())
		}
		if r.Failed() {
			rt.FailNow()
		}
	})
	t.Logf("%+v", tried)
	if !testing.Short() && min(tried.answered, tried.unanswered, tried.leftOut, tried.orphans, tried.refused, tried.loops, tried.compactions) == 0 {
		t.Errorf("something was not tried: %+v", tried)
	}
}

// sameRecall compares a recall with the model's call, nil for none, and the message that is its result, -1 for none.
func (r *rig) sameRecall(model *talk, req *Recall, c *modelCall, result, earlier int) {
	r.Helper()
	got, _ := r.recallWhole(req)
	want := &Recalled{EarlierOccurrences: int32(earlier), SentAt: got.SentAt, State: transcriptv1.ToolCallState_TOOL_CALL_STATE_OK}
	if c != nil {
		want.Call, want.CallPlace, want.State = c.ToolCall, model.all[c.at].place(), toolState(c, model.all)
	}
	if result >= 0 {
		m := model.all[result]
		want.ResultPlace, want.Parts, want.LeftOut = m.place(), m.Parts, model.leftOut[result]
		if c == nil && m.IsError {
			want.State = transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR
		}
		for _, p := range m.Parts {
			want.ResultBytes += int64(proto.Size(&Message{Parts: []*transcriptv1.Part{p}}))
		}
	}
	if !proto.Equal(got, want) {
		r.Errorf("%v gives\n%v\nwant\n%v", req, got, want)
	}
}

// recallAll recalls all calls of an id, and one too many; it tells whether only an orphan was there.
func (r *rig) recallAll(model *talk, head string, id *string) (orphans int) {
	r.Helper()
	calls := model.of(id)
	req := &Recall{Namespace: recallSpace, Head: byID(head), ToolCallId: id}
	for n, c := range calls {
		req.Occurrence = int32(n)
		r.sameRecall(model, req, c, c.result, len(calls)-1-n)
	}
	req.Occurrence = int32(len(calls))
	if len(calls) == 0 {
		for i, m := range slices.Backward(model.all) {
			if m.is(transcriptv1.Role_ROLE_TOOL) && sameID(m.ToolCallId, id) {
				r.sameRecall(model, req, nil, i, 0)
				req.Occurrence++
				orphans++
				break
			}
		}
	}
	_, err := r.RecallToolCall(r.ctx(), req)
	r.fails(err, codes.NotFound, "TOOL_CALL_NOT_FOUND", "")
	return orphans
}

// recallPlace recalls message i by its place in every way; it counts what must be refused.
func (r *rig) recallPlace(model *talk, head string, i int) (refused int) {
	r.Helper()
	m := model.all[i]
	req := &Recall{Namespace: recallSpace, Head: byID(head), Place: fmt.Sprintf("%.12s.%d", m.node, m.index)}
	fails := func(id *string, code codes.Code, reason, field string) {
		r.Helper()
		req.ToolCallId = id
		_, err := r.RecallToolCall(r.ctx(), req)
		r.fails(err, code, reason, field)
		refused++
	}
	if m.is(transcriptv1.Role_ROLE_TOOL) {
		r.recallResult(model, req, i)
		fails(ptr("another"), codes.NotFound, "TOOL_CALL_NOT_FOUND", "")
		return refused
	}
	seen := map[string]bool{}
	for _, c := range model.calls {
		if c.at != i || c.Id == nil || seen[*c.Id] {
			continue
		}
		seen[*c.Id] = true // the first of an id is meant
		req.ToolCallId = c.Id
		r.sameRecall(model, req, c, c.result, model.earlier(c))
	}
	fails(ptr("another"), codes.NotFound, "TOOL_CALL_NOT_FOUND", "")
	switch req.ToolCallId = nil; len(m.calls()) {
	case 0:
		fails(nil, codes.NotFound, "TOOL_CALL_NOT_FOUND", "")
	case 1:
		for _, c := range model.calls {
			if c.at == i {
				r.sameRecall(model, req, c, c.result, model.earlier(c))
			}
		}
	default:
		fails(nil, codes.InvalidArgument, "INVALID_FIELD", "tool_call_id")
	}
	return refused
}

// recallResult recalls result i by its place, with and without its id.
func (r *rig) recallResult(model *talk, req *Recall, i int) {
	r.Helper()
	var call *modelCall
	earlier := 0
	for _, c := range model.calls {
		if c.result == i {
			call, earlier = c, model.earlier(c)
			break
		}
		if c.at < i && sameID(c.Id, model.all[i].ToolCallId) {
			earlier++
		}
	}
	r.sameRecall(model, req, call, i, earlier)
	req.ToolCallId = model.all[i].ToolCallId
	r.sameRecall(model, req, call, i, earlier)
}

// earlier counts the calls before c that have its id.
func (t *talk) earlier(c *modelCall) (n int) {
	for _, other := range t.calls {
		if other == c {
			return n
		}
		if sameID(other.Id, c.Id) {
			n++
		}
	}
	return n
}

// sameLoops reads all pages of a listing and compares them with the model's, of which each page but the last has a
// page's size. Times are not compared.
func (r *rig) sameLoops(want []*transcriptv1.RunLoop, req *ListLoops) {
	r.Helper()
	var got []*transcriptv1.RunLoop
	for {
		page := must[*transcriptv1.ListRunLoopsResponse](r)(r.ListRunLoops(r.ctx(), req))
		for _, l := range page.RunLoops {
			equal(r, "that a loop has no end", l.EndedAt == nil, l.State == transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN)
			l.StartedAt, l.EndedAt = nil, nil
			for _, c := range l.ToolCalls {
				c.CalledAt, c.AnsweredAt = nil, nil
			}
		}
		got = append(got, page.RunLoops...)
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			break
		}
		equal(r, "the size of a page that is not the last", len(page.RunLoops), int(req.PageSize))
	}
	if len(got) != len(want) {
		r.Errorf("%d loops, want %d", len(got), len(want))
		return
	}
	for i := range want {
		if !proto.Equal(got[i], want[i]) {
			r.Errorf("loop %d is\n%v\nwant\n%v", i, got[i], want[i])
		}
	}
}
