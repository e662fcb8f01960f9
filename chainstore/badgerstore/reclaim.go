package badgerstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// Space looks at some places of the tables; see chainstore.Reclaimer.
func (s *Store) Space(ctx context.Context) (space chainstore.Space, err error) {
	err = s.source.Read(ctx, "", func(*snapshot.Snapshot) error {
		found, err := s.source.DB.Space(ctx, badgerdb.DefaultSpaceSamples)
		space = chainstore.Space{Files: found.Tables, Dead: found.Dead}
		return err
	})
	return space, err
}

// Reclaim makes tables of what is in memory, and merges all tables into the last level; see chainstore.Reclaimer.
func (s *Store) Reclaim(ctx context.Context) error {
	log, err := s.committer.Turn(ctx)
	if err != nil {
		return err
	}
	if err := s.source.DB.Flushed(ctx, log); err != nil && !errors.Is(err, badgerdb.ErrHeld) { // a read is open: what it needs stays
		return fmt.Errorf("reclaim: %w", err)
	}
	return s.source.DB.Reclaim(ctx)
}
