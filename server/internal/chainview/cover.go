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

// lastAnswered is the last node, but none before first, at which no call is unanswered.
func lastAnswered(ctx context.Context, chain chainstore.Chain, first uint32) (*chainstore.Header, error) {
	for seq := int64(chain.Head().Seq); seq >= int64(first); seq-- {
		h, err := chainstore.HeaderAt(ctx, chain, uint32(seq))
		if err != nil || h.State.Group.Unanswered() == 0 {
			return h, err
		}
	}
	return nil, chainstore.ErrOpenCalls
}
