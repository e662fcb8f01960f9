package badgerstore

import (
	"fmt"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// turnOf is a turn with two calls, their results and a reply, put as one node.
func turnOf(parent chainstore.ID, first, second string) chainstore.NewNode {
	n := storetest.Node{Parent: chainstore.Parent{Kind: chainstore.ParentID, ID: parent}}
	calls := []runloop.Call{{ID: runloop.Some(first)}, {ID: runloop.Some(second)}}
	n.Messages = append(n.Messages,
		storetest.Message{Role: runloop.User, Text: sentence}, storetest.Message{Role: runloop.Assistant, Calls: calls},
		storetest.Message{Role: runloop.Tool, CallID: calls[0].ID, Text: sentence},
		storetest.Message{Role: runloop.Tool, CallID: calls[1].ID, Text: sentence},
		storetest.Message{Role: runloop.Assistant, Text: sentence})
	return storetest.Simple().Make(n)
}

// BenchmarkTurns puts turns with calls to conversations of 300 turns, one after the other: to some whose calls are kept, to
// more than are kept, and to what was put before the store was opened.
func BenchmarkTurns(b *testing.B) {
	for _, ids := range []string{"new", "used again"} {
		for _, chats := range []int{100, 1500} {
			for _, reopened := range []bool{false, true} {
				b.Run(fmt.Sprintf("ids=%s/chats=%d/reopened=%v", ids, chats, reopened), func(b *testing.B) {
					benchmarkTurns(b, chats, ids == "new", reopened)
				})
			}
		}
	}
}

func benchmarkTurns(b *testing.B, chats int, newIDs, reopened bool) {
	dir := b.TempDir()
	o := Options{CacheBytes: defaultCacheBytes}
	s := openAt(b, dir, o)
	n := 0
	next := func(end chainstore.ID) chainstore.NewNode {
		n++
		if newIDs {
			return turnOf(end, fmt.Sprint("call ", n), fmt.Sprint("other call ", n))
		}
		return turnOf(end, "call_0", "call_1")
	}
	ends := chatsOfTurns(b, s, chats, next)
	if reopened {
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		s = openAt(b, dir, o)
	}
	before := s.Metrics()
	i := 0
	for b.Loop() {
		i = (i + 1) % chats
		ends[i] = put(b, s, next(ends[i]))[0].ID
	}
	after := s.Metrics()
	b.ReportMetric(float64(after.Seeks-before.Seeks)/float64(b.N), "seeks/op")
	b.ReportMetric(float64(after.Nexts-before.Nexts)/float64(b.N), "nexts/op")
}

// chatsOfTurns puts conversations of 300 turns, which grow in turns, and returns their ends.
func chatsOfTurns(b *testing.B, s *Store, chats int, next func(chainstore.ID) chainstore.NewNode) []chainstore.ID {
	const turns, together = 300, 20
	ends := make([]chainstore.ID, chats)
	for i := range ends {
		ends[i] = put(b, s, node(nil, fmt.Sprint("chat ", i)))[0].ID
	}
	for range turns / together {
		for i := range ends {
			nodes := make([]chainstore.NewNode, together)
			for k := range nodes {
				nodes[k] = next(ends[i])
				if k > 0 {
					nodes[k].Parent = previous()
				}
			}
			ends[i] = put(b, s, nodes...)[together-1].ID
		}
	}
	return ends
}
