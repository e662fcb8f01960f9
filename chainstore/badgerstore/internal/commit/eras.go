package commit

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// NoteEras has the store note its eras from now on: whoever opens it begins another with its first commit. So two histories that go on from copies
// of one store can be told apart.
func (c *Committer) NoteEras(ctx context.Context) error {
	if c.source.Eras.Load() != nil {
		return nil
	}
	_, err := c.submit(ctx, &Request{Change: &chainstore.Change{}, own: func(d *changeTxn) error {
		if _, found, err := d.get(layout.ErasKey()); err != nil || found {
			return err
		}
		d.set(layout.ErasKey(), layout.AppendEras(nil, layout.Eras{c.newEra()}))
		d.settled = true // the header is read again
		return d.nameFeature(layout.FeatureEras)
	}})
	return err
}
