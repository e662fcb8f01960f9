package badgerstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// Erase writes the rows of nodes anew; see chainstore.Eraser. The database has the rows of before until they are purged.
func (s *Store) Erase(ctx context.Context, namespace string, nodes []chainstore.ErasedNode) (erased int, err error) {
	defer s.purger.tell() // it may have erased, whatever it tells
	return s.committer.Erase(ctx, namespace, nodes)
}

// EraseLabels writes the rows of aliases anew; see chainstore.Eraser.
func (s *Store) EraseLabels(ctx context.Context, namespace string, names []string) (had int, err error) {
	had, err = s.committer.EraseLabels(ctx, namespace, names)
	s.purger.tell()
	return had, err
}

// Receipt reads it; see chainstore.Eraser.
func (s *Store) Receipt(ctx context.Context, namespace string, id chainstore.ID) (receipt chainstore.Receipt, err error) {
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		found := false
		key := layout.ReceiptKey(v.Namespace, id)
		receipt.Bytes, found, err = v.Get(key)
		if err == nil && !found {
			err = chainstore.ErrNotErased
		}
		if err == nil {
			receipt.PurgedAt, err = purgedAt(v, key)
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

// purgedAt is when what was erased with a receipt had left the files: the commit that wrote the receipt is the number of the purge.
func purgedAt(v *snapshot.Snapshot, receipt []byte) (at int64, err error) {
	number, _, err := v.Version(receipt)
	if err != nil {
		return 0, err
	}
	_, err = v.Borrow(layout.PurgedKey(number), func(value []byte) error {
		n, err := layout.ParseNumber(value, layout.TablePurges)
		at = max(int64(n), 1)
		return err
	})
	return at, err
}

// Purging reads what is left to purge; see chainstore.Eraser.
func (s *Store) Purging(ctx context.Context) (p chainstore.Purging, err error) {
	if err := ctx.Err(); err != nil {
		return p, err
	}
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		return p, err
	}
	defer v.Close()
	err = leaving(ctx, v, func(one layout.Purge) { count(&p, &one) })
	return p, err
}

// SigningKey reads it, and lets the committer draw it where there is none; see chainstore.Eraser.
func (s *Store) SigningKey(ctx context.Context) (chainstore.Secret, error) {
	seed, found, err := s.signingKey(ctx)
	if err != nil || found {
		return seed, err
	}
	if err := s.committer.MakeSigningKey(ctx); err != nil {
		return seed, err
	}
	seed, _, err = s.signingKey(ctx)
	return seed, err
}

func (s *Store) signingKey(ctx context.Context) (seed chainstore.Secret, found bool, err error) {
	if err := ctx.Err(); err != nil {
		return seed, false, err
	}
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		return seed, false, err
	}
	defer v.Close()
	found, err = v.Borrow(layout.SigningKey(), func(value []byte) error {
		seed, err = layout.ParseSigning(value)
		return err
	})
	return seed, found, err
}
