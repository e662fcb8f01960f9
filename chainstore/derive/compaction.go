package derive

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// HeaderAt returns the header of the node at a place, which is there.
type HeaderAt func(chainstore.Place) (*chainstore.Header, error)

// Headers runs f on the headers of a chain's nodes from one seq through another, in order, until f fails. A header is
// borrowed until f returns.
type Headers func(l *chainstore.Lineage, from, through uint32, f func(*chainstore.Header) error) error

// MayCover judges a compaction node under a parent: ErrNotAncestor, ErrAlreadyCovered, ErrOpenCalls.
func MayCover(parent Node, covers chainstore.Place, at HeaderAt) error {
	if !parent.Lineage.Holds(covers) {
		return chainstore.ErrNotAncestor
	}
	h := parent.Header
	if !h.State.PreambleClosed || covers.Seq < h.State.PreambleEnd.Seq {
		return chainstore.ErrAlreadyCovered
	}
	if h.Compaction.Present {
		last, err := at(parent.Lineage.Locate(h.Compaction.Seq))
		if err != nil {
			return err
		}
		if covers.Seq < last.Covers.Seq {
			return chainstore.ErrAlreadyCovered
		}
	}
	t, err := at(covers)
	if err == nil && t.State.Group.Unanswered() > 0 {
		err = chainstore.ErrOpenCalls
	}
	return err
}

// noSeq stands for the seq of a compaction node until that is known. Nothing that it shows has it: a node with so many
// ancestors has no child.
const noSeq = math.MaxUint32

// Refold is the fold behind a compaction node, as far as it was made. It does not depend on where and when the node is
// put: so it can begin below a parent that moves on meanwhile.
type Refold struct {
	// covers is the last node that the compaction node stands for, through the last one whose messages were added.
	covers, through chainstore.Place
	fold            runloop.Refold
	// marks are of the compaction node's messages.
	marks []runloop.Mark
	// stands is the phase of the last run loop of these.
	stands runloop.Phase
}

// NewRefold folds over the preamble and the compaction node: ErrGroupTooLarge.
func NewRefold(in *chainstore.NewNode, parent Node, covers chainstore.Place, read Headers) (*Refold, error) {
	loops := in.Compaction.Loops
	if loops == nil {
		var err error
		if loops, err = runloop.LoopsOf(in.Messages); err != nil {
			return nil, tooLarge(err)
		}
	}
	return newRefold(in, in.Messages, loops, parent, covers, read)
}

// newRefold is NewRefold for facts, with the run loops that they are known to have, nil where they are found in them.
func newRefold(
	in *chainstore.NewNode, facts []runloop.Facts, loops *runloop.Loops, parent Node, covers chainstore.Place, read Headers,
) (*Refold, error) {
	r := &Refold{covers: covers, through: covers}
	if err := r.preamble(parent, read); err != nil {
		return nil, err
	}
	var err error
	r.marks, err = r.fold.Compaction(runloop.Node{
		Seq: noSeq, Prefix: chainstore.ID{}.Prefix(), // every prefix is as long, and no more of it counts
		Times: runloop.Times{AsSent: true}, Messages: facts, PutAt: putAt(in), Loops: loops,
	})
	if loops != nil && slices.ContainsFunc(r.marks, func(m runloop.Mark) bool { return m.BeginsLoop }) {
		r.stands = loops.Phase
	}
	return r, tooLarge(err)
}

// tooLarge is a failed fold's error in the words of the store.
func tooLarge(err error) error {
	if errors.Is(err, runloop.ErrGroupTooLarge) {
		return fmt.Errorf("%w: a call too many", chainstore.ErrGroupTooLarge)
	}
	return err
}

// refoldOf is NewRefold, or what a header of version 1 tells.
func refoldOf(in *chainstore.NewNode, at Seat, parent Node, covers chainstore.Place, read Headers) (*Refold, error) {
	if at.Version1 {
		return newRefold(in, factsOf(in, at), nil, parent, covers, read)
	}
	return NewRefold(in, parent, covers, read)
}

// putAt are the indexes that the messages had where they were put first.
func putAt(in *chainstore.NewNode) []uint32 {
	at := make([]uint32, len(in.Messages))
	for i := range at {
		at[i] = uint32(i)
		if p := in.Compaction.Provenance; i < len(p) && p[i].Present {
			at[i] = p[i].Place.Index
		}
	}
	return at
}

// preamble begins the fold. Only the node that the preamble ends in can be preamble in part.
func (r *Refold) preamble(parent Node, read Headers) error {
	end := parent.Header.State.PreambleEnd
	r.fold = *runloop.NewRefold(runloop.State{})
	if end.Seq == 0 && end.Index == 0 {
		return nil
	}
	from, through := end.Seq, end.Seq
	if end.Seq > 0 {
		from--
	}
	if end.Index == 0 {
		through--
	}
	return read(parent.Lineage, from, through, func(h *chainstore.Header) error {
		if h.Seq != end.Seq {
			r.fold = *runloop.NewRefold(h.State)
			return nil
		}
		if uint32(len(h.Messages)) < end.Index {
			return fmt.Errorf("%w: a preamble ends behind its node", chainstore.ErrCorrupt)
		}
		r.fold.Add(runloop.Folded{Seq: h.Seq, Times: h.Times(), Messages: h.Messages[:end.Index]})
		return nil
	})
}

// Extend adds the nodes behind through, up to the head of a chain that holds it.
func (r *Refold) Extend(l *chainstore.Lineage, read Headers) error {
	if r.through == l.Head {
		return nil
	}
	err := read(l, r.through.Seq+1, l.Head.Seq, func(h *chainstore.Header) error {
		if !h.Covers.Present {
			r.fold.Add(h.Folded())
		}
		return nil
	})
	r.through = l.Head
	return err
}

// end is the state of the compaction node, at its place and with its time.
func (r *Refold) end(h *chainstore.Header, in *chainstore.NewNode, parent *runloop.State) runloop.State {
	s := r.fold.End(parent)
	if start := &s.Effective.Loop.Start; start.Seq == noSeq {
		start.Seq = h.Seq
	}
	times := runloop.Times{FirstPut: h.FirstPut, AsSent: true}
	for i := range in.Messages {
		m := runloop.BriefOf(&in.Messages[i], r.marks[i])
		if m.Role == runloop.User && !m.Aside() && !m.Opaque {
			s.Effective.LatestUser = max(s.Effective.LatestUser, times.Of(&m))
		}
	}
	return s
}

// Compact derives a compaction node under its parent. made is a refold that may have been begun, nil for none; it
// stays as it is. ErrGroupTooLarge, and what read fails with.
func Compact(in *chainstore.NewNode, at Seat, parent Node, covers chainstore.Place, made *Refold, read Headers) (Node, error) {
	var r Refold
	if made != nil && made.covers == covers && parent.Lineage.Holds(made.through) {
		r = *made
	} else {
		begun, err := refoldOf(in, at, parent, covers, read)
		if err != nil {
			return Node{}, err
		}
		r = *begun
	}
	if err := r.Extend(parent.Lineage, read); err != nil {
		return Node{}, err
	}
	n := begin(in, at, parent)
	h := n.Header
	h.State = r.end(h, in, &parent.Header.State)
	h.Covers, h.Provenance = chainstore.Link{Present: true, Seq: covers.Seq}, slices.Clone(in.Compaction.Provenance)
	h.Compaction, h.Stands = n.here(), r.stands
	n.brief(factsOf(in, at), r.marks)
	return n, nil
}
