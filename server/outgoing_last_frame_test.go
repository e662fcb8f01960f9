package server

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// lending is a store that lends its rows from memory that never changes.
type lending struct{ chainstore.Store }

func (s lending) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	chain, err := s.Store.Chain(ctx, namespace, head, after)
	return lentChain{chain}, err
}

type lentChain struct{ chainstore.Chain }

func (c lentChain) Rows(ctx context.Context, spans []chainstore.Span, visit func(*chainstore.Row) error) error {
	return c.Chain.Rows(ctx, spans, func(row *chainstore.Row) error {
		own := *row
		own.Shared = slices.Clone(row.Payload)
		own.Payload = own.Shared
		return visit(&own)
	})
}

// The last frame of a stream has room until it is sent, also where its messages lie where the store keeps them.
func TestRoomOfTheLastFrame(t *testing.T) {
	replying(t, func(c *crowd) {
		c.store.Store = lending{c.store.Store}
		const bytes = 1 << 20
		head := c.chainOf(1, bytes)
		stream, err := c.StreamAssemble(c.Context(), &transcriptv1.StreamAssembleRequest{Head: idRef(head)})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if held := c.metric("transcriptd_server_replies_bytes"); held < bytes {
			t.Errorf("a frame of %d bytes is not sent, and %g are held", bytes, held)
		}
		for err == nil {
			_, err = stream.Recv()
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
}
