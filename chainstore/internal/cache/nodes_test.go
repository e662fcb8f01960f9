package cache

import (
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func testNode(segment uint64, seq uint32) *Node {
	return &Node{
		Namespace: 1, At: chainstore.Place{Segment: segment, Seq: seq}, Header: &chainstore.Header{ID: chainstore.ID{byte(segment), byte(seq)}, Seq: seq},
		Lineage: &chainstore.Lineage{Head: chainstore.Place{Segment: segment, Seq: seq}}, IsTip: true,
	}
}

// A chain that grows and grows pushes out what is known of its own earlier nodes: neither the tips of others, nor a node that is
// forked from again and again; and nodes that are only read push out no tip.
func TestTipsAreKept(t *testing.T) {
	size := testNode(1, 1).Size()
	c := newNodes(24*size, 4*size)
	child := func(segment uint64, seq uint32) *Node {
		n := testNode(segment, seq)
		n.HasChild = true
		return n
	}
	for segment := range uint64(20) {
		c.Put(testNode(segment, 0), 1)
	}
	forked := child(99, 0)
	c.Put(forked, 1)
	for seq := range uint32(200) {
		c.Put(child(50, seq), 1)
		c.Put(testNode(50, seq+1), 1)
		read := testNode(200, seq)
		read.IsTip = false
		if seq%2 == 0 {
			c.Offer(read, 1)
		}
		if c.Find(forked.Key(), 1) == nil {
			t.Fatalf("the node that is forked from is pushed out by node %d of another chain", seq)
		}
	}
	for segment := range uint64(20) {
		if c.At(NodePlace{1, chainstore.Place{Segment: segment}}) == nil {
			t.Errorf("the tip of chain %d is pushed out", segment)
		}
	}
	if c.At(NodePlace{1, chainstore.Place{Segment: 50, Seq: 200}}) == nil {
		t.Error("the tip that grew is pushed out")
	}
	if m := c.Metrics(); m.Bytes > m.LimitBytes || len(c.places) != len(c.tips.byKey)+len(c.others.byKey) {
		t.Errorf("%+v, %d places of %d tips and %d others", m, len(c.places), len(c.tips.byKey), len(c.others.byKey))
	}
}

// A node that is, or has become, larger than what it may take is not kept, nor where it lies, nor as it was before; it pushes nothing out.
func TestLargeNodes(t *testing.T) {
	c := newNodes(8<<10, 8<<10)
	small, n := testNode(1, 0), testNode(2, 0)
	c.Put(small, 1)
	c.Put(n, 1)
	large := *n
	large.Header = &chainstore.Header{ID: n.Header.ID, Messages: make([]runloop.Brief, 1000)}
	c.Put(&large, 2)
	if _, known := c.PlaceOf(n.Key(), 9); known || c.At(n.Place()) != nil {
		t.Error("a large node is kept, or where it lies, or what it was")
	}
	if c.Find(small.Key(), 1) != small || c.At(small.Place()) != small {
		t.Error("a small node was pushed out")
	}
}

// A snapshot does not find what later ones have found, and what is known of a node is not replaced by less.
func TestNodesOfLaterCommits(t *testing.T) {
	c := newNodes(1<<20, 1<<20)
	n := testNode(1, 0)
	c.Put(n, 7)
	if c.Find(n.Key(), 6) != nil || c.Find(n.Key(), 7) != n {
		t.Error("it is found before, or not as of, its commit")
	}
	less := &Node{Namespace: 1, At: n.At, Header: n.Header}
	c.Offer(less, 9)
	if c.At(n.Place()) != n {
		t.Error("what was known is gone")
	}
}
