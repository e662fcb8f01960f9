package badgerstore

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
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

// segmentCalls is what is kept of the calls of a segment: enough to know of nearly every id that it has no call there. So
// little is kept of each, for what is pushed out has to be looked for.
type segmentCalls struct {
	// prints has the fingerprint of each id of a call, once, in order.
	prints []fingerprint
	// again are the first ids that were called when their fingerprint was there already, at most maxAgain: a writer that uses ids
	// again uses the same few all the time. Each once.
	again []calledAt
}

// fingerprint is the beginning of a callKey. Where a segment has 10,000 calls, one of 400,000 other ids has the fingerprint of
// one.
type fingerprint uint32

func fingerprintOf(key callKey) fingerprint { return fingerprint(binary.BigEndian.Uint32(key[:])) }

// calledAt tells that a call of an id lies at the node of a segment with this seq.
type calledAt struct {
	key callKey
	seq uint32
}

// maxAgain bounds what is kept of a segment for ids that are used again.
const maxAgain = 64

// at is where a fingerprint is, or would be.
func (s *segmentCalls) at(p fingerprint) (i int, has bool) {
	return slices.BinarySearch(s.prints, p)
}

// mayHave is false for an id of which it is known that the segment has no call.
func (s *segmentCalls) mayHave(key callKey) (may bool) {
	_, may = s.at(fingerprintOf(key))
	return may
}

// called is true for an id of which it is known that the segment has a call at a node or before it.
func (s *segmentCalls) called(key callKey, last uint32) bool {
	return slices.ContainsFunc(s.again, func(c calledAt) bool { return c.key == key && c.seq <= last })
}

// note adds a call.
func (s *segmentCalls) note(call calledAt) {
	if !s.add(fingerprintOf(call.key)) && len(s.again) < maxAgain && !s.called(call.key, math.MaxUint32) {
		s.again = append(s.again, call)
	}
}

// add tells whether a fingerprint was not there yet.
func (s *segmentCalls) add(p fingerprint) bool {
	i, has := s.at(p)
	if has {
		return false
	}
	if len(s.prints) == cap(s.prints) { // append would leave up to half of it empty
		s.prints = append(make([]fingerprint, 0, len(s.prints)*9/8+8), s.prints...)
	}
	s.prints = slices.Insert(s.prints, i, p)
	return true
}

func (s *segmentCalls) size() int64 {
	return 256 + int64(unsafe.Sizeof(fingerprint(0)))*int64(cap(s.prints)) + int64(unsafe.Sizeof(calledAt{}))*int64(cap(s.again))
}

// callCache keeps the calls of segments, so that a put need not look for its ids in the database: of those that were begun
// since the store was opened, and of those that the database was asked about often enough to be read in; what was used
// last, within a size. Only the committer puts and notes; callers ask, which counts.
type callCache struct {
	mu       sync.Mutex
	segments *lru[segmentOf, *segmentCalls]
	// asked counts the questions about segments that are not kept; of two that share a place, those about the last one asked
	// about.
	asked []askedAbout
}

// askedAbout is how often the database was asked about a segment.
type askedAbout struct {
	in    segmentOf
	times uint32
}

const (
	// callCacheShare is the share of the cache that one segment may take, and askedShare that of the counts: one over this.
	callCacheShare = 4
	askedShare     = 32
	// readInAfter is how often the database is asked about a segment until it is read in, and maxReadIn the most rows that are: to
	// read those takes as long as about so many questions, so a segment that is pushed out before it is asked about again has
	// about doubled what they cost. A batch reads at most twice that, a few milliseconds: what else is due waits for the next one.
	readInAfter = 8
	maxReadIn   = 1024
)

func newCallCache(limit int64) *callCache {
	c := &callCache{asked: make([]askedAbout, max(1, limit/askedShare/int64(unsafe.Sizeof(askedAbout{}))))}
	c.segments = newLRU[segmentOf, *segmentCalls](limit - c.countsSize())
	return c
}

// earlier notes for which ids a segment is known to have a call at a node through a seq, and returns those for which only the
// database can tell; kept is false where that is because nothing is kept of the segment.
func (c *callCache) earlier(in segmentOf, through uint32, ids []callKey, called map[callKey]bool) (unsure []callKey, kept bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.segments.get(in)
	if s == nil {
		return ids, false
	}
	for _, key := range ids {
		switch {
		case s.called(key, through):
			called[key] = true
		case s.mayHave(key):
			unsure = append(unsure, key)
		}
	}
	return unsure, true
}

// put keeps a segment, of which s has all calls, unless it is too large.
func (c *callCache) put(in segmentOf, s *segmentCalls) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(in, s)
}

// keep is put, with mu held.
func (c *callCache) keep(in segmentOf, s *segmentCalls) {
	if s.size() > c.segments.limit/callCacheShare {
		c.segments.drop(in)
		return
	}
	c.segments.put(in, s, s.size())
}

// note adds a call to a segment that is kept.
func (c *callCache) note(in segmentOf, call calledAt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.segments.get(in); s != nil {
		s.note(call)
		c.keep(in, s)
	}
}

// due counts a question about a segment that is not kept, and tells whether it is to be read in now.
func (c *callCache) due(in segmentOf) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.about(in)
	if a.in != in {
		*a = askedAbout{in: in}
	}
	if a.times < readInAfter {
		a.times++
	}
	return a.times == readInAfter
}

// tooLong notes that a segment that is due has too many rows: it is not due again until it is forgotten.
func (c *callCache) tooLong(in segmentOf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.about(in).times = readInAfter + 1
}

// putRead keeps a segment that was read in, and counts anew for when it is pushed out.
func (c *callCache) putRead(in segmentOf, s *segmentCalls) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.about(in) = askedAbout{}
	c.keep(in, s)
}

// about mixes both numbers, since either counts from one.
func (c *callCache) about(in segmentOf) *askedAbout {
	mixed := (in.segment*0x9e3779b97f4a7c15 + uint64(in.ns)*0xbf58476d1ce4e5b9) >> 32
	return &c.asked[mixed%uint64(len(c.asked))]
}

// size and limit are those of what is kept, in bytes. They may be read by anyone at any time.
func (c *callCache) size() int64  { return c.countsSize() + c.segments.size.Load() }
func (c *callCache) limit() int64 { return c.countsSize() + c.segments.limit }

func (c *callCache) countsSize() int64 {
	return int64(unsafe.Sizeof(askedAbout{})) * int64(len(c.asked))
}

// call notes that a node of this change has a call of an id. The seqs of a segment ascend.
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
		b.c.calls.put(in, &segmentCalls{})
	}
	for call, seq := range b.calls {
		b.c.calls.note(call.in, calledAt{call.key, seq})
	}
}
