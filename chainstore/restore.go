package chainstore

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// Restorer writes what an Exporter, of this store or another, gave of a namespace, but for nodes: these are put before, by Commit.
type Restorer interface {
	// Restore sets settings and aliases, with their histories and revisions, as they were exported, in a durable transaction as Commit does,
	// and returns how many aliases it set. An alias, and the settings, go forward alone: an alias whose present state is of the past of the
	// exported one, and settings with a lower revision, are replaced, and what is there as it was exported stays. The floor of revisions is at least that of the export. Quotas are not judged: what was there
	// may be there again. Receipts are kept as if their nodes had been erased here and then collected; that of a node which has one stays. Errors: ErrNodeNotFound in a MissingError,
	// whose Index is that of the alias; ErrNotErased in one, whose Index is that of the receipt of a node that is there with its content; ErrTooLarge, also for more than MaxErased receipts; ErrSettingsChanged;
	// ConflictError with the kind HeadIs; ErrBadExport; those of Commit from ErrTooLarge on.
	Restore(ctx context.Context, namespace string, r *Restored) (set int, err error)
}

// Restored is what Restore sets of a namespace.
type Restored struct {
	// Settings of Revision 0 were never set: those that are there stay.
	Settings SettingsNow
	Floor    int64
	// Aliases name each alias at most once.
	Aliases []ExportedAlias
	// Receipts are those of nodes that were erased elsewhere.
	Receipts []KeptReceipt
}

// MaxRestoredRevision is the highest revision, of an alias or of settings, and the highest floor that Restore takes: there is room above it for
// more changes than a store will ever see.
const MaxRestoredRevision = 1 << 62

// ErrBadExport is the error of an alias that is not as an Exporter gives it. The server has judged it before.
var ErrBadExport = errors.New("an alias that no store exports")

// Judge is ErrBadExport where an alias has no states, or too many, where it begins with a deletion, which a forgotten one alone may be, or has two
// in a row, or where revisions do not grow.
func (a *ExportedAlias) Judge() error {
	if len(a.States) == 0 || len(a.States) > MaxHistory || a.Name == "" || a.Revision > MaxRestoredRevision || a.Revision < a.States[0].Revision || a.States[0].Deleted && len(a.Labels) > 0 {
		return ErrBadExport
	}
	for i := range a.States {
		s, first := &a.States[i], i == len(a.States)-1
		if s.Revision < 1 || s.At < 0 || s.Deleted && (first && i > 0 || !first && a.States[i+1].Deleted) || !first && s.Revision <= a.States[i+1].Revision {
			return ErrBadExport
		}
	}
	return nil
}

// Over is how an alias goes over the one that is there, whose present state is given, a deletion for one that is deleted; a name that is
// forgotten is there yet, with its revision. It is set where it never was set, or where what is there is of its own past: its present state is
// one of those exported, or came before the oldest of them. It stays where it is as exported. Where it does not hold, it went elsewhere.
func (a *ExportedAlias) Over(now *AliasNow, present *AliasState) (set, holds bool) {
	switch {
	case now.Revision == 0:
		return true, true
	case now.Revision < a.Revision:
		past := a.isPast(present)
		return past, past
	default:
		return false, now.Revision == a.Revision && *present == a.States[0] && maps.Equal(now.Labels, a.Labels)
	}
}

// isPast tells whether a state is one of those exported, or came before them: of those, no more is known than that there were some.
func (a *ExportedAlias) isPast(present *AliasState) bool {
	oldest := &a.States[len(a.States)-1]
	return slices.Contains(a.States, *present) || present.Revision < oldest.Revision && present.At <= oldest.At && oldest.Revision > 1
}

// Over is how settings go over those that are there: ErrSettingsChanged; ErrBadExport for a revision, or a floor, that is out of bounds.
func (r *Restored) Over(now SettingsNow) (SettingsNow, error) {
	switch {
	case r.Floor < 0, r.Floor > MaxRestoredRevision, r.Settings.Revision < 0, r.Settings.Revision > MaxRestoredRevision:
		return now, ErrBadExport
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
