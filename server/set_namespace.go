package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// SetNamespace replaces the settings of a namespace.
func (a *admin) SetNamespace(ctx context.Context, req *transcriptv1.SetNamespaceRequest) (*transcriptv1.SetNamespaceResponse, error) {
	change, err := parseSettings(req)
	if err != nil {
		return nil, err
	}
	now, err := a.store.SetSettings(ctx, wire.Namespace(req.Namespace), change)
	if err != nil {
		return nil, err
	}
	return &transcriptv1.SetNamespaceResponse{Settings: namespaceSettings(&now), Revision: now.Revision}, nil
}

// parseSettings reads what is to be set, and on which condition.
func parseSettings(req *transcriptv1.SetNamespaceRequest) (c chainstore.SettingsChange, err error) {
	if req.Settings == nil {
		return c, wire.InvalidField("settings", "must be set: they replace those of the namespace as a whole")
	}
	if c.Settings, err = parseQuotas("settings", req.Settings); err != nil {
		return c, err
	}
	if req.Revision != nil {
		if c.Conditioned, c.Revision = true, *req.Revision; c.Revision < 0 {
			return c, wire.InvalidField("revision", "must not be negative; 0 is that of settings that were never set")
		}
	}
	return c, nil
}

// parseQuotas reads settings, which are a field of the request.
func parseQuotas(field string, s *transcriptv1.NamespaceSettings) (chainstore.Settings, error) {
	out := chainstore.Settings{MaxNodes: s.GetMaxNodes(), MaxMessageBytes: s.GetMaxMessageBytes(), MaxAliases: s.GetMaxAliases()}
	for _, quota := range []struct {
		field string
		n     int64
	}{{"max_nodes", out.MaxNodes}, {"max_message_bytes", out.MaxMessageBytes}, {"max_aliases", out.MaxAliases}} {
		if quota.n < 0 {
			return out, wire.InvalidField(field+"."+quota.field, "must not be negative; 0 is no limit")
		}
	}
	return out, nil
}
