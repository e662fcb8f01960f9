package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// ResolveAlias reads one alias.
func (t *transcripts) ResolveAlias(ctx context.Context, req *transcriptv1.ResolveAliasRequest) (*transcriptv1.ResolveAliasResponse, error) {
	if err := checkAlias("name", req.Name); err != nil {
		return nil, err
	}
	a, err := t.store.Alias(ctx, namespaceOf(req.Namespace), req.Name)
	if err != nil {
		return nil, missingFrom("name", err)
	}
	return &transcriptv1.ResolveAliasResponse{Alias: aliasInfo(a), Counters: chainCounters(a.Full, a.Effective)}, nil
}

func aliasInfo(a *chainstore.Alias) *transcriptv1.AliasInfo {
	return &transcriptv1.AliasInfo{
		Name: a.Name, NodeId: a.Node.String(), MovedAt: timestamp(a.MovedAt), Labels: a.Labels,
	}
}
