package snapshot

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// AliasRow reads an alias, also a deleted one.
func (v *Snapshot) AliasRow(name string) (a *layout.AliasRow, found bool, err error) {
	found, err = v.Borrow(layout.AliasKey(v.Namespace, name), func(value []byte) error {
		a, err = layout.ParseAlias(value)
		return err
	})
	return a, found, err
}

// Alias reads an alias that exists: ErrAliasNotFound.
func (v *Snapshot) Alias(name string) (*layout.AliasRow, error) {
	a, found, err := v.AliasRow(name)
	if err == nil && (!found || a.Deleted) {
		err = chainstore.ErrAliasNotFound
	}
	return a, err
}

// PastStates reads the states that an alias left, latest first: those that are told of at a time, and those that are not any more and that
// nothing needs. A deletion that is forgotten is in neither: it tells that what came before it is. ErrCorrupt where two have one number, or one
// has a number that is yet to come.
func (v *Snapshot) PastStates(ctx context.Context, name string, a *layout.AliasRow, now int64) (told, untold []layout.PastState, err error) {
	if a.States <= 1 || a.Forgot {
		return nil, nil, nil
	}
	var past []layout.PastState
	prefix := layout.HistoryKey(v.Namespace, name, 0)
	prefix = prefix[:len(prefix)-1]
	_, _, err = v.Walk(ctx, prefix, nil, math.MaxInt, func(key, value []byte) error {
		if len(key) != len(prefix)+1 {
			return nil // of a longer name, were there one with a zero byte
		}
		st, err := layout.ParsePastState(value)
		past = append(past, st)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(past, func(a, b layout.PastState) int { return cmp.Compare(b.Number, a.Number) })
	next := layout.PastState{Deleted: a.Deleted, Number: a.States, Began: a.MovedAt}
	ends := chainstore.Forgotten(a.Deleted, a.MovedAt, now)
	for i, st := range past {
		switch {
		case st.Number >= next.Number:
			return nil, nil, layout.CorruptValue(layout.TableHistory)
		case ends || a.States-st.Number >= chainstore.MaxHistory || now-next.Began > chainstore.MaxHistoryAge:
			untold, ends = append(untold, st), true
		case chainstore.Forgotten(st.Deleted, st.Began, next.Began):
			ends = true
		default:
			told = past[:i+1]
		}
		next = st
	}
	return told, untold, nil
}

// LastLoop tells of the last run loop of the chain that ends at a place in a node with a header, and how many ancestors it read for that.
// It reads the fork path only where an ancestor has to be read and the chain has forks.
func (v *Snapshot) LastLoop(at chainstore.Place, head *chainstore.Header) (loop *chainstore.AliasLoop, rows int, err error) {
	var l *chainstore.Lineage
	loop, err = chainstore.LoopAt(head, func(seq uint32) (h *chainstore.Header, err error) {
		if l == nil {
			if l, err = v.lineage(at, head.Forks); err != nil {
				return nil, err
			}
		}
		rows++
		return v.HeaderAt(l.Locate(seq))
	})
	return loop, rows, err
}
