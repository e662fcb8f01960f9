package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// flushFor is how long Reclaim waits for reads that hold what was in memory.
const flushFor = 30 * time.Second

// Reclaim makes tables of what is in memory, and merges all tables into the last level; see chainstore.Reclaimer.
func (s *Store) Reclaim(ctx context.Context) error { return s.merges.reclaim(ctx, s.reclaim) }

func (s *Store) reclaim(ctx context.Context) error {
	log, err := s.committer.Turn(ctx)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, flushFor)
	defer cancel()
	err = s.source.DB.Flushed(waiting, log)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(err, badgerdb.ErrHeld): // else a read is open, and what it needs stays
		return fmt.Errorf("reclaim: %w", err)
	default:
		return s.source.DB.Reclaim(ctx)
	}
}
