// Package collectmodel is a model of collection beside changes: of the rule by which badgerstore finds and deletes what nothing keeps, and of what the
// committer, the caches, Restore, and those who hold the store do for it. It has tests only, and needs no store: each schedule of
// steps is drawn from its number.
package collectmodel

import "math"

// What a schedule has at most. Numbers of nodes are bits of a set.
const (
	maxIDs      = 64
	maxSegments = 28
	maxSeqs     = 8
	maxNames    = 3
)

// The constants of chainstore, small enough for a schedule to pass them. renewAfter is half a day.
const (
	renewAfter = 2
	grace      = 4
	maxHistory = 3
	maxAge     = 12
)

// id stands for a node's id: that of a child follows from its parent's id and from what it says. 0: none.
type id int8

// place is where a node lies. Segments begin with 1.
type place struct{ segment, seq int8 }

func (p place) next() place { return place{p.segment, p.seq + 1} }

// row is a row of a node; one that is used and has no id is empty.
type row struct {
	used bool
	id   id
	// from spawned it; 0: nothing did.
	from id
	// first is when it was put, last when it was put again, as far as that is noted; 0: it is not.
	first, last int32
}

// past is a state that an alias left.
type past struct {
	deleted  bool
	at       place
	number   int
	began    int
	revision int
}

// alias is the row of a name, and its ring of past states.
type alias struct {
	deleted, forgot bool
	at              place
	// states counts its states; 0: it never was set.
	states                 int
	moved, began, revision int
	ring                   [maxHistory]past
}

// exists tells whether it points to a node.
func (a *alias) exists() bool { return a.states > 0 && !a.deleted }

// slot is where the ring has a state.
func (a *alias) slot(number int) *past { return &a.ring[number%maxHistory] }

// each goes through the past states, latest first: those that are told of at a time, and those that nothing needs any more.
func (a *alias) each(now int, f func(p *past, told bool)) {
	if a.forgot {
		return
	}
	next, ends := a.moved, a.deleted && now-a.moved > maxAge
	for number := a.states - 1; number > 0 && number >= a.states-maxHistory; number-- {
		p := a.slot(number)
		if p.number != number {
			continue
		}
		switch {
		case ends || a.states-number >= maxHistory || now-next > maxAge:
			ends = true
			f(p, false)
		case p.deleted && next-p.began > maxAge:
			ends = true
		default:
			f(p, true)
		}
		next = p.began
	}
}

// store is what is durable, as of a commit. One that others can see does not change.
type store struct {
	commit   int
	segments int8
	revision int
	rows     [maxSegments][maxSeqs]row
	// forked is the parent of a segment's first node, unless that is a root.
	forked  [maxSegments]place
	places  [maxIDs]place
	aliases [maxNames]alias
}

func (s *store) row(at place) *row { return &s.rows[at.segment][at.seq] }

func (s *store) is(at place) bool { return at.segment > 0 && s.row(at).id != 0 }

// first is the place of the first node of a segment.
func (s *store) first(segment int8) place {
	if from := s.forked[segment]; from.segment > 0 {
		return place{segment, from.seq + 1}
	}
	return place{segment: segment}
}

// live is what is kept: of each segment the nodes before a Seq.
type live struct {
	last   int8
	before [maxSegments]int8
}

func (l *live) holds(at place) bool { return at.seq < l.before[at.segment] }

// add adds a node with its ancestors; false where one of them is not there.
func (m *machine) add(l *live, s *store, at place) bool {
	for at.segment <= l.last && !l.holds(at) {
		known := l.before[at.segment] > 0
		l.before[at.segment] = at.seq + 1
		if known || m.is(ancestorsLost) {
			return true
		}
		if !s.is(s.first(at.segment)) {
			return false
		}
		if at = s.forked[at.segment]; at.segment == 0 {
			return true
		}
	}
	return true
}

// cutoff is the time from which on a noted put keeps a node.
func (m *machine) cutoff(now int) int {
	switch {
	case m.grace == 0:
		return math.MaxInt
	case m.is(cutoffOfGraceAlone):
		return now - m.grace
	default:
		return now - m.grace - renewAfter
	}
}
