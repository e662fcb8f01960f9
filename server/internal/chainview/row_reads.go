package chainview

import (
	"context"
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// RowsWhile yields the rows of a span until yield wants no more.
func RowsWhile(ctx context.Context, chain chainstore.Chain, span chainstore.Span, yield func(*chainstore.Row) (more bool, err error)) error {
	enough := errors.New("enough")
	err := chain.Rows(ctx, span, func(row *chainstore.Row) error {
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
	err := chain.Rows(ctx, chainstore.Span{From: seq, Through: seq}, func(r *chainstore.Row) error {
		found = true
		h, err := r.Header()
		if err != nil {
			return err
		}
		return read(r, h)
	})
	if err == nil && !found {
		err = NoRow(seq)
	}
	return err
}

// NoRow is the error where a chain lacks a row.
func NoRow(seq uint32) error {
	return fmt.Errorf("%w: a path has no row %d", chainstore.ErrCorrupt, seq)
}

// MessageAt reads and decodes one message of a chain.
func MessageAt(ctx context.Context, chain chainstore.Chain, at runloop.Place) (m *transcriptv1.Message, err error) {
	err = ReadRow(ctx, chain, at.Seq, func(r *chainstore.Row, h *chainstore.Header) error {
		m, err = DecodeMessage(h, int(at.Index), r.Payload)
		return err
	})
	return m, err
}

// LinksOf looks up the links of a node of a chain.
func LinksOf(ctx context.Context, chain chainstore.Chain, h *chainstore.Header) (l wire.Links, err error) {
	if h.Seq > 0 {
		if l.Parent, err = IDAt(ctx, chain, h.Seq-1); err != nil {
			return l, err
		}
	}
	if h.Covers.Present {
		l.Covers, err = IDAt(ctx, chain, h.Covers.Seq)
	}
	return l, err
}

// IDAt is the id of a node of a chain.
func IDAt(ctx context.Context, chain chainstore.Chain, seq uint32) (*chainstore.ID, error) {
	if h := chain.Head(); h.Seq == seq {
		return &h.ID, nil
	}
	var id *chainstore.ID
	err := chain.Rows(ctx, chainstore.Span{From: seq, Through: seq, HeadersOnly: true}, func(row *chainstore.Row) error {
		found := row.Raw.ID()
		id = &found
		return nil
	})
	if err == nil && id == nil {
		err = NoRow(seq)
	}
	return id, err
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
