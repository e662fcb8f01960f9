package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// ResolveAlias reads one alias.
func (t *transcripts) ResolveAlias(ctx context.Context, req *transcriptv1.ResolveAliasRequest) (*transcriptv1.ResolveAliasResponse, error) {
	if err := wire.CheckAlias("name", req.Name); err != nil {
		return nil, err
	}
	a, err := t.store.Alias(ctx, wire.Namespace(req.Namespace), req.Name)
	if err != nil {
		return nil, wire.MissingFrom("name", err)
	}
	return &transcriptv1.ResolveAliasResponse{Alias: aliasInfo(a), Counters: wire.ChainCounters(a.Full, a.Effective)}, nil
}

func aliasInfo(a *chainstore.Alias) *transcriptv1.AliasInfo {
	return &transcriptv1.AliasInfo{
		Name: a.Name, NodeId: a.Node.String(), MovedAt: wire.Timestamp(a.MovedAt), Labels: a.Labels, Loop: aliasLoop(a.Loop),
		Revision: a.Revision,
	}
}
