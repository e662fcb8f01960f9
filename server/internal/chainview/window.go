package chainview

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// window is where the loops of a window begin.
type window struct {
	start runloop.Place
	// loops is how many come before the first of them, before the view there.
	loops  int64
	before runloop.View
}

// findWindow finds where the loops of a window begin; nil where that is not behind the compaction node, or does not depend on the
// number of loops alone: then everything behind the preamble is to be planned over.
func (e *Effective) findWindow(ctx context.Context, policy *compaction.Policy) (*window, error) {
	s := e.state()
	b := chainstore.Bounds{Loops: policy.FirstLoop(max(0, s.Effective.Loops-1))}
	if !s.PreambleClosed || b.Loops == 0 || policy.NeedsSizes() {
		return nil, nil
	}
	before, node, err := e.chain.FirstWhere(ctx, e.floor(), b)
	if err != nil || node == nil {
		return nil, err
	}
	return windowIn(b.Loops, before.State.Effective, node), nil
}

// floor is the node behind which a window is looked for: the compaction node, or that in which the preamble ends.
func (e *Effective) floor() uint32 {
	if e.compaction != nil {
		return e.compaction.Seq
	}
	return e.state().PreambleEnd.Seq
}

// windowIn finds the loop in a node before which a view has so many. The view is given as it is before the node.
func windowIn(loops int64, v runloop.View, h *chainstore.Header) *window {
	times := h.Times()
	for i := range h.Messages {
		m := &h.Messages[i]
		if !m.Shown() {
			continue
		}
		if m.Mark.BeginsLoop && !m.Mark.LeadIn {
			if v.Loops == loops {
				return &window{start: runloop.Place{Seq: h.Seq, Index: uint32(i)}, loops: loops, before: v}
			}
			v.Loops++
		}
		v.Hear(m, times)
	}
	return nil
}

// planFrom feeds a planner the messages before the first loop and those from the start of the window on.
func (e *Effective) planFrom(ctx context.Context, p *compaction.Planner, w *window) (*compaction.Plan, error) {
	start := w.start
	if e.compaction != nil {
		if err := e.feedEarly(ctx, p, start); err != nil {
			return nil, err
		}
	}
	p.Skip(w.loops, w.before.LatestUser, w.before.HasLatestUser)
	through := e.chain.Head().Seq
	var h chainstore.Header
	err := e.read(ctx, []chainstore.Span{{From: start.Seq, Through: through}}, true, func(r *viewRow) error {
		if err := r.MessagesInto(&h); err != nil {
			return err
		}
		if h.Seq == start.Seq {
			r.from = int(start.Index)
		}
		e.feed(p, &h, r.from, r.through)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.Plan(e.state().Full.Loop.Closed()), nil
}

// feedEarly feeds a planner what lies before the first loop; behind a compaction node something can. Mostly the node itself, whose
// header is there, has a loop.
func (e *Effective) feedEarly(ctx context.Context, p *compaction.Planner, start runloop.Place) error {
	begun := errors.New("a run loop has begun")
	each := func(h *chainstore.Header, from, through int) error {
		for i := from; i < through; i++ {
			if e.feed(p, h, i, i+1); p.Begun() {
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

// feed adds a node's messages from one through the one before another; behind the last, what stands at the node's end. A compaction node
// that is not the view's has no part in it, even where it has no messages.
func (e *Effective) feed(p *compaction.Planner, h *chainstore.Header, from, through int) {
	times, copies := h.Times(), h.Covers.Present && !h.Version1
	for i := from; i < through; i++ {
		at := runloop.Place{Seq: h.Seq, Index: uint32(i)}
		m := e.told(h, at)
		if copies {
			p.AddCopy(m, at, times)
		} else {
			p.Add(m, at, times)
		}
	}
	switch {
	case through < len(h.Messages):
	case copies && e.compaction != nil && h.Seq == e.compaction.Seq:
		p.Stand(h.Stands)
	case h.Outcome != runloop.NoOutcome:
		p.End(h.Stubs, h.Outcome)
	}
}
