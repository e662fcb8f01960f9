package commit

import (
	"context"
	"crypto/rand"

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

// newEra is one from behind the state that the store was opened in.
func (c *Committer) newEra() layout.Era {
	era := layout.Era{From: c.opened + 1}
	_, _ = rand.Read(era.ID[:]) // never fails
	return era
}

// beginEra adds a new era to the first batch since the store was opened, where it notes them.
func (b *batch) beginEra() {
	c := b.c
	if c.begun {
		return
	}
	if eras := c.source.Eras.Load(); eras != nil {
		b.writes[string(layout.ErasKey())] = Write{Value: layout.AppendEras(nil, eras.With(c.newEra()))}
	}
}

// keepEras takes what a batch that is durable wrote of eras.
func (b *batch) keepEras() {
	if w, ok := b.writes[string(layout.ErasKey())]; ok {
		if eras, err := layout.ParseEras(w.Value); err == nil {
			b.c.source.Eras.Store(&eras)
		}
	}
	b.c.begun = true
}
