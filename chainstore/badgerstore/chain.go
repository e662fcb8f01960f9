package badgerstore

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// chain is a chainstore.Chain. It holds nothing open.
type chain struct {
	s  *Store
	ns uint32
	*cache.Node
	after      uint32
	compaction *chainstore.Header
	// reader is the cache's number of who reads it.
	reader int64
}

// Chain finds a head; see chainstore.ChainReader. It reads the alias or id and, of a head and of a compaction node that were not read
// lately, the rows, and a seek for each 64 forks.
func (s *Store) Chain(ctx context.Context, namespace string, ref chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c := s.newChain()
	err := s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		if err := c.find(v, ref); err != nil || after == nil {
			return err
		}
		return c.findAfter(v, *after)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ChainNamed walks over the aliases of the head too; see chainstore.ChainReader.
func (s *Store) ChainNamed(ctx context.Context, namespace string, ref chainstore.Ref, limit int) (_ chainstore.Chain, names []string, more bool, err error) {
	c := s.newChain()
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		if err := c.find(v, ref); err != nil {
			return err
		}
		names, more, err = aliasesOf(ctx, v, c.At, limit)
		return err
	})
	if err != nil {
		return nil, nil, false, err
	}
	return c, names, more, nil
}

func (s *Store) newChain() *chain { return &chain{s: s, reader: s.source.Caches.Rows.Begin()} }

// find finds the head, and its compaction node.
func (c *chain) find(v *snapshot.Snapshot, ref chainstore.Ref) (err error) {
	c.ns = v.Namespace
	if c.Node, err = v.Head(ref); err != nil {
		return err
	}
	c.compaction, err = v.Compaction(c.Node)
	return err
}

// findAfter finds a node of the path.
func (c *chain) findAfter(v *snapshot.Snapshot, id chainstore.ID) error {
	p, found, err := v.PlaceOf(id)
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

// Compaction is read when the chain is found; see chainstore.Chain.
func (c *chain) Compaction() *chainstore.Header { return c.compaction }

// Compactions reads each, and the node before it, in a seek; see chainstore.Chain.
func (c *chain) Compactions(ctx context.Context, limit int) (headers []*chainstore.Header, more bool, err error) {
	err = c.read(ctx, func(v *snapshot.Snapshot) error {
		headers, more, err = v.Compactions(ctx, c.Lineage, c.reader, c.compaction, limit)
		return err
	})
	return headers, more, err
}

// Headers reads each in one seek; see chainstore.Chain.
func (c *chain) Headers(ctx context.Context, seqs ...uint32) (headers []*chainstore.Header, err error) {
	err = c.read(ctx, func(v *snapshot.Snapshot) error {
		headers, err = v.Headers(ctx, c.Lineage, c.reader, seqs)
		return err
	})
	return headers, err
}

// FirstWhere takes about as many seeks as the distance from the head has binary digits, twice; see chainstore.Chain.
func (c *chain) FirstWhere(ctx context.Context, from uint32, bounds chainstore.Bounds) (before, first *chainstore.Header, err error) {
	err = c.read(ctx, func(v *snapshot.Snapshot) error {
		before, first, err = v.FirstWhere(ctx, c.Lineage, c.reader, from, c.Header, func(h *chainstore.Header) bool {
			return bounds.Met(bounds.View(&h.State))
		})
		return err
	})
	return before, first, err
}

// Rows reads one range for each fork within a span; see chainstore.Chain. What the database wrote since stays on its
// disk for chainstore.RowsHold, or until Rows returns.
func (c *chain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	return c.read(ctx, func(v *snapshot.Snapshot) error { return v.LongRows(ctx, c.Lineage, c.reader, spans, yield) })
}

// read runs f on a snapshot of the chain's namespace.
func (c *chain) read(ctx context.Context, f func(*snapshot.Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v, err := c.s.source.Open(c.ns)
	if err != nil {
		return err
	}
	defer v.Close()
	if c.s.source.Names.Gone(c.ns) {
		return chainstore.ErrNodeNotFound
	}
	return c.unlessGone(v, f(v))
}

// unlessGone is the error of a read of the chain: that the head is not there, where it was deleted since it was found.
func (c *chain) unlessGone(v *snapshot.Snapshot, err error) error {
	if errors.Is(err, chainstore.ErrCorrupt) && errors.Is(c.isThere(v), chainstore.ErrNodeNotFound) {
		return chainstore.ErrNodeNotFound
	}
	return err
}

// isThere is ErrNodeNotFound where the head was deleted since it was found. Who walks over rows of which there may be none has to ask.
func (c *chain) isThere(v *snapshot.Snapshot) error {
	at, found, err := v.PlaceOf(c.Header.ID)
	if err == nil && (!found || at != c.At) {
		err = chainstore.ErrNodeNotFound
	}
	return err
}
