package snapshot

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// Rows yields the rows of spans of a chain, span after span, to a reader; of one whose number is 0, the cache takes no notice.
func (v *Snapshot) Rows(ctx context.Context, l *chainstore.Lineage, reader int64, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	s := v.scan(ctx, reader, yield)
	defer s.close()
	return s.spans(l, spans)
}

// LongRows is Rows for a caller who may take its time: it goes on in a snapshot of the newest state once it has held one for
// chainstore.RowsHold. v, which Open made, is then that one.
func (v *Snapshot) LongRows(ctx context.Context, l *chainstore.Lineage, reader int64, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	s := v.scan(ctx, reader, yield)
	defer s.close()
	s.renews, s.due = true, v.s.Clock()+chainstore.RowsHold
	return s.spans(l, spans)
}

func (v *Snapshot) scan(ctx context.Context, reader int64, yield func(*chainstore.Row) error) *rowScan {
	return &rowScan{
		ctx: ctx, v: v, yield: yield,
		fill: cache.RowFill{Cache: v.s.Caches.Rows, Namespace: v.Namespace, Seen: v.Seen, Reader: reader},
	}
}

// rowScan yields rows from the cache, and from a cursor what is not there.
type rowScan struct {
	ctx         context.Context
	v           *Snapshot
	headersOnly bool
	yield       func(*chainstore.Row) error
	// cursor is nil until it is needed; it walks over the keys with prefix.
	cursor *Cursor
	prefix []byte
	// fill is given what the cursor reads.
	fill cache.RowFill
	// scratch holds the row whose payload lies in chunks, and then what lies there; nil until it is needed.
	scratch *[]byte
	// out is what is yielded: its memory serves all rows.
	out chainstore.Row
	// renews says that the scan goes on in another snapshot once it is due, by the source's clock.
	renews bool
	due    time.Duration
}

// spans yields the rows of spans.
func (s *rowScan) spans(l *chainstore.Lineage, spans []chainstore.Span) error {
	s.prefix = s.v.rowsPrefix(l, spans)
	for i, span := range spans {
		if span.From > min(span.Through, l.Head.Seq) {
			continue
		}
		if i > 0 {
			s.fill.Flush()
		}
		s.headersOnly, s.fill.All = span.HeadersOnly, span.WillReread
		for _, part := range l.Within(span.From, span.Through) {
			if err := s.stretch(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// rowsPrefix is what the keys of all rows in spans begin with: that of their segment where all lie in one.
func (v *Snapshot) rowsPrefix(l *chainstore.Lineage, spans []chainstore.Span) []byte {
	first, last := l.Head.Seq, uint32(0)
	for _, span := range spans {
		first, last = min(first, span.From), max(last, min(span.Through, l.Head.Seq))
	}
	if segment := l.Locate(first).Segment; segment == l.Locate(last).Segment {
		return layout.SegmentKey(v.Namespace, segment)
	}
	return layout.TableKey(v.Namespace, layout.TableNodes)
}

func (s *rowScan) close() {
	s.release()
	if s.scratch != nil && cap(*s.scratch) <= maxScratch {
		s.v.s.scratches.Put(s.scratch)
	}
}

// release lets go of what holds the snapshot.
func (s *rowScan) release() {
	s.fill.Flush()
	if s.cursor != nil {
		s.cursor.Close()
		s.cursor = nil
	}
}

// overdue tells whether the scan has held its snapshot long enough.
func (s *rowScan) overdue() bool { return s.renews && s.v.s.Clock() >= s.due }

// renew goes on in a snapshot of the newest state. Rows never change, so it has those that are yet to come.
func (s *rowScan) renew() error {
	s.release()
	if err := s.v.Renew(); err != nil {
		return err
	}
	s.fill.Seen, s.due = s.v.Seen, s.v.s.Clock()+chainstore.RowsHold
	return nil
}

// maxScratch is how much memory of a scan is kept for another: that of blocks of usual rows.
const maxScratch = 1 << 20

// room is scratch, emptied.
func (s *rowScan) room() []byte {
	if s.scratch == nil {
		s.scratch = s.v.s.scratches.Get().(*[]byte)
	}
	return (*s.scratch)[:0]
}

// stretch yields the rows of a stretch, every one of which must be there.
func (s *rowScan) stretch(part chainstore.Run) error {
	for next, end := uint64(part.From), uint64(part.Through)+1; next < end; {
		if err := s.goesOn(); err != nil {
			return err
		}
		if s.overdue() {
			if err := s.renew(); err != nil {
				return err
			}
		}
		at := chainstore.Place{Segment: part.Key, Seq: uint32(next)}
		n, err := s.cached(at, end-next)
		if err == nil && n == 0 {
			n, err = s.scanned(at, end-next)
		}
		if err != nil {
			return err
		}
		next += n
	}
	return nil
}

// cached yields the rows from a place on that lie in the cache, at most limit and none of another block, and tells how many
// those are.
func (s *rowScan) cached(at chainstore.Place, limit uint64) (n uint64, err error) {
	block := s.kept(at)
	if !block.Has(at.Seq) {
		return 0, nil
	}
	payloads := block.Payloads()
	for {
		head, from, to := block.Row(at.Seq)
		r, _, err := layout.ParseRow(head)
		if err != nil {
			return n, err
		}
		r.Payload = payloads[from:to:to]
		if err := s.pass(at, &r, payloads, from); err != nil {
			return n, err
		}
		at.Seq++
		if n++; n == limit || at.Seq%cache.BlockRows == 0 || !block.Has(at.Seq) {
			s.fill.Cache.Hit(n)
			return n, nil
		}
	}
}

// kept is what the cache has of the block of a place.
func (s *rowScan) kept(at chainstore.Place) *cache.Block {
	return s.fill.Cache.Get(s.v.Namespace, at, s.fill.Reader)
}

// scanned yields the rows from a place on from the database, at most limit, none of the place's block that the cache has and
// none behind the end of a block behind which the cache goes on, nor after the scan is overdue, and tells how many those are.
func (s *rowScan) scanned(at chainstore.Place, limit uint64) (n uint64, err error) {
	if n := s.kept(at).Before(at.Seq); n > 0 {
		limit = min(limit, uint64(n))
	}
	if s.cursor == nil {
		s.cursor = s.v.Iterate(s.prefix)
	}
	s.cursor.Seek(layout.PlaceKey(s.v.Namespace, layout.TableNodes, at))
	for {
		chunks, err := s.row(at)
		if n++; err != nil || n == limit {
			return n, err
		}
		if at = at.Next(); at.Seq%cache.BlockRows == 0 && s.kept(at).Has(at.Seq) || s.overdue() {
			return n, nil
		}
		if chunks > 0 && s.headersOnly {
			s.cursor.Seek(layout.PlaceKey(s.v.Namespace, layout.TableNodes, at))
		} else if chunks == 0 {
			s.cursor.Next()
		}
		if err := s.goesOn(); err != nil {
			return n, err
		}
	}
}

// goesOn is the error that ends a scan early.
func (s *rowScan) goesOn() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.v.s.Versions.IsShut() {
		return chainstore.ErrClosed
	}
	return nil
}

// row yields the row at the cursor, which must be that of a place. It leaves the cursor behind the row's chunks if it
// has any and they were read, else on the row.
func (s *rowScan) row(at chainstore.Place) (chunks int, err error) {
	c := s.cursor
	if !c.Valid() {
		return 0, layout.Dangling(layout.TableNodes)
	}
	found, chunk, err := layout.ParseNodeKey(c.Key())
	if err != nil {
		return 0, err
	}
	if found != at || chunk != 0 {
		return 0, layout.Dangling(layout.TableNodes)
	}
	err = c.Value(func(value []byte) error {
		r, present, err := layout.ParseRow(value)
		if err != nil {
			return err
		}
		if !present {
			return layout.Dangling(layout.TableNodes)
		}
		if chunks = r.Chunks; chunks == 0 {
			s.fill.Row(at, value, cache.Payload{Bytes: len(r.Payload), Behind: len(r.Details)})
		} else if !s.headersOnly {
			b := append(s.room(), value...)
			*s.scratch = b
			return nil
		}
		return s.pass(at, &r, nil, 0)
	})
	if err != nil || chunks == 0 || s.headersOnly {
		return chunks, err
	}
	return chunks, s.chunked(at)
}

// pass yields a row; kept is not nil where its payload lies in the cache, where rows do not change, from a byte of kept on.
func (s *rowScan) pass(at chainstore.Place, r *layout.Row, kept []byte, from int) error {
	s.out = chainstore.Row{Raw: r.Header, Seq: at.Seq, Shared: kept, SharedFrom: from}
	if !s.headersOnly {
		s.out.Payload, s.out.Metadata, s.out.Details = r.Payload, r.Metadata, r.Details
	}
	return s.yield(&s.out)
}

// chunked gathers what the chunks of the row in scratch hold, and yields it.
func (s *rowScan) chunked(at chainstore.Place) error {
	head := len(*s.scratch)
	r, _, err := layout.ParseRow(*s.scratch)
	if err != nil {
		return err
	}
	if *s.scratch, err = s.cursor.chunks(at, r.Chunks, *s.scratch); err != nil {
		return err
	}
	s.v.s.Copied.Add(uint64(len(*s.scratch)))
	if r, _, err = layout.ParseRow((*s.scratch)[:head]); err != nil {
		return err
	}
	if err := r.Gather((*s.scratch)[head:]); err != nil {
		return err
	}
	return s.pass(at, &r, nil, 0)
}

// chunks appends what lies in the chunks behind the row that the cursor is on, and leaves it behind them.
func (c *Cursor) chunks(at chainstore.Place, n int, b []byte) ([]byte, error) {
	c.Next()
	for i := 1; i <= n; i++ {
		if !c.Valid() || !bytes.Equal(c.Key(), layout.ChunkKey(c.V.Namespace, at, i)) {
			return b, fmt.Errorf("%w: a piece of a payload is missing", chainstore.ErrCorrupt)
		}
		err := c.Value(func(value []byte) error {
			b = append(b, value...)
			return nil
		})
		if err != nil {
			return b, err
		}
		c.Next()
	}
	return b, nil
}

// Whole reads the row at the cursor with all its payload, in memory of b, and leaves the cursor behind it.
func (c *Cursor) Whole(at chainstore.Place, b []byte) (r layout.Row, kept []byte, present bool, err error) {
	kept = b[:0]
	err = c.Value(func(value []byte) error {
		kept = append(kept, value...)
		return nil
	})
	if err != nil {
		c.Next()
		return r, kept, false, err
	}
	head := len(kept)
	if r, present, err = layout.ParseRow(kept); err != nil || !present {
		c.Next()
		return r, kept, false, err
	}
	chunks := r.Chunks
	if kept, err = c.chunks(at, chunks, kept); err != nil {
		return r, kept, false, err
	}
	r, _, err = layout.ParseRow(kept[:head:head])
	if err == nil && chunks > 0 {
		err = r.Gather(kept[head:])
	}
	return r, kept, err == nil, err
}
