package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/retention"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// SetNamespace replaces the settings of a namespace.
func (a *admin) SetNamespace(ctx context.Context, req *transcriptv1.SetNamespaceRequest) (*transcriptv1.SetNamespaceResponse, error) {
	change, err := parseSettings(req)
	if err != nil {
		return nil, err
	}
	var now chainstore.SettingsNow
	err = a.keeper.Change(ctx, func() (err error) {
		now, err = a.store.SetSettings(ctx, wire.Namespace(req.Namespace), change)
		return err
	})
	if err != nil {
		return nil, err
	}
	settings, err := retention.Settings(&now.Settings)
	if err != nil {
		return nil, err
	}
	return &transcriptv1.SetNamespaceResponse{Settings: settings, Revision: now.Revision}, nil
}

// parseSettings reads what is to be set, and on which condition.
func parseSettings(req *transcriptv1.SetNamespaceRequest) (c chainstore.SettingsChange, err error) {
	if req.Settings == nil {
		return c, wire.InvalidField("settings", "must be set: they replace those of the namespace as a whole")
	}
	if c.Settings, err = retention.Parse("settings", req.Settings); err != nil {
		return c, err
	}
	if req.Revision != nil {
		if c.Conditioned, c.Revision = true, *req.Revision; c.Revision < 0 {
			return c, wire.InvalidField("revision", "must not be negative; 0 is that of settings that were never set")
		}
	}
	return c, nil
}
