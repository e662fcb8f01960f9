package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// rowsWhile yields the rows of a span until yield wants no more.
func rowsWhile(ctx context.Context, chain chainstore.Chain, span chainstore.Span, yield func(*chainstore.Row) (more bool, err error)) error {
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

// putMessage decodes message i of a node.
func putMessage(h *chainstore.Header, i int, payload []byte) (*transcriptv1.Message, error) {
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

// readRow calls read with the row of a node of a chain, which is borrowed, and its header.
func readRow(ctx context.Context, chain chainstore.Chain, seq uint32, read func(*chainstore.Row, *chainstore.Header) error) error {
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
		err = noRow(seq)
	}
	return err
}

func noRow(seq uint32) error {
	return fmt.Errorf("%w: a path has no row %d", chainstore.ErrCorrupt, seq)
}

// messageAt reads and decodes one message of a chain.
func messageAt(ctx context.Context, chain chainstore.Chain, at runloop.Place) (m *transcriptv1.Message, err error) {
	err = readRow(ctx, chain, at.Seq, func(r *chainstore.Row, h *chainstore.Header) error {
		m, err = putMessage(h, int(at.Index), r.Payload)
		return err
	})
	return m, err
}
