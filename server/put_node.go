package server

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/change"
)

// PutNode is a change of one node and the aliases set to it.
func (t *transcripts) PutNode(ctx context.Context, req *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
	parent, err := change.ParseParent("parent", req.Parent)
	if err != nil {
		return nil, err
	}
	var d change.Builder
	if err := d.Node("", req, parent); err != nil {
		return nil, err
	}
	done, err := d.Commit(ctx, t.store, req.Namespace)
	if err != nil {
		return nil, err
	}
	return d.Replies(done)[0], nil
}
