package badgerstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
)

// chain is a chainstore.Chain. It holds nothing open.
type chain struct {
	s       *Store
	ns      uint32
	header  *chainstore.Header
	lineage *lineage
	after   uint32
}

// Chain finds a head; see chainstore.ChainReader. It reads the alias or id, the row, and a seek for each 64 forks.
func (s *Store) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c := &chain{s: s}
	err := s.read(ctx, namespace, func(v *view) (err error) {
		c.ns = v.ns
		if c.header, c.lineage, err = v.head(head); err != nil || after == nil {
			return err
		}
		p, found, err := v.placeOf(*after)
		switch {
		case err != nil:
			return err
		case !found:
			return chainstore.ErrNodeNotFound
		case !c.lineage.holds(p):
			return chainstore.ErrNotAncestor
		}
		c.after = p.seq
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *chain) Head() *chainstore.Header { return c.header }

func (c *chain) After() uint32 { return c.after }

// Runs are the stretches, each of a segment; see chainstore.Chain.
func (c *chain) Runs(limit int) (runs []chainstore.Run) {
	if limit <= 0 {
		return nil
	}
	c.lineage.stretches(func(s stretch) bool {
		runs = append(runs, chainstore.Run{Key: s.segment, From: s.from, Through: s.through})
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
	v, err := c.s.open(c.ns)
	if err != nil {
		return err
	}
	defer v.close()
	return v.rows(ctx, c.lineage, span, yield)
}

// rows yields the rows of a span of a chain.
func (v *view) rows(ctx context.Context, l *lineage, span chainstore.Span, yield func(*chainstore.Row) error) error {
	if span.From > min(span.Through, l.head.seq) {
		return nil
	}
	stretches := l.within(span.From, span.Through)
	prefix := tableKey(v.ns, tableNodes)
	if len(stretches) == 1 {
		prefix = segmentKey(v.ns, stretches[0].segment)
	}
	s := rowScan{ctx: ctx, cursor: v.cursor(prefix), headersOnly: span.HeadersOnly, yield: yield}
	defer s.cursor.close()
	for _, part := range stretches {
		if err := s.stretch(part); err != nil {
			return err
		}
	}
	return nil
}

// rowScan yields rows from a cursor.
type rowScan struct {
	ctx         context.Context
	cursor      *cursor
	headersOnly bool
	yield       func(*chainstore.Row) error
	// kept holds the row whose payload lies in chunks, and then the payload.
	kept []byte
}

// stretch yields the rows of a stretch, every one of which must be there.
func (s *rowScan) stretch(part stretch) error {
	c := s.cursor
	c.seek(placeKey(c.v.ns, tableNodes, place{part.segment, part.from}))
	for seq := part.from; ; seq++ {
		if err := s.goesOn(); err != nil {
			return err
		}
		chunks, err := s.row(place{part.segment, seq})
		if err != nil || seq == part.through {
			return err
		}
		if chunks > 0 && s.headersOnly {
			c.seek(placeKey(c.v.ns, tableNodes, place{part.segment, seq + 1}))
		} else if chunks == 0 {
			c.next()
		}
	}
}

// goesOn is the error that ends a scan early.
func (s *rowScan) goesOn() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.cursor.v.s.reads.isShut() {
		return chainstore.ErrClosed
	}
	return nil
}

// row yields the row at the cursor, which must be that of a place. It leaves the cursor behind the row's chunks if it
// has any and they were read, else on the row.
func (s *rowScan) row(at place) (chunks int, err error) {
	c := s.cursor
	if !c.valid() {
		return 0, dangling(tableNodes)
	}
	found, chunk, err := parseNodeKey(c.key())
	if err != nil {
		return 0, err
	}
	if found != at || chunk != 0 {
		return 0, dangling(tableNodes)
	}
	err = c.value(func(value []byte) error {
		r, present, err := parseRow(value)
		if err != nil {
			return err
		}
		if !present {
			return dangling(tableNodes)
		}
		if chunks = r.chunks; chunks > 0 && !s.headersOnly {
			s.kept = append(s.kept[:0], value...)
			return nil
		}
		return s.pass(at, &r)
	})
	if err != nil || chunks == 0 || s.headersOnly {
		return chunks, err
	}
	return chunks, s.chunked(at)
}

func (s *rowScan) pass(at place, r *row) error {
	out := chainstore.Row{Raw: r.header, Seq: at.seq}
	if !s.headersOnly {
		out.Payload, out.Metadata = r.payload, r.metadata
	}
	return s.yield(&out)
}

// chunked gathers the payload of the row in kept, and yields it.
func (s *rowScan) chunked(at place) error {
	head := len(s.kept)
	r, _, err := parseRow(s.kept)
	if err != nil {
		return err
	}
	if s.kept, err = s.cursor.chunks(at, r.chunks, s.kept); err != nil {
		return err
	}
	if r, _, err = parseRow(s.kept[:head]); err != nil {
		return err
	}
	r.payload = s.kept[head:]
	return s.pass(at, &r)
}

// chunks appends the payload in the chunks behind the row that the cursor is on, and leaves it behind them.
func (c *cursor) chunks(at place, n int, b []byte) ([]byte, error) {
	c.next()
	for i := 1; i <= n; i++ {
		if !c.valid() || !bytes.Equal(c.key(), chunkKey(c.v.ns, at, i)) {
			return b, fmt.Errorf("%w: a piece of a payload is missing", chainstore.ErrCorrupt)
		}
		err := c.value(func(value []byte) error {
			b = append(b, value...)
			return nil
		})
		if err != nil {
			return b, err
		}
		c.next()
	}
	return b, nil
}
