package chainview

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// windowStart finds the place where the loops of a window begin. found is false where that is not behind the compaction node, or does
// not depend on positions and times alone: then everything behind the preamble is to be planned over.
func (e *Effective) windowStart(ctx context.Context, policy *compaction.Policy) (start runloop.Place, found bool, err error) {
	s := e.state()
	b := chainstore.Bounds{Loops: policy.FirstLoop(max(0, s.Effective.Loops-1))}
	b.Heard, b.HasHeard = policy.OldestTime()
	if !s.PreambleClosed || s.Effective.Loops == 0 || policy.NeedsSizes() || b.Loops == 0 && !b.HasHeard {
		return start, false, nil
	}
	start = s.Effective.Loop.Start // nobody has spoken since
	if b.Met(&s.Effective) {
		before, node, err := e.chain.FirstWhere(ctx, e.floor(), b)
		if err != nil || node == nil {
			return start, false, err
		}
		start = startIn(&b, &before.State.Effective, node)
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

// startIn is the place of the first message of the loop in which the bounds are met, which is in a node, but not before
// it, where the view is as given.
func startIn(b *chainstore.Bounds, before *runloop.View, h *chainstore.Header) runloop.Place {
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
		if b.Met(&v) {
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

// feedEarly feeds a planner what lies before the first loop; behind a compaction node something can. Mostly the node itself, whose
// header is there, has a loop.
func (e *Effective) feedEarly(ctx context.Context, p *compaction.Planner, start runloop.Place) error {
	begun := errors.New("a run loop has begun")
	each := func(h *chainstore.Header, from, through int) error {
		for i := from; i < through; i++ {
			if feed(p, h, i, i+1); p.Begun() {
				return begun
			}
		}
		return nil
	}
	err := each(e.compaction, 0, len(e.compaction.Messages))
	if rest := e.body(start.Seq)[1:]; err == nil && len(rest) > 0 {
		err = e.read(ctx, rest, true, func(r *viewRow) error {
			h, err := r.Header()
			if err != nil {
				return err
			}
			if h.Seq == start.Seq {
				r.through = int(start.Index)
			}
			return each(h, r.from, r.through)
		})
	}
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
