package chainview

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// bounds is where a window may start: at the first loop of at least a number, counted from 0 without the lead-in, at or
// behind the first user message of a time.
type bounds struct {
	loop   int64
	aged   bool
	oldest int64
}

// met tells whether a window may start at or before where a fold ends. It stays true as the fold goes on.
func (b *bounds) met(v *runloop.View) bool {
	return v.Loops > b.loop && (!b.aged || v.HasLatestUser && v.LatestUser >= b.oldest)
}

// windowStart finds, in about as many reads as its distance from the head has binary digits, and a few, the place where
// the loops of a window begin. found is false where that is not behind the compaction node, or does not depend on
// positions and times alone: then everything behind the preamble is to be planned over.
func (e *Effective) windowStart(ctx context.Context, policy *compaction.Policy) (start runloop.Place, found bool, err error) {
	s := e.state()
	b := bounds{loop: policy.FirstLoop(max(0, s.Effective.Loops-1))}
	b.oldest, b.aged = policy.OldestTime()
	if !s.PreambleClosed || s.Effective.Loops == 0 || policy.NeedsSizes() || b.loop == 0 && !b.aged {
		return start, false, nil
	}
	start = s.Effective.Loop.Start // nobody has spoken since
	if b.met(&s.Effective) {
		before, node, err := e.firstMet(ctx, &b)
		if err != nil || node == nil {
			return start, false, err
		}
		start = b.startIn(&before.State.Effective, node)
	}
	return start, start.Seq > e.floor(), nil
}

// floor is the node behind which a window is looked for: the compaction node, or that in which the preamble ends.
func (e *Effective) floor() uint32 {
	if e.compaction != nil {
		return e.compaction.Seq
	}
	return e.state().PreambleEnd.Seq
}

// firstMet finds the first node at which the bounds are met, which the head meets, and the node before: galloping back
// from the head, then halving. nil where they are met at the floor already.
func (e *Effective) firstMet(ctx context.Context, b *bounds) (before, node *chainstore.Header, err error) {
	node = e.chain.Head()
	look := func(seq uint32) error {
		h, err := e.at(ctx, seq)
		switch {
		case err != nil:
		case b.met(&h.State.Effective):
			node = h
		default:
			before = h
		}
		return err
	}
	for step := uint32(1); before == nil; step *= 2 {
		if node.Seq == e.floor() {
			return nil, nil, nil
		}
		if err := look(node.Seq - min(step, node.Seq-e.floor())); err != nil {
			return nil, nil, err
		}
	}
	for before.Seq+1 < node.Seq {
		if err := look(before.Seq + (node.Seq-before.Seq)/2); err != nil {
			return nil, nil, err
		}
	}
	return before, node, nil
}

// at is the header of a node at or behind the floor.
func (e *Effective) at(ctx context.Context, seq uint32) (*chainstore.Header, error) {
	if e.compaction != nil && seq == e.compaction.Seq {
		return e.compaction, nil
	}
	return chainstore.HeaderAt(ctx, e.chain, seq)
}

// startIn is the place of the first message of the loop in which the bounds are met, which is in a node, but not before
// it, where the view is as given.
func (b *bounds) startIn(before *runloop.View, h *chainstore.Header) runloop.Place {
	v := *before
	for i := range h.Messages {
		m := &h.Messages[i]
		if m.Mark.LeftOut != runloop.Shown {
			continue
		}
		if m.Mark.BeginsLoop {
			v.Loop.Start = runloop.Place{Seq: h.Seq, Index: uint32(i)}
			v.Loops += int64(1 - boolToInt(m.Mark.LeadIn))
		}
		if at := m.SentAt(h.FirstPut); m.Role == runloop.User && !m.Summary && (!v.HasLatestUser || at > v.LatestUser) {
			v.LatestUser, v.HasLatestUser = at, true
		}
		if b.met(&v) {
			break
		}
	}
	return v.Loop.Start
}

// planFrom feeds a planner the messages before the first loop and those from the start of the window on.
func (e *Effective) planFrom(ctx context.Context, p *compaction.Planner, start runloop.Place) (*compaction.Plan, error) {
	if e.compaction != nil {
		if err := e.feedEarly(ctx, p, start); err != nil {
			return nil, err
		}
	}
	p.Skip()
	through := e.chain.Head().Seq
	var h chainstore.Header
	err := e.read(ctx, []chainstore.Span{{From: start.Seq, Through: through}}, true, func(r *viewRow) error {
		if err := r.MessagesInto(&h); err != nil {
			return err
		}
		if h.Seq == start.Seq {
			r.from = int(start.Index)
		}
		feed(p, &h, r.from, r.through)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.Plan(), nil
}

// feedEarly feeds a planner what lies before the first loop; behind a compaction node something can.
func (e *Effective) feedEarly(ctx context.Context, p *compaction.Planner, start runloop.Place) error {
	begun := errors.New("a run loop has begun")
	err := e.read(ctx, e.body(start.Seq), true, func(r *viewRow) error {
		h, err := r.Header()
		if err != nil {
			return err
		}
		if h.Seq == start.Seq {
			r.through = int(start.Index)
		}
		for i := r.from; i < r.through; i++ {
			if feed(p, h, i, i+1); p.Begun() {
				return begun
			}
		}
		return nil
	})
	if errors.Is(err, begun) {
		return nil
	}
	return err
}

// feed adds a node's messages from one through the one before another.
func feed(p *compaction.Planner, h *chainstore.Header, from, through int) {
	for i := from; i < through; i++ {
		p.Add(&h.Messages[i], runloop.Place{Seq: h.Seq, Index: uint32(i)}, h.FirstPut)
	}
}
