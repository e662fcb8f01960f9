package memstore

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Restore sets settings and aliases as they were exported; see chainstore.Restorer.
func (s *Store) Restore(ctx context.Context, name string, r *chainstore.Restored) (set int, err error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for i := range r.Aliases {
		if err := r.Aliases[i].Judge(); err != nil {
			return 0, err
		}
		for _, st := range r.Aliases[i].States {
			if !st.Deleted && ns.nodes[st.Node] == nil {
				return 0, &chainstore.MissingError{Err: chainstore.ErrNodeNotFound, Index: i}
			}
		}
	}
	settings, err := r.Over(ns.settings)
	if err != nil {
		return 0, err
	}
	receipts, err := ns.restoredReceipts(r)
	if err != nil {
		return 0, err
	}
	var due []*chainstore.ExportedAlias
	var failed []chainstore.Conflict
	for i := range r.Aliases {
		a := ns.aliases[r.Aliases[i].Name]
		now := chainstore.AliasNow{Exists: a.exists(), Head: a.head()}
		if a != nil {
			now.Revision, now.Labels = a.revision, a.labels
		}
		present := a.present()
		switch set, holds := r.Aliases[i].Over(&now, &present); {
		case set:
			due = append(due, &r.Aliases[i])
		case !holds:
			head := ns.nodes[now.Head]
			failed = append(failed, chainstore.Conflict{
				Index: i, Kind: chainstore.HeadIs, Exists: now.Exists, Node: now.Head, Revision: now.Revision, Compaction: head != nil && head.compaction != nil,
			})
		}
	}
	if failed != nil {
		return 0, &chainstore.ConflictError{Conflicts: failed}
	}
	if settings == ns.settings && len(due) == 0 && len(receipts) == 0 && r.Floor <= ns.floor {
		return 0, nil
	}
	s.nameRestored(ns, r)
	s.point++
	ns.settings, ns.floor = settings, max(ns.floor, r.Floor)
	for _, a := range due {
		states := slices.Clone(a.States)
		slices.Reverse(states)
		ns.aliases[a.Name] = &alias{name: a.Name, labels: maps.Clone(a.Labels), states: states, revision: a.Revision, changed: s.point}
	}
	for id, given := range receipts {
		ns.receipts[id] = receipt{given, s.millis(), s.point}
	}
	if len(receipts) > 0 {
		ns.erasures = chainstore.NextErasures(ns.erasures, s.millis(), uint64(s.point))
	}
	s.keep(name, ns)
	return len(due), nil
}

// restoredReceipts are those that are to be kept: ErrTooLarge, or a MissingError of one whose node is there with its content.
func (ns *namespace) restoredReceipts(r *chainstore.Restored) (map[chainstore.ID][]byte, error) {
	if len(r.Receipts) > chainstore.MaxErased {
		return nil, chainstore.ErrTooLarge
	}
	due := map[chainstore.ID][]byte{}
	for i := range r.Receipts {
		kept := &r.Receipts[i]
		_, there := ns.receipts[kept.ID]
		_, twice := due[kept.ID]
		switch {
		case there || twice:
		case ns.nodes[kept.ID] != nil:
			return nil, &chainstore.MissingError{Err: chainstore.ErrNotErased, Index: i}
		default:
			due[kept.ID] = bytes.Clone(kept.Bytes)
		}
	}
	return due, nil
}
