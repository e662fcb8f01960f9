package verify

import (
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// covered returns the id of the node that a compaction node n covers, nil where n is none, and checks what must be true of
// it. ErrCorrupt where the rest of the node cannot be checked.
func (c *checker) covered(n *cache.Node, h *chainstore.Header, parent *cache.Node) (*chainstore.ID, error) {
	if !h.Covers.Present {
		return nil, nil
	}
	if parent == nil || h.Covers.Seq >= h.Seq {
		return nil, fmt.Errorf("%w: it covers a node that is not before it", chainstore.ErrCorrupt)
	}
	if len(h.Provenance) != len(h.Messages) {
		c.problem(chainstore.ProblemContent, &h.ID, "it does not tell of each of its messages where that was put")
	}
	at := n.Lineage.Locate(h.Covers.Seq)
	switch err := derive.MayCover(snapshot.Derived(parent), at, c.HeaderAt); {
	case errors.Is(err, chainstore.ErrAlreadyCovered):
		c.problem(chainstore.ProblemContent, &h.ID, "it covers less than the preamble, or than what is covered before it")
	case errors.Is(err, chainstore.ErrOpenCalls):
		c.problem(chainstore.ProblemContent, &h.ID, "a call is unanswered where it ends what it covers")
	case err != nil:
		return nil, err
	}
	t, err := c.HeaderAt(at)
	if err != nil {
		return nil, err
	}
	return &t.ID, nil
}

// derive tells again what follows from a node of a header and its parent.
func (c *checker) derive(
	h *chainstore.Header, in *chainstore.NewNode, seat derive.Seat, parent derive.Node,
) (derive.Node, map[derive.CallKey]*derive.Recall, error) {
	if in.Compaction == nil {
		return derive.Append(in, seat, parent, derive.CallsBefore(parent, in.Messages, c.Snapshot))
	}
	read := c.Snapshot.FoldHeaders(c.ctx)
	made, err := derive.Compact(in, seat, parent, parent.Lineage.Locate(h.Covers.Seq), nil,
		func(l *chainstore.Lineage, from, through uint32, f func(*chainstore.Header) error) error {
			return read(l, from, through, func(h *chainstore.Header) error {
				if err := c.tick(); err != nil {
					return err
				}
				return f(h)
			})
		})
	return made, nil, err
}
