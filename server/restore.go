package server

import (
	"context"
	"errors"
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/change"
	"github.com/transcriptd/transcriptd/server/internal/retention"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Restore sets settings and aliases as an archive has them.
func (a *admin) Restore(ctx context.Context, req *transcriptv1.RestoreRequest) (*transcriptv1.RestoreResponse, error) {
	r, err := parseRestored(req)
	if err != nil {
		return nil, err
	}
	set, namespace := 0, wire.Namespace(req.Namespace)
	does := func() (err error) {
		set, err = a.store.Restore(ctx, namespace, r)
		return err
	}
	keeps := func(rules retention.Rules) error { return a.keepsHeld(ctx, namespace, rules, r) }
	if r.Settings.Revision > 0 {
		err = a.keeper.Change(ctx, func() error {
			rules, err := a.keeper.Rules(ctx, namespace)
			if err == nil {
				err = keeps(rules)
			}
			if err != nil {
				return err
			}
			return does()
		})
	} else {
		err = a.keeper.Delete(ctx, namespace, keeps, does)
	}
	var conflict *chainstore.ConflictError
	var missing *chainstore.MissingError
	switch {
	case errors.As(err, &conflict):
		c := &change.Conflicts{ConflictError: conflict}
		for i := range req.Aliases {
			c.Fields = append(c.Fields, wire.Indexed("aliases", i))
		}
		return nil, c
	case errors.As(err, &missing) && errors.Is(err, chainstore.ErrNotErased):
		return nil, wire.InvalidField(wire.Indexed("receipts", missing.Index), "must not be of a node that is there with its content: put what is left of that with PutArchivedNodes")
	case errors.As(err, &missing):
		return nil, &wire.Missing{Field: wire.Indexed("aliases", missing.Index) + ".states", Err: missing}
	case err != nil:
		return nil, err
	}
	return &transcriptv1.RestoreResponse{AliasesSet: int64(set)}, nil
}

// keepsHeld is a HeldError where an alias that is held has a state that the archived one has not: it would be forgotten.
func (a *admin) keepsHeld(ctx context.Context, namespace string, rules retention.Rules, r *chainstore.Restored) error {
	for i := range r.Aliases {
		archived := &r.Aliases[i]
		refused := rules.Refuse(namespace, wire.Indexed("aliases", i)+".states", archived.Name)
		if refused == nil {
			continue
		}
		history, err := a.store.AliasHistory(ctx, namespace, archived.Name)
		if err != nil && !errors.Is(err, chainstore.ErrAliasNotFound) {
			return err
		}
		for _, state := range history {
			if !slices.Contains(archived.States, state) {
				return refused
			}
		}
	}
	return nil
}

func parseRestored(req *transcriptv1.RestoreRequest) (*chainstore.Restored, error) {
	if len(req.Aliases) > wire.MaxAliases {
		return nil, wire.OverLimit("aliases", "must be at most %d", wire.MaxAliases)
	}
	if len(req.Receipts) > chainstore.MaxErased {
		return nil, wire.OverLimit("receipts", "must be at most %d", chainstore.MaxErased)
	}
	r := &chainstore.Restored{}
	for i, kept := range req.Receipts {
		receipt, err := canonical.ParseReceipt(kept)
		if err != nil {
			return nil, wire.Under(wire.Indexed("receipts", i), err)
		}
		r.Receipts = append(r.Receipts, chainstore.KeptReceipt{ID: chainstore.ID(receipt.NodeId), Bytes: kept})
	}
	if err := parseArchivedNamespace(r, req.Archived); err != nil {
		return nil, err
	}
	states, named := 0, map[string]bool{}
	for i, in := range req.Aliases {
		field := wire.Indexed("aliases", i)
		if states += len(in.GetStates()); states > wire.MaxStates {
			return nil, wire.OverLimit("aliases", "must have at most %d states in all", wire.MaxStates)
		}
		one, err := parseArchivedAlias(field, in)
		if err != nil {
			return nil, err
		}
		if named[one.Name] {
			return nil, wire.InvalidField(field+".name", "must not be that of another alias of the request")
		}
		named[one.Name] = true
		r.Aliases = append(r.Aliases, *one)
	}
	return r, nil
}

func parseArchivedNamespace(r *chainstore.Restored, in *transcriptv1.ArchiveNamespace) error {
	s := in.GetSettings()
	switch {
	case in.GetSettingsRevision() < 0, in.GetSettingsRevision() > chainstore.MaxRestoredRevision:
		return wire.InvalidField("archived.settings_revision", "must be 0 to 2^62")
	case in.GetRevisionFloor() < 0, in.GetRevisionFloor() > chainstore.MaxRestoredRevision:
		return wire.InvalidField("archived.revision_floor", "must be 0 to 2^62")
	case in.GetNumber() < 0:
		return wire.InvalidField("archived.number", "must not be negative")
	case (s != nil) != (in.GetSettingsRevision() > 0):
		return wire.InvalidField("archived.settings_revision", "must be set with settings, and only with them")
	}
	r.Floor, r.Settings.Revision = in.GetRevisionFloor(), in.GetSettingsRevision()
	var err error
	r.Settings.Settings, err = retention.Parse("archived.settings", s)
	return err
}

func parseArchivedAlias(field string, in *transcriptv1.ArchiveAlias) (*chainstore.ExportedAlias, error) {
	if err := wire.CheckAlias(field+".name", in.GetName()); err != nil {
		return nil, err
	}
	if err := wire.CheckLabels(field+".labels", in.GetLabels()); err != nil {
		return nil, err
	}
	switch n := len(in.GetStates()); {
	case n == 0:
		return nil, wire.InvalidField(field+".states", "must not be empty")
	case n > chainstore.MaxHistory:
		return nil, wire.OverLimit(field+".states", "must be at most %d", chainstore.MaxHistory)
	}
	out := &chainstore.ExportedAlias{Name: in.GetName(), Labels: in.GetLabels(), Revision: in.GetRevision()}
	out.States = make([]chainstore.AliasState, len(in.States))
	for i, s := range in.States {
		at, ok := wire.Milliseconds(s.GetBeganAt())
		state, field := chainstore.AliasState{Revision: s.GetRevision(), Deleted: len(s.GetNode()) == 0, At: at}, wire.Indexed(field+".states", i)
		switch {
		case !ok:
			return nil, wire.InvalidField(field+".began_at", "must be a time from 1970 to 9999")
		case !state.Deleted && len(s.GetNode()) != len(state.Node):
			return nil, wire.InvalidField(field+".node", "must be an id of 32 bytes, or empty for a deletion")
		case state.Deleted && (i == 0 && len(in.States) > 1 || i > 0 && len(in.States[i-1].GetNode()) == 0):
			return nil, wire.InvalidField(field+".node", "must not be empty, but behind a state in which the alias was there")
		case state.Revision < 1 || i > 0 && state.Revision <= in.States[i-1].GetRevision():
			return nil, wire.InvalidField(field+".revision", "must be 1 or more, and more than that of the state before")
		}
		copy(state.Node[:], s.GetNode())
		out.States[len(in.States)-1-i] = state
	}
	last := &out.States[0]
	switch {
	case out.Revision < last.Revision, out.Revision > chainstore.MaxRestoredRevision:
		return nil, wire.InvalidField(field+".revision", "must not be less than that of the last state, and at most 2^62")
	case last.Deleted && len(out.Labels) > 0:
		return nil, wire.InvalidField(field+".labels", "must be empty for an alias that was deleted")
	}
	return out, out.Judge()
}
