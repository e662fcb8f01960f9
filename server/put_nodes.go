package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/change"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// PutNodes is a change of all its nodes and aliases.
func (t *transcripts) PutNodes(ctx context.Context, req *transcriptv1.PutNodesRequest) (*transcriptv1.PutNodesResponse, error) {
	if err := wire.CheckCount("nodes", len(req.Nodes), wire.MaxNodes); err != nil {
		return nil, err
	}
	var d change.Builder
	for i, n := range req.Nodes {
		field := wire.Indexed("nodes", i)
		parent, err := parseNewParent(field, n, i == 0)
		if err != nil {
			return nil, err
		}
		if err := d.Node(field, n, parent); err != nil {
			return nil, err
		}
	}
	done, err := d.Commit(ctx, t.store, req.Namespace)
	if err != nil {
		return nil, err
	}
	return &transcriptv1.PutNodesResponse{Nodes: d.Replies(done)}, nil
}

func parseNewParent(field string, n *transcriptv1.NewNode, first bool) (chainstore.Parent, error) {
	switch {
	case !n.Previous:
		return change.ParseParent(field+".parent", n.Parent)
	case first:
		return chainstore.Parent{}, wire.InvalidField(field+".previous", "must not be set on the first node")
	case n.Parent != nil:
		return chainstore.Parent{}, wire.InvalidField(field+".previous", "must not be set together with parent")
	default:
		return chainstore.Parent{Kind: chainstore.ParentPrevious}, nil
	}
}
