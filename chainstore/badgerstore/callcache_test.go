package badgerstore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// repeated puts a node and tells how many of its calls have an id that an earlier call on the path has, and how often the
// put looked for them.
func repeated(t *testing.T, s *Store, parent chainstore.ID, calls ...string) (n int, seeks uint64) {
	t.Helper()
	before := s.counts.seeks.Load()
	id := put(t, s, callNode(&parent, calls))[0].ID
	seeks = s.counts.seeks.Load() - before
	return headerOf(t, s, id).Messages[1].Mark.RepeatedIDs, seeks
}

// What is kept of the calls of chains answers as the database does: on forks, for what was refused, after a start, and
// where it was pushed out. Verify asks the database alone.
func TestCallsThatAreKept(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	root := put(t, s, callNode(nil, ids("root", 1)))[0].ID
	left := put(t, s, callNode(&root, ids("left", 1)))[0].ID
	right := put(t, s, callNode(&root, ids("right", 1)))[0].ID
	refused := queuedNodes(testNamespace, callNode(&right, ids("refused", 1)), node(&chainstore.ID{1}, "no parent"))
	together(s, queuedNodes(testNamespace, callNode(&left, ids("later", 1))), refused)
	if refused.err == nil {
		t.Fatal("a node without a parent was taken")
	}
	judge := func(s *Store, seeks bool) {
		t.Helper()
		var all uint64
		for name, c := range map[string]struct {
			parent chainstore.ID
			want   int
		}{"root 0": {right, 1}, "right 0": {right, 1}, "left 0": {right, 0}, "later 0": {left, 0}, "refused 0": {right, 0}} {
			got, sought := repeated(t, s, c.parent, name, fmt.Sprint("new ", rand.Uint64()))
			if got != c.want {
				t.Errorf("%s: %d repeated ids, want %d", name, got, c.want)
			}
			all += sought
		}
		if all > 0 != seeks {
			t.Errorf("%d seeks; are there to be any: %v", all, seeks)
		}
		mustBeClean(t, s)
	}
	judge(s, false)
	s.committer.calls = newCallCache(1) // which holds one segment at most
	judge(s, true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	judge(s, true)
}

// Calls are kept within a limit: those of the segments used last, and none of a segment with too many.
func TestKeptCallsAreBounded(t *testing.T) {
	const limit = 64 << 10
	c := newCallCache(limit)
	in := func(i int) segmentOf { return segmentOf{1, uint64(i)} }
	call := func(segment, i int) segmentCall {
		return segmentCall{in(segment), callHash(runloop.Some(fmt.Sprint(i)))}
	}
	for segment := range 1000 {
		c.begin(in(segment))
		c.note(call(segment, 0), 7)
		c.note(call(segment, 0), 8)
		if first := c.get(in(0)); first == nil || c.segments.size.Load() > limit {
			t.Fatalf("%d bytes are kept, %v of the segment that is used", c.segments.size.Load(), first)
		}
	}
	if c.get(in(1)) != nil || c.get(in(999)) == nil {
		t.Error("it is not the segments used last that are kept")
	}
	if seq, has := c.get(in(0)).seq(call(0, 0).key); seq != 7 || !has {
		t.Errorf("the first is %d, %v", seq, has)
	}
	for i := range 1000 {
		c.note(call(0, i), uint32(i))
	}
	if c.get(in(0)) != nil {
		t.Error("a segment with a thousand calls is kept")
	}
	for segment := range 1000 {
		c.segments.drop(in(segment))
	}
	if c.segments.size.Load() != 0 || len(c.segments.byKey) != 0 {
		t.Errorf("%d bytes in %d segments are left of nothing", c.segments.size.Load(), len(c.segments.byKey))
	}
}

// A chain that grows and grows pushes out what is known of its own earlier nodes: not the ends of others, nor a node that is
// forked from again and again.
func TestEndsOfChainsAreKept(t *testing.T) {
	one := &known{}
	limit := 4 * continuedShare * one.size()
	c := newNodeCache(limit)
	at := func(segment uint64, seq uint32, continued bool) *known {
		return &known{at: place{segment, seq}, id: chainstore.ID{byte(segment), byte(seq)}, end: true, continued: continued}
	}
	for segment := range uint64(20) {
		c.put(at(segment, 0, false))
	}
	forked := at(99, 0, true)
	c.put(forked)
	for seq := range uint32(200) {
		c.put(at(50, seq, true))
		c.put(at(50, seq+1, false))
		if c.get(forked.key()) == nil {
			t.Fatalf("the node that is forked from is pushed out by node %d of another chain", seq)
		}
	}
	for segment := range uint64(20) {
		if c.at(nodePlace{at: place{segment, 0}}) == nil {
			t.Errorf("the end of chain %d is pushed out", segment)
		}
	}
	if c.at(nodePlace{at: place{50, 200}}) == nil || c.size() > limit || len(c.places) != len(c.ends.byKey)+len(c.continued.byKey) {
		t.Errorf("%d of %d bytes, %d places of %d ends and %d others", c.size(), limit, len(c.places), len(c.ends.byKey), len(c.continued.byKey))
	}
}
