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

// plan feeds a planner everything behind the preamble, through a node, and adds up what the view shows there.
func (e *Effective) plan(ctx context.Context, p *compaction.Planner, through uint32) (*compaction.Plan, compaction.Size, error) {
	var shown compaction.Size
	var h chainstore.Header
	err := e.read(ctx, e.body(through), true, func(r *viewRow) error {
		if err := r.MessagesInto(&h); err != nil {
			return err
		}
		feed(p, &h, r.from, r.through)
		addRow(&shown, &h, r)
		return nil
	})
	if err != nil {
		return nil, shown, err
	}
	return p.Plan(), shown, nil
}

// preambleSize is what the view shows of the preamble.
func (e *Effective) preambleSize(ctx context.Context) (size compaction.Size, err error) {
	err = e.preamble(ctx, true, func(r *viewRow) error {
		h, err := r.Header()
		if err == nil {
			addRow(&size, h, r)
		}
		return err
	})
	return size, err
}

// addRow adds what the effective view shows of a row's messages.
func addRow(s *compaction.Size, h *chainstore.Header, r *viewRow) {
	for i := r.from; i < r.through; i++ {
		addShown(s, &h.Messages[i])
	}
}

// addShown adds what the effective view shows of a message, the stubs due before it included.
func addShown(s *compaction.Size, m *runloop.Brief) {
	for _, c := range m.Mark.Stubs {
		length := int64(runloop.StubLength(c))
		s.Add(length, runloop.EstimateTokens(length), true)
	}
	if m.Mark.LeftOut == runloop.Shown {
		tokens, estimated := m.Tokens()
		s.Add(int64(m.Length), tokens, estimated)
	}
}
