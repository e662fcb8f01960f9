package server

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/change"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// DeleteAlias is a change that deletes one alias.
func (t *transcripts) DeleteAlias(ctx context.Context, req *transcriptv1.DeleteAliasRequest) (*transcriptv1.DeleteAliasResponse, error) {
	if err := wire.CheckAlias("name", req.Name); err != nil {
		return nil, err
	}
	condition, err := wire.ParseCondition("precondition", req.Precondition, true)
	if err != nil {
		return nil, err
	}
	done, err := change.Deletion(req.Name, condition, req.ForgetHistory).Commit(ctx, t.store, req.Namespace)
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.DeleteAliasResponse{Deleted: done.Aliases[0].Changed, Revision: done.Aliases[0].Revision}
	if reply.Deleted {
		reply.PreviousId = done.Aliases[0].Previous.String()
	}
	return reply, nil
}
