package badgerstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// Erase writes the rows of nodes anew; see chainstore.Eraser. The database keeps the rows of before until its tables are merged.
func (s *Store) Erase(ctx context.Context, namespace string, nodes []chainstore.ErasedNode) (erased int, err error) {
	return s.committer.Erase(ctx, namespace, nodes)
}

// Receipt reads it; see chainstore.Eraser.
func (s *Store) Receipt(ctx context.Context, namespace string, id chainstore.ID) (receipt []byte, err error) {
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		found := false
		receipt, found, err = v.Get(layout.ReceiptKey(v.Namespace, id))
		if err == nil && !found {
			err = chainstore.ErrNotErased
		}
		return err
	})
	return receipt, err
}

// Erasures reads the counters, of a store in which anything was erased; see chainstore.Eraser.
func (s *Store) Erasures(ctx context.Context, namespace string) (erasures uint64, err error) {
	if !s.source.Header.Load().Has(layout.FeatureErasure) {
		return 0, ctx.Err()
	}
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		c, err := v.Counters()
		erasures = c.Erasures
		return err
	})
	return erasures, err
}
