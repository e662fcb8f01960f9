package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// PutNode is a change of one node and the aliases set to it.
func (t *transcripts) PutNode(ctx context.Context, req *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
	parent, err := parseParent("parent", req.Parent)
	if err != nil {
		return nil, err
	}
	var d draft
	if err := d.node("", req, parent); err != nil {
		return nil, err
	}
	done, err := d.commit(ctx, t.store, req.Namespace)
	if err != nil {
		return nil, err
	}
	return d.replies(done)[0], nil
}

// parseParent reads a parent that may be absent.
func parseParent(field string, ref *transcriptv1.NodeRef) (chainstore.Parent, error) {
	if ref == nil {
		return chainstore.Parent{Kind: chainstore.NoParent}, nil
	}
	r, err := wire.ParseRef(field, ref)
	switch {
	case err != nil:
		return chainstore.Parent{}, err
	case r.Alias != "":
		return chainstore.Parent{Kind: chainstore.ParentAlias, Alias: r.Alias}, nil
	default:
		return chainstore.Parent{Kind: chainstore.ParentID, ID: r.ID}, nil
	}
}
