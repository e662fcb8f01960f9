package badgerstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Restore sets settings and aliases as they were exported; see chainstore.Restorer.
func (s *Store) Restore(ctx context.Context, namespace string, r *chainstore.Restored) (set int, err error) {
	return s.committer.Restore(ctx, namespace, r)
}
