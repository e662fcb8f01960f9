package chainview

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// shown are the rows of the body that a plan shows something of, in the order of the view.
func (e *Effective) shown(plan *compaction.Plan, through uint32) []chainstore.Span {
	var spans []chainstore.Span
	for i := range plan.Early {
		seq := plan.Early[i].At.Seq
		if plan.HasLoops && !e.before(runloop.Place{Seq: seq}, runloop.Place{Seq: plan.Start.Seq}) {
			break
		}
		if n := len(spans); n == 0 || spans[n-1].Through != seq {
			spans = append(spans, chainstore.Span{From: seq, Through: seq})
		}
	}
	if !plan.HasLoops {
		return spans
	}
	found := false
	for _, s := range e.body(through) {
		if start := plan.Start.Seq; !found && s.From <= start && start <= s.Through {
			found, s.From = true, start
		}
		if found {
			spans = append(spans, s)
		}
	}
	return spans
}

// plan plans over everything behind the preamble, through a node, and adds up what the view shows there. The preamble is read too where
// its size counts.
func (e *Effective) plan(ctx context.Context, o compaction.Options, through *chainstore.Header) (*compaction.Plan, compaction.Size, error) {
	spans := e.body(through.Seq)
	if o.Policy.NeedsSizes() {
		spans = joined(append(e.preambleSpans(), spans...))
	}
	var shown compaction.Size
	var h chainstore.Header
	var p *compaction.Planner // not before the size of the preamble is known
	err := e.read(ctx, spans, true, func(r *viewRow) error {
		if err := r.MessagesInto(&h); err != nil {
			return err
		}
		if p == nil {
			if o.Policy.NeedsSizes() {
				addMessages(&o.Preamble, &h, 0, r.from)
			}
			if r.from == r.through {
				return nil
			}
			p = compaction.NewPlanner(o)
		}
		e.feed(p, &h, r.from, r.through)
		addMessages(&shown, &h, r.from, r.through)
		return nil
	})
	if err != nil {
		return nil, shown, err
	}
	if p == nil {
		p = compaction.NewPlanner(o)
	}
	return p.Plan(through.State.Full.Loop.Closed()), shown, nil
}

// addMessages adds what the effective view shows of a node's messages from one through the one before another.
func addMessages(s *compaction.Size, h *chainstore.Header, from, through int) {
	for i := from; i < through; i++ {
		addShown(s, &h.Messages[i])
	}
	if through == len(h.Messages) {
		addStubs(s, h.Stubs)
	}
}

// addStubs adds the stubs of calls.
func addStubs(s *compaction.Size, calls []runloop.Call) {
	for _, c := range calls {
		length := int64(runloop.StubLength(c))
		s.Add(length, runloop.EstimateTokens(length), true)
	}
}

// addShown adds what the effective view shows of a message, the stubs due before it included.
func addShown(s *compaction.Size, m *runloop.Brief) {
	addStubs(s, m.Mark.Stubs)
	if m.Shown() {
		tokens, estimated := m.Tokens()
		s.Add(int64(m.Length), tokens, estimated)
	}
}
