package badgerstore

import (
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// covered returns the id of the node that a compaction node n covers, nil where n is none, and checks what must be true of
// it. ErrCorrupt where the rest of the node cannot be checked.
func (c *checker) covered(n *known, h *chainstore.Header, parent *known) (*chainstore.ID, error) {
	if !h.Covers.Present {
		return nil, nil
	}
	if parent == nil || h.Covers.Seq >= h.Seq {
		return nil, fmt.Errorf("%w: it covers a node that is not before it", chainstore.ErrCorrupt)
	}
	if len(h.Provenance) != len(h.Messages) {
		c.problem(&h.ID, "it does not tell of each of its messages where that was put")
	}
	at := n.lineage.Locate(h.Covers.Seq)
	switch err := mayCover(parent, at, c.nodeAt); {
	case errors.Is(err, chainstore.ErrAlreadyCovered):
		c.problem(&h.ID, "it covers less than the preamble, or than what is covered before it")
	case errors.Is(err, chainstore.ErrOpenCalls):
		c.problem(&h.ID, "a call is unanswered where it ends what it covers")
	case err != nil:
		return nil, err
	}
	t, err := c.nodeAt(at)
	if err != nil {
		return nil, err
	}
	return &t.id, nil
}

// refold continues the folds over a node, or begins those of a compaction node again.
func (c *checker) refold(n *known, in *chainstore.NewNode, parent *known, earlier *earlierCalls) ([]runloop.Mark, error) {
	if in.Compaction == nil {
		return n.fold(in, earlier)
	}
	read := c.view.headers(c.ctx)
	return n.cover(in, parent, parent.lineage.Locate(n.covers.Seq), nil,
		func(l *chainstore.Lineage, from, through uint32, f func(*chainstore.Header) error) error {
			return read(l, from, through, func(h *chainstore.Header) error {
				if err := c.tick(); err != nil {
					return err
				}
				return f(h)
			})
		})
}
