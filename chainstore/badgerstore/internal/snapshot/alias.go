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
