package chainview

import (
	"slices"

	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// planCursor hands out the actions of a plan, message by message in the order of the view.
type planCursor struct {
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
func (a *planCursor) of(at runloop.Place, m *runloop.Brief) (stubs []compaction.Action, message compaction.Action) {
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
	if !m.Shown() {
		return stubs, compaction.Drop
	}
	return stubs, a.take(1)[0]
}

// atEnd returns what becomes of the stubs at the end of a node; nothing is shown of those before the start.
func (a *planCursor) atEnd(stubs int) []compaction.Action {
	if !a.started {
		return nil
	}
	return a.take(stubs)
}

func (a *planCursor) take(n int) []compaction.Action {
	a.next += n
	return a.plan.Actions[a.next-n : a.next]
}

// passes goes past n messages, without stubs before them, of which the plan shows nothing; if it shows something, or may,
// it stays where it is and returns false.
func (a *planCursor) passes(n int) bool { return n == 0 || a.takeAll(n, compaction.Drop) }

// keeps is the same for messages all of which the plan shows as they are.
func (a *planCursor) keeps(n int) bool { return n > 0 && a.takeAll(n, compaction.Keep) }

// takeAll takes n actions, if they are next and all the same as one.
func (a *planCursor) takeAll(n int, one compaction.Action) bool {
	other := func(x compaction.Action) bool { return x != one }
	if !a.started || slices.ContainsFunc(a.plan.Actions[a.next:a.next+n], other) {
		return false
	}
	a.take(n)
	return true
}
