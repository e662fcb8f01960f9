package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/retention"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// NamespaceStats counts a namespace, and tells its settings.
func (a *admin) NamespaceStats(ctx context.Context, req *transcriptv1.NamespaceStatsRequest) (*transcriptv1.NamespaceStatsResponse, error) {
	namespace := wire.Namespace(req.Namespace)
	s, err := a.store.Stats(ctx, namespace)
	if err != nil {
		return nil, err
	}
	now, err := a.store.Settings(ctx, namespace)
	if err != nil {
		return nil, err
	}
	settings, err := namespaceSettings(&now)
	if err != nil {
		return nil, err
	}
	return &transcriptv1.NamespaceStatsResponse{
		Nodes: s.Nodes, Messages: s.Messages, MessageBytes: s.MessageBytes, Aliases: s.Aliases, Roots: s.Roots, Forks: s.Forks,
		Settings: settings, SettingsRevision: now.Revision,
	}, nil
}

// namespaceSettings are settings; nil where they were never set.
func namespaceSettings(now *chainstore.SettingsNow) (*transcriptv1.NamespaceSettings, error) {
	if now.Revision == 0 {
		return nil, nil
	}
	return retention.Settings(&now.Settings)
}
