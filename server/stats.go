package server

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Stats counts a namespace.
func (a *admin) Stats(ctx context.Context, req *transcriptv1.StatsRequest) (*transcriptv1.StatsResponse, error) {
	s, err := a.store.Stats(ctx, wire.Namespace(req.Namespace))
	if err != nil {
		return nil, err
	}
	info := a.store.Info()
	return &transcriptv1.StatsResponse{
		ServerVersion: a.version, Engine: info.Engine, StoreFormat: int32(info.Format), DiskBytes: s.DiskBytes,
		Nodes: s.Nodes, Messages: s.Messages, MessageBytes: s.MessageBytes, Aliases: s.Aliases,
		Roots: s.Roots, Forks: s.Forks,
	}, nil
}
