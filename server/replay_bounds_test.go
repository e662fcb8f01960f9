package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/replay"
)

// TestReplayOfALargeGroup: of a group whose results are too large to be read, those that come last are shown with their
// calls, wherever in the group these are; the rest is told of. What comes behind the group is not read at all.
func TestReplayOfALargeGroup(t *testing.T) {
	counter := &payloadCounter{Store: memstore.New(memstore.Options{})}
	r := newPlainRig(t, counter)
	ids := r.chain("", user("go"), callOf("old", "old", "{}"), result("old", "x"), assistant("done"), user("all"))
	head := ids[len(ids)-1]
	for i := range 50 {
		head = r.put(head, callOf("read", fmt.Sprint(i), "{}"))
	}
	for i := range 49 { // in another order than the calls; the 50th has none
		id := fmt.Sprint((i + 20) % 49)
		head = r.put(head, result(id, id+strings.Repeat(" text", 200_000)))
	}
	head = r.put(head, user("and now"))
	for range 8 {
		head = r.put(head, assistant(strings.Repeat("talk", 200_000)))
	}
	r.point("chat", head)
	ask := func(calls int32) *transcriptv1.ReplayToolsResponse {
		counter.bytes = 0
		got := r.replay(&Replay{Head: byAlias("chat"), MaxCalls: calls, MaxItemChars: 10})
		if most := 3*(16<<20) + 4<<20; counter.bytes > most {
			t.Errorf("%d bytes were read for %d calls, at most %d may be", counter.bytes, calls, most)
		}
		if again := r.replay(&Replay{Head: byAlias("chat"), MaxCalls: calls, MaxItemChars: 10}); !proto.Equal(got, again) {
			t.Errorf("the second time\n%v\nthe first time\n%v", again, got)
		}
		return got
	}
	var want []string
	for i := 4; i < 20; i++ { // the results of these are the last 16, of a million bytes each
		want = append(want, fmt.Sprint(i))
	}
	want = append(want, "49")
	for _, c := range []int32{200, 3} {
		got := ask(c)
		var shown []string
		for _, one := range got.Calls {
			shown = append(shown, one.GetId())
			if one.GetId() != "49" && !strings.HasPrefix(one.Result, one.GetId()+" ") || (one.GetId() == "49") != (one.ResultPlace == nil) {
				t.Errorf("call %s is shown with %q", one.GetId(), one.Result)
			}
		}
		equal(r, "the calls shown", fmt.Sprint(shown), fmt.Sprint(want[max(0, len(want)-int(c)):]))
		equal(r, "more", got.HasMoreCalls, true)
	}
}

// TestReplayDoesNotReadTalk: nor what comes behind the last call, though it is all that is new.
func TestReplayDoesNotReadTalk(t *testing.T) {
	counter := &payloadCounter{Store: memstore.New(memstore.Options{})}
	r := newPlainRig(t, counter)
	chain := []*Message{user("go"), callOf("read", "a", "{}"), result("a", "x")}
	for range 100 {
		chain = append(chain, assistant("talk"))
	}
	r.chain("chat", chain...)
	equal(r, "calls", len(r.replay(&Replay{Head: byAlias("chat")}).Calls), 1)
	if counter.rows > 5 {
		t.Errorf("the payloads of %d nodes were read", counter.rows)
	}
}

// putCalls puts a node of calls and results, mostly, under the last node, mostly.
func (r *rig) putCalls(t *rapid.T, namespace string, nodes []*treeNode) *treeNode {
	n := &treeNode{parent: nodes[len(nodes)-1]}
	req := &PutNode{Namespace: namespace, Salt: fmt.Appendf(nil, "%016d", len(nodes))}
	if n.parent != nil && rapid.IntRange(0, 9).Draw(t, "fork") == 0 {
		n.parent = rapid.SampledFrom(nodes[1:]).Draw(t, "parent")
	}
	if n.parent != nil {
		req.Parent = byID(n.parent.id)
	}
	id := rapid.SampledFrom([]string{"1", "2", "3", "4", "5"})
	for range rapid.SampledFrom([]int{1, 1, 1, 2, 4}).Draw(t, "messages") {
		m := assistant("talk")
		switch kind := rapid.IntRange(0, 20).Draw(t, "kind"); {
		case kind < 9:
			m = calling("f", rapid.SliceOfN(id, 1, 3).Draw(t, "calls")...)
		case kind < 19:
			m = result(id.Draw(t, "result"), strings.Repeat("x", rapid.IntRange(0, 50).Draw(t, "size")))
		}
		n.messages = append(n.messages, m)
	}
	req.Messages = n.messages
	n.id = must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	return n
}

// modelReplay is every call of a chain with its result, as "node.index nth result's node.index", oldest first.
func modelReplay(n *treeNode) (all []string) {
	type openCall struct {
		id *string
		at int
	}
	var open []openCall
	inResults := false
	for _, n := range n.path() {
		for i, m := range n.messages {
			if m.Role == transcriptv1.Role_ROLE_TOOL {
				k := slices.IndexFunc(open, func(c openCall) bool {
					return (c.id == nil) == (m.ToolCallId == nil) && deref(c.id) == m.GetToolCallId()
				})
				if k >= 0 {
					all[open[k].at] += fmt.Sprintf(" %s.%d", n.id, i)
					open, inResults = slices.Delete(slices.Clone(open), k, k+1), true
				}
				continue
			}
			calls := 0
			for _, p := range m.Parts {
				c := p.GetToolCall()
				if c == nil {
					continue
				}
				if calls++; calls == 1 && inResults {
					open, inResults = nil, false
				}
				open = append(open, openCall{c.Id, len(all)})
				all = append(all, fmt.Sprintf("%s.%d %d", n.id, i, calls))
			}
			if calls == 0 {
				open, inResults = nil, false
			}
		}
	}
	return all
}

// asModel is what was replayed as modelReplay gives it.
func asModel(calls []*transcriptv1.ReplayedCall) (all []string) {
	nth := map[string]int{}
	for _, c := range slices.Backward(calls) {
		at := fmt.Sprintf("%s.%d", c.CallPlace.NodeId, c.CallPlace.MessageIndex)
		nth[at]++
		result := ""
		if p := c.ResultPlace; p != nil {
			result = fmt.Sprintf(" %s.%d", p.NodeId, p.MessageIndex)
		}
		all = append(all, at+result)
	}
	slices.Reverse(all)
	return all
}

// withoutNth drops the number of a call in its message, which a reply does not tell.
func withoutNth(all []string) (out []string) {
	for _, one := range all {
		words := strings.Fields(one)
		out = append(out, strings.Join(slices.Delete(words, 1, 2), " "))
	}
	return out
}

// TestReplayPairsAsTheModel replays random trees, with forks, several messages a node and bad pairing: whole, and with bounds
// that end the reading anywhere. What is shown is right and in order, and where something is missing that is told.
func TestReplayPairsAsTheModel(t *testing.T) {
	counter := &payloadCounter{Store: memstore.New(memstore.Options{})}
	r := newPlainRig(t, counter)
	n, cut := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		namespace := fmt.Sprintf("n%d", n)
		nodes := []*treeNode{nil}
		for range rapid.IntRange(1, 25).Draw(t, "nodes") {
			nodes = append(nodes, r.putCalls(t, namespace, nodes))
		}
		head := nodes[len(nodes)-1]
		want := withoutNth(modelReplay(head))
		req := &Replay{Namespace: namespace, Head: byID(head.id), MaxCalls: 200, MaxChars: 200_000, MaxItemChars: 1}
		whole := must[*transcriptv1.ReplayToolsResponse](r)(r.ReplayTools(r.ctx(), req))
		if got := asModel(whole.Calls); !slices.Equal(got, want) || whole.HasMoreCalls {
			t.Fatalf("the calls are\n%v, more %t\nwant\n%v", got, whole.HasMoreCalls, want)
		}
		largest := 0
		for _, n := range head.path() {
			largest = max(largest, proto.Size(&PutNode{Messages: n.messages}))
		}
		most := rapid.IntRange(1, 200).Draw(t, "most")
		counter.bytes = 0
		got := must[*transcriptv1.ReplayToolsResponse](r)((&replay.Replayer{Store: counter, MaxBytes: most}).Tools(r.ctx(), req))
		if counter.bytes > 3*most+8*largest {
			t.Fatalf("%d bytes were read, of nodes of at most %d, where %d are the bound", counter.bytes, largest, most)
		}
		shown, next := asModel(got.Calls), 0
		for _, one := range shown {
			for next < len(want) && want[next] != one {
				next++
			}
			if next++; next > len(want) {
				t.Fatalf("with %d bytes the calls are\n%v\nnot some of\n%v", most, shown, want)
			}
		}
		if got.HasMoreCalls != (len(shown) < len(want)) {
			t.Fatalf("%d of %d calls are shown, more %t", len(shown), len(want), got.HasMoreCalls)
		}
		if len(shown) < len(want) {
			cut++
		}
	})
	if cut < n/10 {
		t.Errorf("of %d chains %d were cut", n, cut)
	}
}
