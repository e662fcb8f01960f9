package badgerstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/collect"
)

// Collect deletes what nothing keeps; see chainstore.Collector.
func (s *Store) Collect(ctx context.Context, namespace string, c chainstore.Collection, report func(chainstore.Collected) error) error {
	queued := func() error { return report(chainstore.Collected{Phase: chainstore.CollectQueued}) }
	return s.collecting.Delete(ctx, queued, func() error {
		return collect.Collector{Source: s.source, Committer: s.committer, Gate: &s.gate, Report: report}.Collect(ctx, namespace, c)
	})
}

// Hold keeps nodes from being deleted; see chainstore.Collector.
func (s *Store) Hold(ctx context.Context) (release func(), err error) { return s.gate.Hold(ctx) }
