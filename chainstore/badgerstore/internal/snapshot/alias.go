package snapshot

import (
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
