package chainview

import (
	"context"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// named makes a plan, which reads headers alone. Where a message is planned whose names of calls are too many for its header, the messages
// are read that it is so with, and the plan is made once more.
func (e *Effective) named(ctx context.Context, policy *compaction.Policy, plan func() error) error {
	e.needsNames = len(policy.ReplyTools) > 0
	if err := plan(); err != nil || len(e.unnamed) == 0 {
		return err
	}
	if err := e.readNames(ctx, policy); err != nil {
		return err
	}
	return plan()
}

// told is a message with the names of its calls, once they are read.
func (e *Effective) told(m *runloop.Brief, at runloop.Place) *runloop.Brief {
	if !m.Unnamed || !e.needsNames {
		return m
	}
	names, known := e.names[at]
	if !known {
		e.unnamed = append(e.unnamed, at)
		return m
	}
	named := *m
	named.Names, named.Unnamed = names, false
	return &named
}

// readNames reads the names of calls that no header keeps, and of these keeps those that answer.
func (e *Effective) readNames(ctx context.Context, policy *compaction.Policy) error {
	e.names = make(map[runloop.Place][]runloop.Optional, len(e.unnamed))
	var spans []chainstore.Span
	for _, at := range e.unnamed {
		if n := len(spans); n == 0 || spans[n-1].From != at.Seq {
			spans = append(spans, chainstore.Span{From: at.Seq, Through: at.Seq})
		}
	}
	left := e.unnamed
	e.unnamed = nil
	return ReadAll(ctx, e.chain, spans, func(row *chainstore.Row) error {
		h, err := row.Header()
		for ; err == nil && len(left) > 0 && left[0].Seq == row.Seq; left = left[1:] {
			err = e.readName(h, left[0], row.Payload, policy)
		}
		return err
	})
}

// readName reads the names of the calls of one message. Others than those that answer count as not told, and where there are none, none
// are kept.
func (e *Effective) readName(h *chainstore.Header, at runloop.Place, payload []byte, policy *compaction.Policy) error {
	m, err := DecodeMessage(h, int(at.Index), payload)
	if err != nil {
		return err
	}
	e.names[at] = policy.AnswerNames(runloop.NamesOf(canonical.FactsOf(m).Calls))
	return nil
}
