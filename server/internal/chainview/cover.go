package chainview

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
)

// CoverThrough finds the last node that a compaction is to cover: that after which the chain was asked for, if so, or the last at
// which no call is unanswered. Errors are chainstore.ErrAlreadyCovered and chainstore.ErrOpenCalls.
func (e *Effective) CoverThrough(ctx context.Context, asked bool) (*chainstore.Header, error) {
	first := e.firstCovered()
	if !asked {
		return lastAnswered(ctx, e.chain, first)
	}
	seq := e.chain.After()
	if seq < first {
		return nil, chainstore.ErrAlreadyCovered
	}
	h, err := chainstore.HeaderAt(ctx, e.chain, seq)
	if err == nil && h.State.Group.Unanswered() > 0 {
		err = chainstore.ErrOpenCalls
	}
	return h, err
}

// firstCovered is the first node that a compaction can cover: not before what one covers already, nor before the end of
// the preamble.
func (e *Effective) firstCovered() uint32 {
	if e.compaction != nil {
		return e.compaction.Covers.Seq
	}
	return e.state().PreambleEnd.Seq
}

// lastAnswered is the last node, but none before first, at which no call is unanswered: mostly the head, else one of the few before it.
func lastAnswered(ctx context.Context, chain chainstore.Chain, first uint32) (found *chainstore.Header, err error) {
	if h := chain.Head(); h.Seq >= first && h.State.Group.Unanswered() == 0 {
		return h, nil
	}
	through := chain.Head().Seq
	for rows := uint32(16); found == nil && through > first; rows *= 4 {
		span := chainstore.Span{From: first, Through: through - 1, HeadersOnly: true}
		if through-first > rows {
			span.From = through - rows
		}
		err := ReadAll(ctx, chain, []chainstore.Span{span}, func(row *chainstore.Row) error {
			h, err := row.Header()
			if err == nil && h.State.Group.Unanswered() == 0 {
				found = h
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		through = span.From
	}
	if found == nil {
		err = chainstore.ErrOpenCalls
	}
	return found, err
}
