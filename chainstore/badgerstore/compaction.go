package badgerstore

import (
	"errors"
	"fmt"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// What a compaction node may cover and the fold behind it: for the committer, for the caller of Commit, who reads what is
// long before the change is in the queue, and for Verify.

// nodeAt returns what is known of the node at a place, which is there.
type nodeAt func(chainstore.Place) (*known, error)

// headers runs f on the headers of a chain's nodes from one seq through another, in order, until f fails. A header is
// borrowed until f returns.
type headers func(l *chainstore.Lineage, from, through uint32, f func(*chainstore.Header) error) error

// mayCover judges a compaction node under a parent whose lineage is known: ErrNotAncestor, ErrAlreadyCovered,
// ErrOpenCalls.
func mayCover(parent *known, covers chainstore.Place, at nodeAt) error {
	if !parent.lineage.Holds(covers) {
		return chainstore.ErrNotAncestor
	}
	if !parent.state.PreambleClosed || covers.Seq < parent.state.PreambleEnd.Seq {
		return chainstore.ErrAlreadyCovered
	}
	if parent.compaction.Present {
		last, err := at(parent.lineage.Locate(parent.compaction.Seq))
		if err != nil {
			return err
		}
		if covers.Seq < last.covers.Seq {
			return chainstore.ErrAlreadyCovered
		}
	}
	t, err := at(covers)
	if err == nil && t.state.Group.Unanswered() > 0 {
		err = chainstore.ErrOpenCalls
	}
	return err
}

// noSeq stands for the seq of a compaction node until that is known. Nothing that it shows has it: a node with so many
// ancestors has no child.
const noSeq = math.MaxUint32

// refold is the fold behind a compaction node, as far as it was made. It does not depend on where and when the node is
// put: so it can begin below a parent that moves on meanwhile.
type refold struct {
	// covers is the last node that the compaction node stands for, through the last one whose messages were added.
	covers, through chainstore.Place
	fold            runloop.Refold
	// marks are of the compaction node's messages.
	marks []runloop.Mark
}

// newRefold folds over the preamble and the compaction node: ErrGroupTooLarge.
func newRefold(in *chainstore.NewNode, parent *known, covers chainstore.Place, read headers) (*refold, error) {
	r := &refold{covers: covers, through: covers}
	if err := r.preamble(parent, read); err != nil {
		return nil, err
	}
	var err error
	r.marks, err = r.fold.Compaction(runloop.Node{
		Seq: noSeq, Prefix: chainstore.ID{}.Prefix(), // every prefix is as long, and no more of it counts
		Messages: in.Messages, PutAt: putAt(in),
	})
	if errors.Is(err, runloop.ErrGroupTooLarge) {
		err = fmt.Errorf("%w: a call too many", chainstore.ErrGroupTooLarge)
	}
	return r, err
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
func (r *refold) preamble(parent *known, read headers) error {
	end := parent.state.PreambleEnd
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
	return read(parent.lineage, from, through, func(h *chainstore.Header) error {
		if h.Seq != end.Seq {
			r.fold = *runloop.NewRefold(h.State)
			return nil
		}
		if uint32(len(h.Messages)) < end.Index {
			return fmt.Errorf("%w: a preamble ends behind its node", chainstore.ErrCorrupt)
		}
		r.fold.Add(h.Seq, h.FirstPut, h.Messages[:end.Index])
		return nil
	})
}

// extend adds the nodes behind through, up to the head of a chain that holds it.
func (r *refold) extend(l *chainstore.Lineage, read headers) error {
	if r.through == l.Head {
		return nil
	}
	err := read(l, r.through.Seq+1, l.Head.Seq, func(h *chainstore.Header) error {
		if !h.Covers.Present {
			r.fold.Add(h.Seq, h.FirstPut, h.Messages)
		}
		return nil
	})
	r.through = l.Head
	return err
}

// end is the state of the compaction node, at its place and with its time.
func (r *refold) end(n *known, in *chainstore.NewNode, parent *runloop.State) runloop.State {
	s := r.fold.End(parent)
	if start := &s.Effective.Loop.Start; start.Seq == noSeq {
		start.Seq = n.at.Seq
	}
	for i := range in.Messages {
		m := runloop.BriefOf(&in.Messages[i], r.marks[i])
		if m.Role == runloop.User && !m.Summary {
			s.Effective.LatestUser = max(s.Effective.LatestUser, m.SentAt(n.firstPut))
		}
	}
	return s
}

// cover makes a node under a parent a compaction node, and ends its folds. made is a refold that may have been begun; it
// stays as it is.
func (n *known) cover(in *chainstore.NewNode, parent *known, covers chainstore.Place, made *refold, read headers) ([]runloop.Mark, error) {
	var r refold
	if made != nil && made.covers == covers && parent.lineage.Holds(made.through) {
		r = *made
	} else {
		begun, err := newRefold(in, parent, covers, read)
		if err != nil {
			return nil, err
		}
		r = *begun
	}
	if err := r.extend(parent.lineage, read); err != nil {
		return nil, err
	}
	n.state = r.end(n, in, &parent.state)
	n.covers = chainstore.Link{Present: true, Seq: covers.Seq}
	return r.marks, nil
}
