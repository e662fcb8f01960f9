package cache

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"unsafe"
)

// Segment is a segment of a namespace.
type Segment struct {
	Namespace uint32
	Segment   uint64
}

// callKey stands for a call id.
type callKey = [16]byte

// SegmentCalls is what is kept of the calls of a segment: enough to know of nearly every id that it has no call there. So
// little is kept of each, for what is pushed out has to be looked for.
type SegmentCalls struct {
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
func (s *SegmentCalls) at(p fingerprint) (i int, has bool) {
	return slices.BinarySearch(s.prints, p)
}

// mayHave is false for an id of which it is known that the segment has no call.
func (s *SegmentCalls) mayHave(key callKey) (may bool) {
	_, may = s.at(fingerprintOf(key))
	return may
}

// called is true for an id of which it is known that the segment has a call at a node or before it.
func (s *SegmentCalls) called(key callKey, last uint32) bool {
	return slices.ContainsFunc(s.again, func(c calledAt) bool { return c.key == key && c.seq <= last })
}

// note adds a call.
func (s *SegmentCalls) note(call calledAt) {
	if !s.add(fingerprintOf(call.key)) && len(s.again) < maxAgain && !s.called(call.key, math.MaxUint32) {
		s.again = append(s.again, call)
	}
}

// Add adds a call, at whichever node.
func (s *SegmentCalls) Add(key callKey) { s.add(fingerprintOf(key)) }

// add tells whether a fingerprint was not there yet.
func (s *SegmentCalls) add(p fingerprint) bool {
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

func (s *SegmentCalls) size() int64 {
	return 256 + int64(unsafe.Sizeof(fingerprint(0)))*int64(cap(s.prints)) + int64(unsafe.Sizeof(calledAt{}))*int64(cap(s.again))
}

// Calls keeps the calls of segments, so that a put need not look for its ids in the database: of those that were begun
// since the store was opened, and of those that the database was asked about often enough to be read in; what was used
// last, within a size. Only who commits uses it.
type Calls struct {
	mu       sync.Mutex
	segments *lru[Segment, *SegmentCalls]
	// asked counts the questions about segments that are not kept; of two that share a place, those about the last one asked
	// about.
	asked []askedAbout
	// forgotten is the last commit that forgot something.
	forgotten uint64
}

// askedAbout is how often the database was asked about a segment.
type askedAbout struct {
	in    Segment
	times uint32
}

const (
	// CallsShare is the share of the cache that one segment may take, and askedShare that of the counts: one over this.
	CallsShare = 4
	askedShare = 32
	// ReadInAfter is how often the database is asked about a segment until it is read in, and MaxReadIn the most rows that are: to
	// read those takes as long as about so many questions, so a segment that is pushed out before it is asked about again has
	// about doubled what they cost. A batch reads at most twice that, a few milliseconds: what else is due waits for the next one.
	ReadInAfter = 8
	// MaxReadIn is the most rows of a segment that are read in.
	MaxReadIn = 1024
)

func newCalls(limit int64) *Calls {
	c := &Calls{asked: make([]askedAbout, max(1, limit/askedShare/int64(unsafe.Sizeof(askedAbout{}))))}
	c.segments = newLRU[Segment, *SegmentCalls](limit - c.countsSize())
	return c
}

// Earlier notes for which ids a segment is known to have a call at a node through a seq, and returns those for which only the
// database can tell; kept is false where that is because nothing is kept of the segment.
func (c *Calls) Earlier(in Segment, through uint32, ids []callKey, called map[callKey]bool) (unsure []callKey, kept bool) {
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

// Begin keeps a segment that has no call yet.
func (c *Calls) Begin(in Segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(in, &SegmentCalls{})
}

// keep keeps a segment, of which s has all calls, unless it is too large. mu is held.
func (c *Calls) keep(in Segment, s *SegmentCalls) {
	if s.size() > c.segments.limit/CallsShare {
		c.segments.drop(in)
		return
	}
	c.segments.put(in, s, s.size())
}

// Note adds a call, at the node with a seq, to a segment that is kept.
func (c *Calls) Note(in Segment, key callKey, seq uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.segments.get(in); s != nil {
		s.note(calledAt{key, seq})
		c.keep(in, s)
	}
}

// Due counts a question about a segment that is not kept, and tells whether it is to be read in now.
func (c *Calls) Due(in Segment) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.about(in)
	if a.in != in {
		*a = askedAbout{in: in}
	}
	if a.times < ReadInAfter {
		a.times++
	}
	return a.times == ReadInAfter
}

// TooLong notes that a segment that is due has too many rows: it is not due again until it is forgotten.
func (c *Calls) TooLong(in Segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.about(in).times = ReadInAfter + 1
}

// PutRead keeps a segment that was read in by a snapshot that sees a commit, and counts anew for when it is pushed out.
func (c *Calls) PutRead(in Segment, s *SegmentCalls, seen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen < c.forgotten {
		return
	}
	*c.about(in) = askedAbout{}
	c.keep(in, s)
}

func (c *Calls) forget(commit uint64, f *Forgotten) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten = max(c.forgotten, commit)
	for segment := range f.From {
		c.segments.drop(Segment{f.Namespace, segment})
	}
	if f.All {
		c.segments.dropWhere(func(in Segment) bool { return in.Namespace == f.Namespace })
	}
}

// about mixes both numbers, since either counts from one.
func (c *Calls) about(in Segment) *askedAbout {
	mixed := (in.Segment*0x9e3779b97f4a7c15 + uint64(in.Namespace)*0xbf58476d1ce4e5b9) >> 32
	return &c.asked[mixed%uint64(len(c.asked))]
}

// Size and Limit are those of what is kept, in bytes. They may be read by anyone at any time.
func (c *Calls) Size() int64  { return c.countsSize() + c.segments.size.Load() }
func (c *Calls) Limit() int64 { return c.countsSize() + c.segments.limit }

func (c *Calls) countsSize() int64 {
	return int64(unsafe.Sizeof(askedAbout{})) * int64(len(c.asked))
}
