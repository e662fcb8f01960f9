package memstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Space is none: there are no files.
func (s *Store) Space(ctx context.Context) (chainstore.Space, error) {
	return chainstore.Space{}, ctx.Err()
}

// Reclaim does nothing: what is deleted takes no space.
func (s *Store) Reclaim(ctx context.Context) error { return ctx.Err() }
