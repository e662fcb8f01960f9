package badgerstore

import (
	"slices"
	"unsafe"
)

// segmentOf is a segment of a namespace.
type segmentOf struct {
	ns      uint32
	segment uint64
}

// segmentCall is a call id in a segment.
type segmentCall struct {
	in  segmentOf
	key callKey
}

// segmentCalls is what the recall rows of a segment tell of calls, all of them.
type segmentCalls struct {
	// first has each id once, in order: a map would take twice the memory, and what is pushed out has to be looked for.
	first []firstCall
}

// firstCall is the seq of the first node of a segment at which a call of an id lies there or before it.
type firstCall struct {
	key callKey
	seq uint32
}

// at is where an id is, or would be; nothing is where nothing is kept of the segment.
func (s *segmentCalls) at(key callKey) (i int, has bool) {
	if s == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(s.first, key, func(c firstCall, key callKey) int { return compareCalls(c.key, key) })
}

// seq of an id; nothing where nothing is kept of the segment.
func (s *segmentCalls) seq(key callKey) (seq uint32, has bool) {
	i, has := s.at(key)
	if has {
		seq = s.first[i].seq
	}
	return seq, has
}

func (s *segmentCalls) size() int64 {
	return 256 + int64(unsafe.Sizeof(firstCall{}))*int64(cap(s.first))
}

// callCache keeps the calls of segments, so that a put need not look for its ids in the database: of those that were begun
// since the store was opened, and are not pushed out. Of the others the database is asked. Bounded by size; it belongs
// to the committer.
type callCache struct {
	segments *lru[segmentOf, *segmentCalls]
}

// callCacheShare is the share of the cache that the calls of one segment may take: one over this.
const callCacheShare = 4

func newCallCache(limit int64) *callCache {
	return &callCache{newLRU[segmentOf, *segmentCalls](limit)}
}

// get returns the calls of a segment, which are all that it has; nil where that is not known.
func (c *callCache) get(in segmentOf) *segmentCalls { return c.segments.get(in) }

// begin keeps a segment that has no calls.
func (c *callCache) begin(in segmentOf) {
	s := &segmentCalls{}
	c.segments.put(in, s, s.size())
}

// note adds a call to a segment that is kept.
func (c *callCache) note(call segmentCall, seq uint32) {
	s := c.segments.get(call.in)
	i, has := s.at(call.key)
	if s == nil || has {
		return
	}
	s.first = slices.Insert(s.first, i, firstCall{call.key, seq})
	if s.size() > c.segments.limit/callCacheShare {
		c.segments.drop(call.in)
		return
	}
	c.segments.put(call.in, s, s.size())
}

// call notes that a call of an id lies at a node of this change or before it. The seqs of a segment ascend.
func (d *draft) call(call segmentCall, seq uint32) {
	if _, has := d.calls[call]; has {
		return
	}
	d.calls[call] = seq
	d.undo.calls = append(d.undo.calls, call)
}

// keepCalls puts the calls of a batch that is durable into the cache.
func (b *batch) keepCalls() {
	for in := range b.begun {
		b.c.calls.begin(in)
	}
	for call, seq := range b.calls {
		b.c.calls.note(call, seq)
	}
}
