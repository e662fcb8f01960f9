package snapshot

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/derive"
)

// Headers reads the headers of the nodes of a chain with some Seqs, in their order: ErrCorrupt where the chain has no such node.
func (v *Snapshot) Headers(ctx context.Context, l *chainstore.Lineage, reader int64, seqs []uint32) ([]*chainstore.Header, error) {
	spans := make([]chainstore.Span, len(seqs))
	for i, seq := range seqs {
		if seq > l.Head.Seq {
			return nil, chainstore.NoRow(seq)
		}
		spans[i] = chainstore.Span{From: seq, Through: seq, HeadersOnly: true}
	}
	headers := make([]*chainstore.Header, 0, len(seqs))
	err := v.Rows(ctx, l, reader, spans, func(r *chainstore.Row) error {
		h, err := r.Header()
		headers = append(headers, h)
		return err
	})
	if err != nil {
		return nil, err
	}
	return headers, nil
}

// Compactions reads the headers of a chain's compaction nodes, nearest first, at most limit; nearest is the first, nil without one. The
// node before each names the next.
func (v *Snapshot) Compactions(ctx context.Context, l *chainstore.Lineage, reader int64, nearest *chainstore.Header, limit int) (headers []*chainstore.Header, more bool, err error) {
	s := headerScan{rowScan: v.scan(ctx, reader, nil)}
	defer s.close()
	s.prefix = layout.TableKey(v.Namespace, layout.TableNodes)
	for h := nearest; h != nil; {
		if len(headers) >= limit {
			return headers, true, nil
		}
		headers = append(headers, h)
		if h.Seq == 0 {
			break
		}
		before, err := s.header(l.Locate(h.Seq - 1))
		if err != nil {
			return nil, false, err
		}
		switch link := before.Compaction; {
		case !link.Present:
			h = nil
		case link.Seq == before.Seq:
			h = before
		default:
			if h, err = s.header(l.Locate(link.Seq)); err != nil {
				return nil, false, err
			}
		}
	}
	return headers, false, nil
}

// FirstWhere finds the first node of a chain behind a Seq where a header is right, and the one before it: galloping back from the head,
// which is known, then halving. Both are nil where the one at the Seq is right already, or the head is not. right stays true along the
// chain once it is.
func (v *Snapshot) FirstWhere(
	ctx context.Context, l *chainstore.Lineage, reader int64, from uint32, head *chainstore.Header, right func(*chainstore.Header) bool,
) (before, first *chainstore.Header, err error) {
	if from >= head.Seq || !right(head) {
		return nil, nil, nil
	}
	s := headerScan{rowScan: v.scan(ctx, reader, nil)}
	defer s.close()
	s.prefix = v.rowsPrefix(l, []chainstore.Span{{From: from, Through: head.Seq}})
	look := func(seq uint32) error {
		h, err := s.header(l.Locate(seq))
		switch {
		case err != nil:
		case right(h):
			first = h
		default:
			before = h
		}
		return err
	}
	first = head
	for step := uint32(1); before == nil; step *= 2 {
		if first.Seq == from {
			return nil, nil, nil
		}
		if err := look(first.Seq - min(step, first.Seq-from)); err != nil {
			return nil, nil, err
		}
	}
	for before.Seq+1 < first.Seq {
		if err := look(before.Seq + (first.Seq-before.Seq)/2); err != nil {
			return nil, nil, err
		}
	}
	return before, first, nil
}

// WithCalls reads the nodes of a chain through a Seq that have calls, latest first, at most limit. The node before each names the next.
func (v *Snapshot) WithCalls(
	ctx context.Context, l *chainstore.Lineage, reader int64, head *chainstore.Header, through uint32, limit int,
) (nodes []chainstore.CallNode, err error) {
	s := headerScan{rowScan: v.scan(ctx, reader, nil)}
	defer s.close()
	s.prefix = layout.TableKey(v.Namespace, layout.TableNodes)
	at := head
	if through < head.Seq {
		if at, err = s.header(l.Locate(through)); err != nil {
			return nil, err
		}
	}
	for at != nil && at.Tools.Present && len(nodes) < limit {
		n, err := s.withBefore(l, at.Tools.Seq)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
		at = n.Before
	}
	return nodes, nil
}

// headerScan reads headers one by one.
type headerScan struct{ *rowScan }

func (s headerScan) header(at chainstore.Place) (h *chainstore.Header, err error) {
	s.fill.Flush()
	s.headersOnly = true
	s.yield = func(r *chainstore.Row) error {
		h, err = r.Header()
		return err
	}
	err = s.stretch(chainstore.Run{Key: at.Segment, From: at.Seq, Through: at.Seq})
	return h, err
}

// withBefore reads the header of the node of a chain with a Seq, and that of the node before it.
func (s headerScan) withBefore(l *chainstore.Lineage, seq uint32) (n chainstore.CallNode, err error) {
	s.fill.Flush()
	s.headersOnly = true
	s.yield = func(r *chainstore.Row) error {
		h, err := r.Header()
		n.Before, n.Header = n.Header, h
		return err
	}
	for _, part := range l.Within(max(seq, 1)-1, seq) {
		if err := s.stretch(part); err != nil {
			return n, err
		}
	}
	return n, nil
}

// FoldHeaders reads one range for each fork.
func (v *Snapshot) FoldHeaders(ctx context.Context) derive.Headers {
	return func(l *chainstore.Lineage, from, through uint32, f func(*chainstore.Header) error) error {
		span := chainstore.Span{From: from, Through: through, HeadersOnly: true}
		return v.Rows(ctx, l, 0, []chainstore.Span{span}, func(r *chainstore.Row) error {
			h, err := r.Header()
			if err != nil {
				return err
			}
			return f(h)
		})
	}
}
