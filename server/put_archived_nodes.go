package server

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/change"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// PutArchivedNodes is a change of nodes that were put elsewhere.
func (t *transcripts) PutArchivedNodes(ctx context.Context, req *transcriptv1.PutArchivedNodesRequest) (*transcriptv1.PutArchivedNodesResponse, error) {
	if err := wire.CheckCount("nodes", len(req.Nodes), wire.MaxNodes); err != nil {
		return nil, err
	}
	var d change.Builder
	for i, n := range req.Nodes {
		if err := d.Archived(wire.Indexed("nodes", i), n); err != nil {
			return nil, err
		}
	}
	namespace := wire.Namespace(req.Namespace)
	done, err := d.CommitArchived(ctx, t.store, req.Namespace, func(taken *change.Taken, commit func() error) error {
		release, err := t.store.Hold(ctx) // while it looks and commits, the namespace is not deleted and begun anew
		if err != nil {
			return err
		}
		defer release()
		holds := t.keeper.Erasing(namespace, func(held int) string { return taken.Fields[held] })
		defer holds.End()
		return holds.Erase(ctx, taken.IDs, commit)
	})
	if err != nil {
		return nil, err
	}
	return &transcriptv1.PutArchivedNodesResponse{Nodes: d.Replies(done)}, nil
}
