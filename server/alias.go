package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/change"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Alias is a change of aliases alone.
func (t *transcripts) Alias(ctx context.Context, req *transcriptv1.AliasRequest) (*transcriptv1.AliasResponse, error) {
	if err := wire.CheckCount("aliases", len(req.Aliases), wire.MaxAliases); err != nil {
		return nil, err
	}
	var d change.Builder
	for i, a := range req.Aliases {
		field := wire.Indexed("aliases", i)
		target, err := parseTarget(field+".target", a)
		if err != nil {
			return nil, err
		}
		if err := d.Alias(field, a, target); err != nil {
			return nil, err
		}
	}
	done, err := d.Commit(ctx, t.store, req.Namespace)
	if err != nil {
		return nil, err
	}
	return &transcriptv1.AliasResponse{Aliases: d.Results(done)}, nil
}

// parseTarget is what becomes of an alias.
func parseTarget(field string, a *transcriptv1.AliasMove) (chainstore.Target, error) {
	if a.GetDelete() {
		if a.Target != nil {
			return chainstore.Target{}, wire.InvalidField(field, "must not be set with delete")
		}
		return chainstore.Target{Kind: chainstore.TargetNone}, nil
	}
	ref, err := wire.ParseRef(field, a.GetTarget())
	return chainstore.Target{Kind: chainstore.TargetRef, Ref: ref}, err
}
