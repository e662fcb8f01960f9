package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Alias is a change of aliases alone.
func (t *transcripts) Alias(ctx context.Context, req *transcriptv1.AliasRequest) (*transcriptv1.AliasResponse, error) {
	switch n := len(req.Aliases); {
	case n == 0:
		return nil, invalidField("aliases", "must not be empty")
	case n > maxAliases:
		return nil, overLimit("aliases", "must be at most %d", maxAliases)
	}
	var d draft
	for i, a := range req.Aliases {
		field := indexed("aliases", i)
		ref, err := parseRef(field+".target", a.Target)
		if err != nil {
			return nil, err
		}
		if err := d.alias(field, a, chainstore.Target{Kind: chainstore.TargetRef, Ref: ref}); err != nil {
			return nil, err
		}
	}
	done, err := d.commit(ctx, t.store, req.Namespace)
	if err != nil {
		return nil, err
	}
	return &transcriptv1.AliasResponse{Aliases: d.results(done)}, nil
}
