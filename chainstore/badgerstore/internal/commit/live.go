package commit

import (
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// Live is what of a namespace is kept. What of a segment is kept is a beginning of it, for every ancestor of a node that is kept is kept; so
// four bytes tell it for each segment that the namespace ever had.
type Live struct {
	// before has, by segment, the Seq before which its nodes are kept; 0: none is known to be.
	before []uint32
}

// NewLive knows of no node that it is kept, in a namespace whose last segment has a number.
func NewLive(last uint64) *Live { return &Live{make([]uint32, last+1)} }

// Last is the number of the last segment that it knows.
func (l *Live) Last() uint64 { return uint64(len(l.before)) - 1 }

// Before is the Seq before which the nodes of a segment are kept.
func (l *Live) Before(segment uint64) uint32 { return l.before[segment] }

// Add adds a node with its ancestors. Those in segments that came later it does not know, but their ancestors were named as they were put.
func (l *Live) Add(v *snapshot.Snapshot, at chainstore.Place) error {
	for at.Segment < uint64(len(l.before)) && l.before[at.Segment] <= at.Seq {
		known := l.before[at.Segment] > 0
		l.before[at.Segment] = at.Seq + min(1, math.MaxUint32-at.Seq)
		if known {
			return nil // and so is what it forked from
		}
		from, forked, err := v.ForkedFrom(at.Segment)
		if err != nil || !forked {
			return err
		}
		at = from
	}
	return nil
}

// naming notes the nodes of a namespace that changes name, whether or not these take place: a parent, a target, the head that an alias leaves, a
// node that is put or put again. nil notes nothing.
type naming struct {
	ns uint32
	// last is the last segment that Live knows. Nodes in later ones are not noted.
	last uint64
	// seqs has, by segment, the highest Seq of the nodes that were named and are not known to be kept yet.
	seqs map[uint64]uint32
}

func (n *naming) note(ns uint32, at chainstore.Place) {
	if n == nil || n.ns != ns || at.Segment > n.last {
		return
	}
	if seq, has := n.seqs[at.Segment]; !has || seq < at.Seq {
		n.seqs[at.Segment] = at.Seq
	}
}
