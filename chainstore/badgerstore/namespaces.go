package badgerstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// Namespaces lists names; see chainstore.NamespaceKeeper.
func (s *Store) Namespaces(ctx context.Context, q chainstore.NamespaceQuery) (names []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	if q.Limit <= 0 {
		return nil, nil
	}
	err = v.Names(ctx, q.Prefix, q.After, func(name string, _ uint32) error {
		if names = append(names, name); len(names) == q.Limit {
			return snapshot.ErrStop
		}
		return nil
	})
	return names, err
}

// Settings reads a namespace's; see chainstore.NamespaceKeeper.
func (s *Store) Settings(ctx context.Context, namespace string) (now chainstore.SettingsNow, err error) {
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		row, err := v.Settings()
		now = row.SettingsNow
		return err
	})
	return now, err
}

// SetSettings replaces a namespace's; see chainstore.NamespaceKeeper.
func (s *Store) SetSettings(ctx context.Context, namespace string, change chainstore.SettingsChange) (chainstore.SettingsNow, error) {
	if err := ctx.Err(); err != nil {
		return chainstore.SettingsNow{}, err
	}
	return s.committer.SetSettings(ctx, namespace, change)
}

// DeleteNamespace takes its name and its number back; see chainstore.NamespaceKeeper. Its rows stay in the files until they are purged.
func (s *Store) DeleteNamespace(ctx context.Context, namespace string, may func(context.Context) error) (deleted bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	defer s.purger.tell() // it may have deleted, whatever it tells
	err = s.gate.Delete(ctx, nil, func() error {
		if may != nil {
			if err := may(ctx); err != nil {
				return err
			}
		}
		deleted, err = s.committer.DeleteNamespace(ctx, namespace)
		return err
	})
	return deleted, err
}
