package chainview

import (
	"context"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// callsKnown is what a message tells of its calls and its header may not.
type callsKnown struct {
	names   []runloop.Optional
	savings runloop.Savings
}

// withCalls makes a plan, which reads headers alone. Where a message is planned whose header does not tell what the plan needs of its calls,
// the messages are read that it is so with, and the plan is made once more.
func (e *Effective) withCalls(ctx context.Context, policy *compaction.Policy, plan func() error) error {
	e.needsNames, e.needsSavings = len(policy.ReplyTools) > 0, policy.Clear.Arguments
	if err := plan(); err != nil || len(e.unknown) == 0 {
		return err
	}
	if err := e.readCalls(ctx, policy); err != nil {
		return err
	}
	return plan()
}

// told is a message with what its plan needs of its calls, once that is read.
func (e *Effective) told(h *chainstore.Header, at runloop.Place) *runloop.Brief {
	m := &h.Messages[at.Index]
	if !(e.needsNames && m.Unnamed || e.needsSavings && h.Version1 && m.Calls > 0 && m.Length > runloop.MinSaving) {
		return m
	}
	calls, known := e.known[at]
	if !known {
		e.unknown = append(e.unknown, at)
		return m
	}
	told := *m
	if m.Unnamed {
		told.Names, told.Unnamed = calls.names, false
	}
	if h.Version1 {
		told.Savings = calls.savings
	}
	return &told
}

// readCalls reads the messages whose headers do not tell enough.
func (e *Effective) readCalls(ctx context.Context, policy *compaction.Policy) error {
	e.known = make(map[runloop.Place]callsKnown, len(e.unknown))
	var spans []chainstore.Span
	for _, at := range e.unknown {
		if n := len(spans); n == 0 || spans[n-1].From != at.Seq {
			spans = append(spans, chainstore.Span{From: at.Seq, Through: at.Seq})
		}
	}
	left := e.unknown
	e.unknown = nil
	return ReadAll(ctx, e.chain, spans, func(row *chainstore.Row) error {
		h, err := row.Header()
		for ; err == nil && len(left) > 0 && left[0].Seq == row.Seq; left = left[1:] {
			err = e.readMessage(h, left[0], row.Payload, policy)
		}
		return err
	})
}

// readMessage reads what one message tells of its calls. Other names than those that answer count as not told, and where there are none,
// none are kept. Calls that answer save nothing.
func (e *Effective) readMessage(h *chainstore.Header, at runloop.Place, payload []byte, policy *compaction.Policy) error {
	m, err := DecodeMessage(h, int(at.Index), payload)
	if err != nil {
		return err
	}
	f := canonical.FactsOf(m)
	for k := range f.Savings {
		if policy.AnswersBy(f.Calls[k].Name) {
			f.Savings[k] = 0
		}
	}
	e.known[at] = callsKnown{policy.AnswerNames(runloop.NamesOf(f.Calls)), f.Savings}
	return nil
}
