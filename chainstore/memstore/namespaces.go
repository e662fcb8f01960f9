package memstore

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Namespaces lists names; see chainstore.NamespaceKeeper.
func (s *Store) Namespaces(ctx context.Context, q chainstore.NamespaceQuery) ([]string, error) {
	_, unlock, err := s.read(ctx, "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.namespaces)), func(name string) bool {
		return name <= q.After || !strings.HasPrefix(name, q.Prefix)
	})
	return names[:min(len(names), q.Limit)], nil
}

// Settings reads a namespace's; see chainstore.NamespaceKeeper.
func (s *Store) Settings(ctx context.Context, name string) (chainstore.SettingsNow, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return chainstore.SettingsNow{}, err
	}
	defer unlock()
	return ns.settings, nil
}

// SetSettings replaces a namespace's; see chainstore.NamespaceKeeper.
func (s *Store) SetSettings(ctx context.Context, name string, change chainstore.SettingsChange) (chainstore.SettingsNow, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return chainstore.SettingsNow{}, err
	}
	defer unlock()
	after, err := change.After(ns.settings)
	if err != nil {
		return chainstore.SettingsNow{}, err
	}
	ns.settings = after
	s.keep(name, ns)
	return after, nil
}

// DeleteNamespace drops it; see chainstore.NamespaceKeeper.
func (s *Store) DeleteNamespace(ctx context.Context, name string, may func(context.Context) error) (deleted bool, err error) {
	err = s.gate.Delete(ctx, nil, func() error {
		if may != nil {
			if err := may(ctx); err != nil {
				return err
			}
		}
		ns, unlock, err := s.read(ctx, name)
		if err != nil {
			return err
		}
		defer unlock()
		if deleted = s.namespaces[name] != nil; deleted {
			delete(s.namespaces, name)
			ns.gone = true
			s.point++
		}
		return nil
	})
	return deleted, err
}
