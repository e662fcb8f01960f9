package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	looplist "github.com/transcriptd/transcriptd/server/internal/loops"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// putLoops puts a node of loops or parts of some under the last node, mostly.
func (r *rig) putLoops(t *rapid.T, namespace string, nodes []*treeNode) *treeNode {
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
		m := assistant("talk" + strings.Repeat("y", rapid.IntRange(0, 50).Draw(t, "size")))
		switch kind := rapid.IntRange(0, 20).Draw(t, "kind"); {
		case kind < 6:
			m = calling("f", rapid.SliceOfN(id, 1, 3).Draw(t, "calls")...)
		case kind < 11:
			m = result(id.Draw(t, "result"), strings.Repeat("x", rapid.IntRange(0, 50).Draw(t, "size")))
		case kind < 16:
			m = user(strings.Repeat("é", rapid.IntRange(0, 50).Draw(t, "size")))
		case kind < 17:
			m = system("s")
		}
		n.messages = append(n.messages, m)
	}
	req.Messages = n.messages
	n.id = must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	return n
}

// putCompaction puts a compaction node behind the last node, if one can be there.
func (r *rig) putCompaction(namespace string, nodes []*treeNode) []*treeNode {
	last := nodes[len(nodes)-1]
	c, err := r.Compact(r.ctx(), &Compact{Namespace: namespace, Head: byID(last.id), ThroughId: last.id, SummaryOnly: true, Summary: "s"})
	if err == nil && c.Written {
		nodes = append(nodes, &treeNode{parent: last, id: c.NodeId})
	}
	return nodes
}

// TestRunLoopPagesJoin: pages of any size, ended by any bound of bytes, have the loops of a single page between them, and none reads
// many more bytes than it may.
func TestRunLoopPagesJoin(t *testing.T) {
	counter := &payloadCounter{Store: memstore.New(memstore.Options{})}
	r := newPlainRig(t, counter)
	n, cut := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		namespace := fmt.Sprintf("n%d", n)
		nodes := []*treeNode{nil}
		for range rapid.IntRange(1, 25).Draw(t, "nodes") {
			nodes = append(nodes, r.putLoops(t, namespace, nodes))
			if rapid.IntRange(0, 9).Draw(t, "compact") == 0 {
				nodes = r.putCompaction(namespace, nodes)
			}
		}
		req := &ListLoops{Namespace: namespace, Head: byID(nodes[len(nodes)-1].id), PageSize: 100, PreviewChars: 20}
		want := must[*transcriptv1.ListRunLoopsResponse](r)(r.ListRunLoops(r.ctx(), req)).RunLoops
		largest := 0
		for _, l := range want {
			largest = max(largest, int(l.Bytes))
		}
		s := looplist.Lister{Store: counter, Tokens: wire.NewTokens(counter, time.Now), MaxBytes: rapid.IntRange(1, 1000).Draw(t, "most")}
		size := rapid.IntRange(1, 5).Draw(t, "size")
		var got []*transcriptv1.RunLoop
		for req.PageSize = int32(size); ; {
			counter.bytes = 0
			page := must[*transcriptv1.ListRunLoopsResponse](r)(s.List(r.ctx(), req))
			got = append(got, page.RunLoops...)
			if most := s.MaxBytes + largest + 1000; counter.bytes > most { // what lies beside a loop in its first and last node has less
				t.Fatalf("%d bytes were read for %d loops of at most %d, where %d are the bound", counter.bytes, len(page.RunLoops), largest, s.MaxBytes)
			}
			if req.PageToken = page.NextPageToken; req.PageToken == "" {
				break
			}
			if len(page.RunLoops) < size {
				cut++
			}
		}
		if !proto.Equal(&transcriptv1.ListRunLoopsResponse{RunLoops: got}, &transcriptv1.ListRunLoopsResponse{RunLoops: want}) {
			t.Fatalf("the pages have\n%v\nwant\n%v", got, want)
		}
	})
	if cut < n/10 {
		t.Errorf("in %d lists %d pages were ended by their bytes", n, cut)
	}
}

// rowCounter counts the rows that are read, with payloads or without.
type rowCounter struct {
	chainstore.Store
	rows int
}

type rowCountedChain struct {
	chainstore.Chain
	counter *rowCounter
}

func (p *rowCounter) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c, err := p.Store.Chain(ctx, namespace, head, after)
	return rowCountedChain{c, p}, err
}

func (c rowCountedChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	return c.Chain.Rows(ctx, spans, func(row *chainstore.Row) error {
		c.counter.rows++
		return yield(row)
	})
}

// TestRunLoopPagesReadOnlyTheirLoops: not the one before, though it ends in the node in which the page's oldest begins; nor those that
// the page has no room for by their bytes.
func TestRunLoopPagesReadOnlyTheirLoops(t *testing.T) {
	counter := &rowCounter{Store: memstore.New(memstore.Options{})}
	r := newPlainRig(t, counter)
	chain := []*transcriptv1.NewNode{node(user("the oldest"))}
	for i := range 500 {
		chain = append(chain, node(assistant(fmt.Sprint("work ", i))))
	}
	for i := range 30 {
		chain = append(chain, node(assistant("done"), user(fmt.Sprint("next ", i))))
	}
	parent := ""
	for _, n := range chain {
		parent = r.put(parent, n.Messages...)
	}
	ask := func(most int, size int32, loops, rows int) {
		t.Helper()
		counter.rows = 0
		s := looplist.Lister{Store: counter, Tokens: wire.NewTokens(counter, time.Now), MaxBytes: most}
		page := must[*transcriptv1.ListRunLoopsResponse](r)(s.List(r.ctx(), &ListLoops{Head: byID(parent), PageSize: size}))
		equal(r, "the loops", len(page.RunLoops), loops)
		equal(r, "the rows read for them", counter.rows, rows)
	}
	size := int(r.loops(&ListLoops{Head: byID(parent), PageSize: 2}).RunLoops[1].Bytes)
	ask(1<<20, 20, 20, 21) // and the one before, for how the loop before ended
	ask(1<<20, 30, 30, 31)
	ask(5*size, 20, 6, 7) // the newest has no answer yet
}
