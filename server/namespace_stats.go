package server

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// NamespaceStats counts a namespace.
func (a *admin) NamespaceStats(ctx context.Context, req *transcriptv1.NamespaceStatsRequest) (*transcriptv1.NamespaceStatsResponse, error) {
	s, err := a.store.Stats(ctx, wire.Namespace(req.Namespace))
	if err != nil {
		return nil, err
	}
	return &transcriptv1.NamespaceStatsResponse{
		Nodes: s.Nodes, Messages: s.Messages, MessageBytes: s.MessageBytes, Aliases: s.Aliases, Roots: s.Roots, Forks: s.Forks,
	}, nil
}
