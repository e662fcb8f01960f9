package commit

import (
	"context"
	"crypto/rand"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// MakeTokenKey makes a key of page tokens, unless none is due by then. Errors are those of Commit. What is kept for deletes may be
// taken for it.
func (c *Committer) MakeTokenKey(ctx context.Context) error {
	_, err := c.submit(ctx, &Request{Change: &chainstore.Change{}, tokenKey: true})
	return err
}

// makeTokenKey writes the keys anew where one is due.
func (d *changeTxn) makeTokenKey() error {
	value, found, err := d.get(layout.TokenKeysKey())
	if err != nil {
		return err
	}
	var keys layout.TokenKeys
	if found {
		if keys, err = layout.ParseTokenKeys(value); err != nil {
			return err
		}
	}
	if !keys.Due(d.now) {
		return nil
	}
	var secret chainstore.Secret
	_, _ = rand.Read(secret[:]) // it ends the program where it cannot
	keys.TokenKeys = keys.Next(d.now, secret)
	d.set(layout.TokenKeysKey(), layout.AppendTokenKeys(nil, &keys))
	return nil
}
