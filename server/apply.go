package server

import (
	"context"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// application hands out the actions of a plan, message by message in the order of the view.
type application struct {
	plan *compaction.Plan
	// early and next are the first of Plan.Early and Plan.Actions that were not handed out; started says that Plan.Start was
	// reached.
	early, next int
	started     bool
	// one is the message in hand: its memory serves all.
	one message
}

// of returns what becomes of the stubs due before a message, and of itself. Messages may be left out of the order only
// where the plan shows nothing of them.
func (a *application) of(at runloop.Place, m *runloop.Brief) (stubs []compaction.Action, message compaction.Action) {
	switch p := a.plan; {
	case a.started:
		stubs = a.take(len(m.Mark.Stubs))
	case p.HasLoops && at == p.Start:
		a.started = true
	case a.early < len(p.Early) && at == p.Early[a.early].At:
		a.early++
		return nil, p.Early[a.early-1].Action
	default:
		return nil, compaction.Drop
	}
	if m.Mark.LeftOut != runloop.Shown {
		return stubs, compaction.Drop
	}
	return stubs, a.take(1)[0]
}

func (a *application) take(n int) []compaction.Action {
	a.next += n
	return a.plan.Actions[a.next-n : a.next]
}

// passes goes past n messages, without stubs before them, of which the plan shows nothing; if it shows something, or may,
// it stays where it is and returns false.
func (a *application) passes(n int) bool { return n == 0 || a.takeAll(n, compaction.Drop) }

// keeps is the same for messages all of which the plan shows as they are.
func (a *application) keeps(n int) bool { return n > 0 && a.takeAll(n, compaction.Keep) }

// takeAll takes n actions, if they are next and all the same as one.
func (a *application) takeAll(n int, one compaction.Action) bool {
	other := func(x compaction.Action) bool { return x != one }
	if !a.started || slices.ContainsFunc(a.plan.Actions[a.next:a.next+n], other) {
		return false
	}
	a.take(n)
	return true
}

// shown are the rows of the body that a plan shows something of, in the order of the view.
func (e *effective) shown(plan *compaction.Plan, through uint32) []chainstore.Span {
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
func (e *effective) plan(ctx context.Context, p *compaction.Planner, through uint32) (*compaction.Plan, compaction.Size, error) {
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
func (e *effective) preambleSize(ctx context.Context) (size compaction.Size, err error) {
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
