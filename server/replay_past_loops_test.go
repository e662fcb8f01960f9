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

// TestReplayOfPastLoops leaves out the last run loop, wherever in a node it begins, open or closed, and nothing else.
func TestReplayOfPastLoops(t *testing.T) {
	r := newRig(t)
	root := r.put("", user("go"), callOf("read", "a", "{}"), result("a", "x"), callOf("run", "b", "{}"))
	closed := r.put(r.put(root, result("b", "ran")), assistant("done"))
	asked := r.put(closed, user("more"))
	working := r.put(asked, callOf("read", "c", "{}"), result("c", "y"))
	within := r.put(working, result("c", "again"), user("on"), callOf("read", "d", "{}"))
	behind := r.put(within, result("d", "z"), callOf("run", "e", "{}"))
	for _, c := range []struct {
		what, head string
		req        *Replay
		want       string
		more       bool
	}{
		{"a loop that is all", root, &Replay{}, "", false}, {"a loop that is closed", closed, &Replay{}, "", false},
		{"a question alone", asked, &Replay{}, "ab", false}, {"a loop under way", working, &Replay{}, "ab", false},
		{"a loop that begins within a node", within, &Replay{}, "abc", false}, {"and goes on", behind, &Replay{}, "abc", false},
		{"a bound of calls", behind, &Replay{MaxCalls: 3}, "abc", false}, {"a tighter one", behind, &Replay{MaxCalls: 2}, "bc", true},
		{"a tool", behind, &Replay{ToolNames: []string{"run"}}, "b", false},
		{"a tool that was never called", within, &Replay{ToolNames: []string{"none"}}, "", false},
		{"a bound of text", behind, &Replay{MaxChars: 30}, "bc", true},
	} {
		c.req.Head, c.req.PastLoopsOnly = byID(c.head), true
		got := r.replay(c.req)
		if callIDs(got.Calls) != c.want || got.HasMoreCalls != c.more {
			t.Errorf("%s: %s, more %t; want %s, %t", c.what, callIDs(got.Calls), got.HasMoreCalls, c.want, c.more)
		}
	}
	got := r.replay(&Replay{Head: byID(behind), PastLoopsOnly: true})
	equal(r, "the text", got.Text, "read {}\n=> x\n\nrun {}\n=> ran\n\nread {}\n=> y")
	equal(r, "without a question", len(r.replay(&Replay{Head: byID(r.put("", callOf("read", "a", "{}"))), PastLoopsOnly: true}).Calls), 0)
	equal(r, "of what has no loop", len(r.replay(&Replay{Head: byID(r.put("", system("s"))), PastLoopsOnly: true}).Calls), 0)
}

// TestReplayOfPastLoopsBehindACompaction: what is left out is the last loop as everything ever put has it.
func TestReplayOfPastLoopsBehindACompaction(t *testing.T) {
	r := newRig(t)
	ids := r.chain("chat", user("go"), callOf("read", "a", "{}"), result("a", strings.Repeat("x", 1000)), assistant("done"), user("more"),
		callOf("read", "b", "{}"), result("b", strings.Repeat("y", 1000)))
	r.compact(&Compact{Head: byAlias("chat"), ThroughId: ids[6], Summary: "so far"})
	past := &Replay{Head: byAlias("chat"), PastLoopsOnly: true}
	equal(r, "at the compaction", callIDs(r.replay(past).Calls), "a")
	r.put2("chat", callOf("read", "c", "{}"), result("c", "z"))
	equal(r, "as the loop goes on", callIDs(r.replay(past).Calls), "a")
	r.put2("chat", user("and now?"))
	equal(r, "behind the next question", callIDs(r.replay(past).Calls), "abc")
}

// TestReplayOfPastLoopsDoesNotReadTheLast: however large the last loop is, nothing of it is read, and it takes no room.
func TestReplayOfPastLoopsDoesNotReadTheLast(t *testing.T) {
	counter := &payloadCounter{Store: memstore.New(memstore.Options{})}
	r := newPlainRig(t, counter)
	ids := r.chain("", user("go"), callOf("read", "a", "{}"), result("a", "x"), assistant("done"), user("more"))
	head := ids[len(ids)-1]
	for i := range 25 {
		id := fmt.Sprint(i)
		head = r.put(r.put(head, callOf("read", id, "{}")), result(id, strings.Repeat("text", 200_000)))
	}
	counter.bytes = 0
	got := r.replay(&Replay{Head: byID(head), PastLoopsOnly: true})
	if callIDs(got.Calls) != "a" || got.HasMoreCalls || counter.bytes > 1000 {
		t.Errorf("%v, more %t, %d bytes were read", got.Calls, got.HasMoreCalls, counter.bytes)
	}
}

// TestReplayOfPastLoopsIsThatWithoutTheLast holds it, on random trees, against the replay of everything and what ListRunLoops says
// the last loop is; with bounds too that end the reading anywhere.
func TestReplayOfPastLoopsIsThatWithoutTheLast(t *testing.T) {
	counter := &payloadCounter{Store: memstore.New(memstore.Options{})}
	r := newPlainRig(t, counter)
	n, cut, left := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		namespace := fmt.Sprintf("n%d", n)
		nodes := []*treeNode{nil}
		for range rapid.IntRange(1, 25).Draw(t, "nodes") {
			nodes = append(nodes, r.putAsked(t, namespace, nodes))
		}
		req := &Replay{Namespace: namespace, Head: byID(nodes[len(nodes)-1].id), MaxCalls: 200, MaxChars: 200_000, MaxItemChars: 1}
		all := must[*transcriptv1.ReplayToolsResponse](r)(r.ReplayTools(r.ctx(), req))
		loops := must[*transcriptv1.ListRunLoopsResponse](r)(r.ListRunLoops(r.ctx(), &ListLoops{Namespace: namespace, Head: req.Head, PageSize: 1}))
		want := all.Calls
		if len(loops.RunLoops) > 0 {
			want = slices.DeleteFunc(slices.Clone(all.Calls), func(c *transcriptv1.ReplayedCall) bool {
				return proto.Equal(c.RunLoopPlace, loops.RunLoops[0].First)
			})
		}
		if len(want) < len(all.Calls) && len(want) > 0 {
			left++
		}
		req.PastLoopsOnly = true
		got := must[*transcriptv1.ReplayToolsResponse](r)(r.ReplayTools(r.ctx(), req))
		if got.HasMoreCalls || !sameCalls(got.Calls, want) {
			t.Fatalf("the calls are\n%v, more %t\nwant\n%v", got.Calls, got.HasMoreCalls, want)
		}
		most := rapid.IntRange(1, 200).Draw(t, "most")
		some := must[*transcriptv1.ReplayToolsResponse](r)((&replay.Replayer{Store: counter, MaxBytes: most}).Tools(r.ctx(), req))
		if some.HasMoreCalls != (len(some.Calls) < len(want)) {
			t.Fatalf("%d of %d calls are shown, more %t", len(some.Calls), len(want), some.HasMoreCalls)
		}
		if some.HasMoreCalls {
			cut++
		}
		next := 0
		for _, one := range some.Calls {
			for next < len(want) && !proto.Equal(want[next], one) {
				next++
			}
			if next++; next > len(want) {
				t.Fatalf("with %d bytes the calls are\n%v\nnot some of\n%v", most, some.Calls, want)
			}
		}
	})
	if cut < n/20 || left < n/20 {
		t.Errorf("of %d chains %d were cut, and of %d a part was left out", n, cut, left)
	}
}

// putAsked is putCalls with questions among the nodes and within them.
func (r *rig) putAsked(t *rapid.T, namespace string, nodes []*treeNode) *treeNode {
	n := &treeNode{parent: nodes[len(nodes)-1]}
	req := &PutNode{Namespace: namespace, Salt: fmt.Appendf(nil, "%016d", len(nodes))}
	if n.parent != nil {
		req.Parent = byID(n.parent.id)
	}
	id := rapid.SampledFrom([]string{"1", "2", "3"})
	for range rapid.SampledFrom([]int{1, 1, 2, 4, 6}).Draw(t, "messages") {
		m := user("asks")
		switch kind := rapid.IntRange(0, 19).Draw(t, "kind"); {
		case kind < 7:
			m = calling("f", rapid.SliceOfN(id, 1, 3).Draw(t, "calls")...)
		case kind < 15:
			m = result(id.Draw(t, "result"), strings.Repeat("x", rapid.IntRange(0, 50).Draw(t, "size")))
		case kind < 16:
			m = assistant("talk")
		case kind < 17:
			m = system("rule")
		}
		req.Messages = append(req.Messages, m)
	}
	n.messages = req.Messages
	n.id = must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	return n
}

func sameCalls(a, b []*transcriptv1.ReplayedCall) bool {
	return slices.EqualFunc(a, b, func(a, b *transcriptv1.ReplayedCall) bool { return proto.Equal(a, b) })
}
