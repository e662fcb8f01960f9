package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/change"
	"github.com/transcriptd/transcriptd/server/internal/retention"
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
	var done *chainstore.Committed
	err = t.forgetting(ctx, req.Namespace, req.ForgetHistory, func(r retention.Rules) error {
		return r.Refuse(wire.Namespace(req.Namespace), "name", req.Name)
	}, func() (err error) {
		done, err = change.Deletion(req.Name, condition, req.ForgetHistory).Commit(ctx, t.store, req.Namespace)
		return err
	})
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.DeleteAliasResponse{Deleted: done.Aliases[0].Changed, Revision: done.Aliases[0].Revision}
	if reply.Deleted {
		reply.PreviousId = done.Aliases[0].Previous.String()
	}
	return reply, nil
}

// forgetting runs a deletion, which judge refuses where it forgets what is held.
func (t *transcripts) forgetting(ctx context.Context, namespace string, forgets bool, judge func(retention.Rules) error, f func() error) error {
	if !forgets {
		return f()
	}
	return t.keeper.Delete(ctx, wire.Namespace(namespace), judge, f)
}
