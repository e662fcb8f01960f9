package memstore

import (
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// covered finds the node that a compaction node covers: ErrNotAncestor on a root, ErrNodeNotFound.
func (p *plan) covered(c *chainstore.Compaction, parent *node) (*node, error) {
	if parent == nil {
		return nil, chainstore.ErrNotAncestor
	}
	if n := p.lookup(c.Covers); n != nil {
		return n, nil
	}
	return nil, chainstore.ErrNodeNotFound
}

// mayCover tells whether the compaction node n may cover the node that it does: ErrNotAncestor, ErrAlreadyCovered,
// ErrOpenCalls.
func (n *node) mayCover() error {
	if n.parent == nil || !slices.Contains(n.parent.path(), n.covers) {
		return chainstore.ErrNotAncestor
	}
	through, state := n.covers.header.Seq, &n.parent.header.State
	if slices.ContainsFunc(n.compaction.Provenance, func(p chainstore.Provenance) bool { return p.Present && p.Place.Seq > through }) {
		return chainstore.ErrNotAncestor
	}
	if !state.PreambleClosed || through < state.PreambleEnd.Seq {
		return chainstore.ErrAlreadyCovered
	}
	for c := n.parent; c != nil; c = c.parent {
		if c.compaction != nil {
			if through < c.covers.header.Seq {
				return chainstore.ErrAlreadyCovered
			}
			break
		}
	}
	if n.covers.header.State.Group.Unanswered() > 0 {
		return chainstore.ErrOpenCalls
	}
	return nil
}

// refold continues the parent's state, which h has, over the compaction node n: the full fold stays as it is, and the
// effective fold begins again with what the effective view of n shows.
func (n *node) refold(h *chainstore.Header) ([]runloop.Mark, error) {
	path, end := n.parent.path(), h.State.PreambleEnd
	var s runloop.State
	fold := func(m *node, messages int, outcome runloop.Outcome) error {
		_, _, err := s.Fold(runloop.Node{
			Seq: m.header.Seq, Prefix: m.id().Prefix(), Times: m.header.Times(), Messages: m.facts[:messages], Outcome: outcome,
		}, m.parent.hasCall)
		return err
	}
	for _, m := range path[:end.Seq] {
		if err := fold(m, len(m.facts), m.outcome); err != nil {
			return nil, err
		}
	}
	if end.Index > 0 {
		if err := fold(path[end.Seq], int(end.Index), runloop.NoOutcome); err != nil {
			return nil, err
		}
	}
	copies, err := n.copies(h)
	if err != nil {
		return nil, err
	}
	marks, _, err := s.Fold(copies, func(runloop.Optional) bool { return false })
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(marks, func(m runloop.Mark) bool { return m.BeginsLoop }) {
		h.Stands = copies.Loops.Phase
	}
	for _, m := range path[n.covers.header.Seq+1:] {
		if m.compaction != nil {
			continue
		}
		if err := fold(m, len(m.facts), m.outcome); err != nil {
			return nil, err
		}
	}
	h.State.Effective, h.State.Group, h.State.Repairs = s.Effective, s.Group, s.Repairs
	return marks, nil
}

// copies is the compaction node n as it is folded: each message has the index that it had where it was put first, and the run loops
// are those that were given, else those of the messages by themselves.
func (n *node) copies(h *chainstore.Header) (runloop.Node, error) {
	out := runloop.Node{Seq: h.Seq, Prefix: h.ID.Prefix(), Times: runloop.Times{FirstPut: h.FirstPut, AsSent: true}, Messages: n.facts}
	for i, p := range n.compaction.Provenance {
		if !p.Present {
			p.Place.Index = uint32(i)
		}
		out.PutAt = append(out.PutAt, p.Place.Index)
	}
	var err error
	if out.Loops = n.compaction.Loops; out.Loops == nil {
		out.Loops, err = runloop.LoopsOf(n.facts)
	}
	return out, err
}
