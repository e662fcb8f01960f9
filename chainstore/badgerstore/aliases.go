package badgerstore

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// aliasRow reads an alias, also a deleted one.
func (v *view) aliasRow(name string) (a *layout.AliasRow, found bool, err error) {
	found, err = v.borrow(layout.AliasKey(v.ns, name), func(value []byte) error {
		a, err = layout.ParseAlias(value)
		return err
	})
	return a, found, err
}

// alias reads an alias that exists: ErrAliasNotFound.
func (v *view) alias(name string) (*layout.AliasRow, error) {
	a, found, err := v.aliasRow(name)
	if err == nil && (!found || a.Deleted) {
		err = chainstore.ErrAliasNotFound
	}
	return a, err
}

// Alias returns an alias; see chainstore.AliasReader.
func (s *Store) Alias(ctx context.Context, namespace, name string) (out *chainstore.Alias, err error) {
	err = s.read(ctx, namespace, func(v *view) error {
		a, err := v.alias(name)
		if err != nil {
			return err
		}
		out, err = v.show(name, a)
		return err
	})
	return out, err
}

// show is an alias with what the row of its head tells.
func (v *view) show(name string, a *layout.AliasRow) (*chainstore.Alias, error) {
	h, err := v.header(a.At)
	if err != nil {
		return nil, err
	}
	return &chainstore.Alias{
		Name: name, Node: h.ID, MovedAt: a.MovedAt, Labels: a.Labels,
		Full: h.State.Full.Totals, Effective: h.State.Effective.Totals,
	}, nil
}

// Aliases walks over one of two indexes; see chainstore.AliasReader.
func (s *Store) Aliases(ctx context.Context, namespace string, q chainstore.AliasQuery) (page []chainstore.Alias, next *chainstore.AliasCursor, err error) {
	err = s.read(ctx, namespace, func(v *view) error {
		if q.Limit <= 0 {
			return nil
		}
		p := &aliasPage{view: v, query: &q}
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
	*view
	query   *chainstore.AliasQuery
	aliases []chainstore.Alias
	size    int
}

func (p *aliasPage) full() bool {
	return len(p.aliases) == p.query.Limit || p.query.Bytes > 0 && p.size >= p.query.Bytes
}

func (p *aliasPage) prefix(ctx context.Context) (*chainstore.AliasCursor, error) {
	q := p.query
	prefix, from := layout.AliasKey(p.ns, q.Prefix), []byte(nil)
	if q.After != nil && q.After.Name >= q.Prefix {
		from = append(layout.AliasKey(p.ns, q.After.Name), 0)
	}
	last, more, err := p.walk(ctx, prefix, from, chainstore.AliasReach, func(key, value []byte) error {
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
	prefix, from := layout.FolderKey(p.ns, q.Folder), []byte(nil)
	if q.After != nil && chainstore.Folder(q.After.Name) == q.Folder {
		from = append(layout.MovedKey(p.ns, q.After.Name, q.After.MovedAt), 0)
	}
	last, more, err := p.walk(ctx, prefix, from, chainstore.AliasReach, func(key, _ []byte) error {
		if p.full() {
			return errStop
		}
		name, _, err := layout.ParseMovedKey(key, q.Folder)
		if err != nil {
			return err
		}
		a, found, err := p.aliasRow(name)
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
	name, movedAt, err := layout.ParseMovedKey(last, q.Folder)
	return &chainstore.AliasCursor{Name: name, MovedAt: movedAt}, err
}

// add takes an alias into the page, unless it was deleted; errStop: the page is full.
func (p *aliasPage) add(name string, a *layout.AliasRow) error {
	if a.Deleted {
		return nil
	}
	if p.full() {
		return errStop
	}
	shown, err := p.show(name, a)
	if err == nil {
		p.aliases, p.size = append(p.aliases, *shown), p.size+shown.Size()
	}
	return err
}

// AliasesOf walks over the aliases of a node; see chainstore.AliasReader.
func (s *Store) AliasesOf(ctx context.Context, namespace string, node chainstore.ID, limit int) (names []string, more bool, err error) {
	err = s.read(ctx, namespace, func(v *view) error {
		at, found, err := v.placeOf(node)
		if err != nil || !found {
			return err
		}
		_, more, err = v.walk(ctx, layout.PlaceKey(v.ns, layout.TableHeads, at), nil, chainstore.AliasReach, func(key, _ []byte) error {
			if len(names) >= limit {
				return errStop
			}
			names = append(names, string(key[layout.RowKeySize:]))
			return nil
		})
		return err
	})
	return names, more, err
}

// AliasHistory reads the present state and those it left; see chainstore.AliasReader.
func (s *Store) AliasHistory(ctx context.Context, namespace, name string) (states []chainstore.AliasState, err error) {
	now := s.millis()
	err = s.read(ctx, namespace, func(v *view) error {
		a, found, err := v.aliasRow(name)
		if err != nil {
			return err
		}
		if !found {
			return chainstore.ErrAliasNotFound
		}
		past, err := v.pastStates(ctx, name, a.States)
		if err != nil {
			return err
		}
		st := layout.PastState{Deleted: a.Deleted, Number: a.States, Began: a.MovedAt, At: a.At}
		for {
			shown, err := v.state(&st)
			if err != nil {
				return err
			}
			states = append(states, shown)
			if len(past) == 0 || len(states) == chainstore.MaxHistory || now-st.Began > chainstore.MaxHistoryAge {
				return nil
			}
			st, past = past[0], past[1:]
		}
	})
	return states, err
}

// pastStates reads the states of an alias before its present one, latest first: ErrCorrupt where two have one number, or one has
// a number that is yet to come.
func (v *view) pastStates(ctx context.Context, name string, present uint64) (past []layout.PastState, err error) {
	if present <= 1 {
		return nil, nil
	}
	prefix := layout.HistoryKey(v.ns, name, 0)
	prefix = prefix[:len(prefix)-1]
	_, _, err = v.walk(ctx, prefix, nil, math.MaxInt, func(key, value []byte) error {
		if len(key) != len(prefix)+1 {
			return nil // of a longer name, were there one with a zero byte
		}
		st, err := layout.ParsePastState(value)
		past = append(past, st)
		return err
	})
	slices.SortFunc(past, func(a, b layout.PastState) int { return cmp.Compare(b.Number, a.Number) })
	for _, st := range past {
		if err == nil && st.Number >= present {
			err = layout.CorruptValue(layout.TableHistory)
		}
		present = st.Number
	}
	return past, err
}

func (v *view) state(st *layout.PastState) (chainstore.AliasState, error) {
	out := chainstore.AliasState{Number: st.Number, Deleted: st.Deleted, At: st.Began}
	if st.Deleted {
		return out, nil
	}
	var err error
	out.Node, err = v.idAt(st.At)
	return out, err
}
