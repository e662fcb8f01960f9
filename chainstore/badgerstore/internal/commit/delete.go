package commit

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// DeleteNamespace takes a name and its number back, and tells whether the name had one; see chainstore.NamespaceKeeper. It is alone, so that no
// change of the same batch has what is known of the namespace. What is kept for deletes may be taken for it.
func (c *Committer) DeleteNamespace(ctx context.Context, namespace string) (deleted bool, err error) {
	found := false
	_, err = c.submit(ctx, &Request{Namespace: namespace, Change: &chainstore.Change{}, alone: true, own: func(d *changeTxn) (err error) {
		found, err = d.deleteNamespace(namespace)
		return err
	}})
	if err != nil {
		return false, err // found may yet change
	}
	return found, nil
}

func (d *changeTxn) deleteNamespace(namespace string) (found bool, err error) {
	number, found, err := d.view.NumberOf(namespace)
	if err != nil || !found {
		return false, err
	}
	d.gone = number
	d.delete(layout.NameKey(namespace))
	d.set(layout.GoneKey(number), layout.NumberValue(uint64(d.now)))
	leaving := layout.Purge{Number: d.view.Seen + 1, Kind: layout.PurgeNamespace, At: d.now, Namespace: number}
	d.set(leaving.Key(), leaving.Value())
	return true, errors.Join(d.require(layout.FeatureGone), d.require(layout.FeaturePurges))
}
