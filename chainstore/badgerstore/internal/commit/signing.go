package commit

import (
	"context"
	"crypto/rand"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// MakeSigningKey draws the key that receipts are signed with, unless there is one. Where the store's header says that there was, and it is gone,
// another would be another store's: ErrCorrupt. Here alone key and header are of one commit. Errors are those of Commit.
func (c *Committer) MakeSigningKey(ctx context.Context) error {
	_, err := c.submit(ctx, &Request{Change: &chainstore.Change{}, own: func(d *changeTxn) error {
		if _, found, err := d.get(layout.SigningKey()); err != nil || found {
			return err
		}
		if d.c.source.Header.Load().Has(layout.FeatureSigning) {
			return layout.CorruptValue(layout.TableSigning)
		}
		var seed chainstore.Secret
		_, _ = rand.Read(seed[:]) // it ends the program where it cannot
		d.set(layout.SigningKey(), seed[:])
		return d.require(layout.FeatureSigning)
	}})
	return err
}
