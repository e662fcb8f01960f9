package cache

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// Questions about a segment are not counted as those about another one.
func TestSegmentsAreDueEachForItself(t *testing.T) {
	c := newCalls(1) // which counts in one place
	for i := range 3 * ReadInAfter {
		if c.Due(Segment{1, uint64(i % 2)}) || c.Due(Segment{2, uint64(i % 2)}) {
			t.Fatalf("a segment is due after question %d, and none of those before was about it", i)
		}
	}
	for i := range 2 * ReadInAfter {
		if due := c.Due(Segment{1, 7}); due != (i >= ReadInAfter-1) {
			t.Errorf("question %d: is it due: %v", i, due)
		}
	}
	if c.TooLong(Segment{1, 7}); c.Due(Segment{1, 7}) {
		t.Error("due although it is too long")
	}
}

// Namespaces are numbered from one, and so are the segments of each; their questions are counted apart all the same.
func TestManyNamespacesAreCountedApart(t *testing.T) {
	c := newCalls(4 << 20)
	const namespaces, segments = 100, 15
	due := 0
	for range ReadInAfter {
		due = 0
		for i := range namespaces * segments {
			if c.Due(Segment{uint32(1 + i%namespaces), uint64(1 + i/namespaces)}) {
				due++
			}
		}
	}
	if due < namespaces*segments/2 {
		t.Errorf("%d of %d segments are due after %d questions about each", due, namespaces*segments, ReadInAfter)
	}
}

// keeps asks as a put does.
func (c *Calls) keeps(in Segment) bool {
	_, kept := c.Earlier(in, 0, nil, nil)
	return kept
}

// Calls are kept within a limit: those of the segments used last, and none of a segment with too many.
func TestKeptCallsAreBounded(t *testing.T) {
	const limit = 64 << 10
	c := newCalls(limit)
	in := func(i int) Segment { return Segment{1, uint64(i)} }
	key := func(i int) callKey {
		sum := sha256.Sum256([]byte(fmt.Sprint(i)))
		return callKey(sum[:16])
	}
	for segment := range 1000 {
		c.Begin(in(segment))
		c.Note(in(segment), key(0), 0)
		if first := c.keeps(in(0)); !first || c.segments.size.Load() > limit {
			t.Fatalf("%d bytes are kept; the segment that is used: %v", c.segments.size.Load(), first)
		}
	}
	if c.keeps(in(1)) || !c.keeps(in(999)) {
		t.Error("it is not the segments used last that are kept")
	}
	for i := range limit / CallsShare / 4 {
		c.Note(in(0), key(i), uint32(i))
		if s := c.segments.get(in(0)); s != nil && s.size() > limit/CallsShare {
			t.Fatalf("a segment takes %d bytes", s.size())
		}
	}
	if c.keeps(in(0)) {
		t.Error("a segment with too many calls is kept")
	}
	for segment := range 1000 {
		c.segments.drop(in(segment))
	}
	if c.segments.size.Load() != 0 || len(c.segments.byKey) != 0 {
		t.Errorf("%d bytes in %d segments are left of nothing", c.segments.size.Load(), len(c.segments.byKey))
	}
}
