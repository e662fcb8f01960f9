package badgerstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// chain is a chainstore.Chain. It holds nothing open.
type chain struct {
	s  *Store
	ns uint32
	*cache.Node
	after uint32
	// reader is the cache's number of who reads it.
	reader int64
}

// Chain finds a head; see chainstore.ChainReader. It reads the alias or id and, of a head that was not read lately, the row,
// and a seek for each 64 forks.
func (s *Store) Chain(ctx context.Context, namespace string, ref chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c := &chain{s: s, reader: s.source.Caches.Rows.Begin()}
	err := s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) (err error) {
		c.ns = v.Namespace
		if c.Node, err = v.Head(ref); err != nil || after == nil {
			return err
		}
		p, found, err := v.PlaceOf(*after)
		switch {
		case err != nil:
			return err
		case !found:
			return chainstore.ErrAfterNotFound
		case !c.Lineage.Holds(p):
			return chainstore.ErrNotAncestor
		}
		c.after = p.Seq
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *chain) Head() *chainstore.Header { return c.Header }

func (c *chain) After() uint32 { return c.after }

// Runs are the stretches, each of a segment; see chainstore.Chain.
func (c *chain) Runs(limit int) (runs []chainstore.Run) {
	if limit <= 0 {
		return nil
	}
	c.Lineage.Runs(func(r chainstore.Run) bool {
		runs = append(runs, r)
		return len(runs) < limit
	})
	return runs
}

// Rows reads one range for each fork within the span; see chainstore.Chain. What the database wrote since stays on its
// disk until Rows returns.
func (c *chain) Rows(ctx context.Context, span chainstore.Span, yield func(*chainstore.Row) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v, err := c.s.source.Open(c.ns)
	if err != nil {
		return err
	}
	defer v.Close()
	return v.Rows(ctx, c.Lineage, c.reader, span, yield)
}
