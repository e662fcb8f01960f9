package chainview

import (
	"context"
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// RowsWhile yields the rows of a span until yield wants no more.
func RowsWhile(ctx context.Context, chain chainstore.Chain, span chainstore.Span, yield func(*chainstore.Row) (more bool, err error)) error {
	return while(yield, func(each func(*chainstore.Row) error) error { return chain.Rows(ctx, []chainstore.Span{span}, each) })
}

// ReadWhile is ReadAll until yield wants no more.
func ReadWhile(ctx context.Context, chain chainstore.Chain, spans []chainstore.Span, yield func(*chainstore.Row) (more bool, err error)) error {
	return while(yield, func(each func(*chainstore.Row) error) error { return ReadAll(ctx, chain, spans, each) })
}

// while lets read yield rows until yield wants no more.
func while(yield func(*chainstore.Row) (more bool, err error), read func(each func(*chainstore.Row) error) error) error {
	enough := errors.New("enough")
	err := read(func(row *chainstore.Row) error {
		more, err := yield(row)
		if err == nil && !more {
			err = enough
		}
		return err
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// ReadAll yields every row of spans, span after span: chainstore.ErrCorrupt where one does not come.
func ReadAll(ctx context.Context, chain chainstore.Chain, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	came := int64(0)
	err := chain.Rows(ctx, spans, func(row *chainstore.Row) error {
		came++
		return yield(row)
	})
	for i := 0; i < len(spans) && err == nil; i++ {
		if n := int64(spans[i].Through) + 1 - int64(spans[i].From); n > 0 {
			err = Reached(spans[i], spans[i].From+uint32(min(came, n)))
			came -= n
		}
	}
	return err
}

// DecodeMessage decodes message i of a node.
func DecodeMessage(h *chainstore.Header, i int, payload []byte) (*transcriptv1.Message, error) {
	offset := 0
	for k := range i {
		offset += h.Messages[k].Length
	}
	b, err := entry(payload, offset, h.Messages[i].Length)
	if err != nil {
		return nil, err
	}
	messages, err := canonical.DecodePayload(b)
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(chainstore.ErrCorrupt, err)
	}
	return messages[0], nil
}

// ReadRow calls read with the row of a node of a chain, which is borrowed, and its header.
func ReadRow(ctx context.Context, chain chainstore.Chain, seq uint32, read func(*chainstore.Row, *chainstore.Header) error) error {
	found := false
	err := chain.Rows(ctx, []chainstore.Span{{From: seq, Through: seq}}, func(r *chainstore.Row) error {
		found = true
		h, err := r.Header()
		if err != nil {
			return err
		}
		return read(r, h)
	})
	if err == nil && !found {
		err = chainstore.NoRow(seq)
	}
	return err
}

// MessageAt reads and decodes one message of a chain.
func MessageAt(ctx context.Context, chain chainstore.Chain, at runloop.Place) (m *transcriptv1.Message, err error) {
	err = ReadRow(ctx, chain, at.Seq, func(r *chainstore.Row, h *chainstore.Header) error {
		m, err = DecodeMessage(h, int(at.Index), r.Payload)
		return err
	})
	return m, err
}

// idSpan is one row, read for its id.
func idSpan(seq uint32) chainstore.Span {
	return chainstore.Span{From: seq, Through: seq, HeadersOnly: true}
}

// IDsAt are the ids of nodes of a chain, in the order of their Seqs as given.
func IDsAt(ctx context.Context, chain chainstore.Chain, seqs ...uint32) (ids []chainstore.ID, err error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	spans := make([]chainstore.Span, len(seqs))
	for i, seq := range seqs {
		spans[i] = idSpan(seq)
	}
	err = ReadAll(ctx, chain, spans, func(row *chainstore.Row) error {
		ids = append(ids, row.Raw.ID())
		return nil
	})
	return ids, err
}

// entry is a message of a payload.
func entry(payload []byte, offset, length int) ([]byte, error) {
	if length <= 0 || offset > len(payload)-length {
		return nil, fmt.Errorf("%w: the lengths in the header do not add up to the payload", chainstore.ErrCorrupt)
	}
	return payload[offset : offset+length], nil
}

// Reached tells whether all rows of a span came; next is the Seq behind the last that did.
func Reached(span chainstore.Span, next uint32) error {
	if next > span.Through {
		return nil
	}
	return fmt.Errorf("%w: a path ends before row %d, and has %d", chainstore.ErrCorrupt, next, span.Through)
}
