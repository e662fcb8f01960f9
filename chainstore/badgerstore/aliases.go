package badgerstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// Alias returns an alias; see chainstore.AliasReader.
func (s *Store) Alias(ctx context.Context, namespace, name string) (out *chainstore.Alias, err error) {
	now := s.millis()
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		a, found, err := v.AliasRow(name)
		switch {
		case err != nil:
			return err
		case !found, a.IsForgotten(now):
			return chainstore.ErrAliasNotFound
		case a.Deleted:
			return deleted(v, name, a)
		}
		head, err := v.HeaderAt(a.At)
		if err == nil {
			out = show(name, a, head)
		}
		return err
	})
	return out, err
}

// deleted tells of an alias that was deleted, with the state that it left then.
func deleted(v *snapshot.Snapshot, name string, a *layout.AliasRow) error {
	out := &chainstore.DeletedError{Revision: a.Revision, At: a.MovedAt}
	found, err := v.Borrow(layout.HistoryKey(v.Namespace, name, a.States-1), func(value []byte) error {
		st, err := layout.ParsePastState(value)
		if err == nil {
			out.Head, err = v.IDAt(st.At)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !found:
		return layout.Missing(layout.TableHistory)
	default:
		return out
	}
}

// show is an alias with what the header of its head tells.
func show(name string, a *layout.AliasRow, head *chainstore.Header) *chainstore.Alias {
	return &chainstore.Alias{
		Name: name, Node: head.ID, MovedAt: a.MovedAt, Labels: a.Labels, Revision: a.Revision,
		Full: head.State.Full.Totals, Effective: head.State.Effective.Totals,
	}
}

// Aliases walks over one of two indexes; see chainstore.AliasReader.
func (s *Store) Aliases(ctx context.Context, namespace string, q chainstore.AliasQuery) (page []chainstore.Alias, next *chainstore.AliasCursor, err error) {
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		if q.Limit <= 0 {
			return nil
		}
		p := &aliasPage{Snapshot: v, query: &q}
		if q.ByFolder {
			next, err = p.folder(ctx)
		} else {
			next, err = p.prefix(ctx)
		}
		page = p.aliases
		return err
	})
	return page, next, err
}

// aliasPage is a page of aliases under way.
type aliasPage struct {
	*snapshot.Snapshot
	query   *chainstore.AliasQuery
	aliases []chainstore.Alias
	// size is the Size of all, heads how many heads were looked at, and rows how many of their ancestors.
	size, heads, rows int
}

func (p *aliasPage) full() bool {
	q := p.query
	return len(p.aliases) == q.Limit || q.Bytes > 0 && p.size >= q.Bytes || q.OpenOnly && p.heads == chainstore.LoopReach ||
		p.rows >= chainstore.AliasReach
}

// walk looks at the rows with a prefix in the order of the query, behind one.
func (p *aliasPage) walk(ctx context.Context, prefix, behind []byte, f func(key, value []byte) error) (last []byte, more bool, err error) {
	if p.query.Reverse {
		return p.WalkBack(ctx, prefix, behind, chainstore.AliasReach, f)
	}
	return p.Walk(ctx, prefix, behind, chainstore.AliasReach, f)
}

func (p *aliasPage) prefix(ctx context.Context) (*chainstore.AliasCursor, error) {
	q := p.query
	var behind []byte
	if q.After != nil {
		behind = layout.AliasKey(p.Namespace, q.After.Name)
	}
	last, more, err := p.walk(ctx, layout.AliasKey(p.Namespace, q.Prefix), behind, func(key, value []byte) error {
		a, err := layout.ParseAlias(value)
		if err != nil {
			return err
		}
		return p.add(layout.ParseAliasKey(key), a)
	})
	if err != nil || !more {
		return nil, err
	}
	return &chainstore.AliasCursor{Name: layout.ParseAliasKey(last)}, nil
}

func (p *aliasPage) folder(ctx context.Context) (*chainstore.AliasCursor, error) {
	q := p.query
	var behind []byte
	if q.After != nil && chainstore.IsUnder(q.After.Name, q.Folder) {
		behind = layout.MovedKey(p.Namespace, q.Folder, q.After.Name, q.After.MovedAt)
	}
	last, more, err := p.walk(ctx, layout.FolderKey(p.Namespace, q.Folder), behind, func(key, _ []byte) error {
		if p.full() {
			return snapshot.ErrStop
		}
		_, name, _, err := layout.ParseMovedKey(key)
		if err != nil {
			return err
		}
		a, found, err := p.AliasRow(name)
		if err == nil && !found {
			err = layout.Dangling(layout.TableMoved)
		}
		if err != nil {
			return err
		}
		return p.add(name, a)
	})
	if err != nil || !more {
		return nil, err
	}
	_, name, movedAt, err := layout.ParseMovedKey(last)
	return &chainstore.AliasCursor{Name: name, MovedAt: movedAt}, err
}

// add takes an alias into the page, unless it was deleted; errStop: the page is full.
func (p *aliasPage) add(name string, a *layout.AliasRow) error {
	if a.Deleted {
		return nil
	}
	if p.full() {
		return snapshot.ErrStop
	}
	head, err := p.HeaderAt(a.At)
	if p.heads++; err != nil || p.query.OpenOnly && !head.State.Full.Loop.Open() {
		return err
	}
	shown := show(name, a, head)
	if p.query.Loops {
		var rows int
		if shown.Loop, rows, err = p.LastLoop(a.At, head); err != nil {
			return err
		}
		p.rows += rows
	}
	p.aliases, p.size = append(p.aliases, *shown), p.size+shown.Size()
	return nil
}

// aliasesOf walks over the aliases of a node.
func aliasesOf(ctx context.Context, v *snapshot.Snapshot, at chainstore.Place, limit int) (names []string, more bool, err error) {
	_, more, err = v.Walk(ctx, layout.PlaceKey(v.Namespace, layout.TableHeads, at), nil, chainstore.AliasReach, func(key, _ []byte) error {
		if len(names) >= limit {
			return snapshot.ErrStop
		}
		names = append(names, string(key[layout.RowKeySize:]))
		return nil
	})
	return names, more, err
}

// AliasHistory reads the present state and those it left; see chainstore.AliasReader.
func (s *Store) AliasHistory(ctx context.Context, namespace, name string) (states []chainstore.AliasState, err error) {
	now := s.millis()
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		a, found, err := v.AliasRow(name)
		if err != nil {
			return err
		}
		if !found || a.IsForgotten(now) {
			return chainstore.ErrAliasNotFound
		}
		states, err = aliasStates(ctx, v, name, a, now)
		return err
	})
	return states, err
}

// aliasStates are the present state of an alias and those it left, as far as they are told.
func aliasStates(ctx context.Context, v *snapshot.Snapshot, name string, a *layout.AliasRow, now int64) (states []chainstore.AliasState, err error) {
	told, _, err := v.PastStates(ctx, name, a, now)
	if err != nil {
		return nil, err
	}
	present := layout.PastState{Deleted: a.Deleted, Number: a.States, Began: a.MovedAt, At: a.At, Revision: a.Began}
	for _, st := range append([]layout.PastState{present}, told...) {
		shown, err := stateOf(v, &st)
		if err != nil {
			return nil, err
		}
		states = append(states, shown)
	}
	return states, nil
}

func stateOf(v *snapshot.Snapshot, st *layout.PastState) (chainstore.AliasState, error) {
	out := chainstore.AliasState{Revision: st.Revision, Deleted: st.Deleted, At: st.Began}
	if st.Deleted {
		return out, nil
	}
	var err error
	out.Node, err = v.IDAt(st.At)
	return out, err
}

// DeletedAliases walks over the rows of aliases; see chainstore.AliasReader.
func (s *Store) DeletedAliases(
	ctx context.Context, namespace, prefix, after string, limit int,
) (page []chainstore.DeletedAlias, next string, err error) {
	now := s.millis()
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		var behind []byte
		if after != "" {
			behind = layout.AliasKey(v.Namespace, after)
		}
		last, more, err := v.Walk(ctx, layout.AliasKey(v.Namespace, prefix), behind, chainstore.AliasReach, func(key, value []byte) error {
			a, err := layout.ParseAlias(value)
			switch {
			case err != nil || !a.Deleted || a.IsForgotten(now):
				return err
			case len(page) >= limit:
				return snapshot.ErrStop
			}
			page = append(page, chainstore.DeletedAlias{Name: layout.ParseAliasKey(key), Revision: a.Revision, At: a.MovedAt})
			return nil
		})
		if err == nil && more && len(last) > 0 {
			next = layout.ParseAliasKey(last)
		}
		return err
	})
	return page, next, err
}
