package chainstore

import (
	"context"
	"errors"
	"maps"
)

// Restorer writes what an Exporter, of this store or another, gave of a namespace, but for nodes: these are put before, by Commit.
type Restorer interface {
	// Restore sets settings and aliases, with their histories and revisions, as they were exported, in a durable transaction as Commit does,
	// and returns how many aliases it set. An alias, and the settings, go forward alone: what is there with a lower revision is replaced, and
	// what is there as it was exported stays. The floor of revisions is at least that of the export. Quotas are not judged: what was there
	// may be there again. Errors: ErrNodeNotFound in a MissingError, whose Index is that of the alias; ErrSettingsChanged; ConflictError with
	// the kind HeadIs; ErrBadExport; those of Commit from ErrTooLarge on.
	Restore(ctx context.Context, namespace string, r *Restored) (set int, err error)
}

// Restored is what Restore sets of a namespace.
type Restored struct {
	// Settings of Revision 0 were never set: those that are there stay.
	Settings SettingsNow
	Floor    int64
	// Aliases name each alias at most once.
	Aliases []ExportedAlias
}

// ErrBadExport is the error of an alias that is not as an Exporter gives it. The server has judged it before.
var ErrBadExport = errors.New("an alias that no store exports")

// Judge is ErrBadExport where an alias has no states, or too many, where it begins with a deletion or has two in a row, or where
// revisions do not grow.
func (a *ExportedAlias) Judge() error {
	if len(a.States) == 0 || len(a.States) > MaxHistory || a.Name == "" || a.Revision < a.States[0].Revision || a.States[0].Deleted && len(a.Labels) > 0 {
		return ErrBadExport
	}
	for i := range a.States {
		s, first := &a.States[i], i == len(a.States)-1
		if s.Revision < 1 || s.At < 0 || s.Deleted && (first || a.States[i+1].Deleted) || !first && s.Revision <= a.States[i+1].Revision {
			return ErrBadExport
		}
	}
	return nil
}

// Over is how an alias goes over the one that is there, which began to be so at a time; a name that is forgotten is there yet, with its
// revision. It is set; or it stays, since it is as exported; or, where it does not hold, it went elsewhere.
func (a *ExportedAlias) Over(now *AliasNow, at int64) (set, holds bool) {
	last := &a.States[0]
	switch {
	case now.Revision < a.Revision:
		return true, true
	case now.Revision > a.Revision, now.Exists == last.Deleted, now.Exists && now.Head != last.Node, at != last.At:
		return false, false
	default:
		return false, maps.Equal(now.Labels, a.Labels)
	}
}

// Over is how settings go over those that are there: ErrSettingsChanged.
func (r *Restored) Over(now SettingsNow) (SettingsNow, error) {
	switch {
	case r.Settings.Revision == 0, now == r.Settings:
		return now, nil
	case now.Revision >= r.Settings.Revision:
		return now, ErrSettingsChanged
	default:
		return r.Settings, nil
	}
}

// Begun are states of an export that begin with one in which the alias was there: those behind a deletion whose own begin is not known.
func Begun(states []AliasState) []AliasState {
	if n := len(states); n > 1 && states[n-1].Deleted {
		return states[:n-1]
	}
	return states
}
