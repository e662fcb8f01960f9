package commit

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// Erase takes the content of nodes away; see chainstore.Eraser. It is alone, so that no change of the same batch has what is known of them. It names
// none of them: a collection may delete them. What is kept for deletes may be taken for it.
func (c *Committer) Erase(ctx context.Context, namespace string, nodes []chainstore.ErasedNode) (erased int, err error) {
	if err := ctx.Err(); err != nil || len(nodes) == 0 {
		return 0, err
	}
	if len(nodes) > chainstore.MaxErased {
		return 0, fmt.Errorf("%w: %d nodes to erase, more than %d", chainstore.ErrTooLarge, len(nodes), chainstore.MaxErased)
	}
	done := 0
	r := &Request{Namespace: namespace, Change: &chainstore.Change{}, alone: true, own: func(d *changeTxn) (err error) {
		done, err = d.eraseAll(namespace, nodes)
		return err
	}}
	for i := range nodes {
		r.held += sizeOfErased(&nodes[i])
	}
	if _, err := c.submit(ctx, r); err != nil {
		return 0, err // done may yet change
	}
	return done, nil
}

// sizeOfErased is what it holds, roughly.
func sizeOfErased(n *chainstore.ErasedNode) int64 {
	size := 256 + len(n.Payload) + len(n.Receipt)
	for i := range n.Facts {
		size += sizeOfFacts(&n.Facts[i])
	}
	for i := range n.Variables {
		size += 24 + len(n.Variables[i].Name)
	}
	return int64(size)
}

func (d *changeTxn) eraseAll(namespace string, nodes []chainstore.ErasedNode) (erased int, err error) {
	if err := d.enter(namespace); err != nil {
		return 0, err
	}
	for i := range nodes {
		at, found, err := d.view.PlaceOf(nodes[i].ID)
		if err == nil && !found {
			err = &chainstore.MissingError{Err: chainstore.ErrNodeNotFound, Index: i}
		}
		if err != nil {
			return 0, err
		}
		if _, err := d.erase(at, &nodes[i]); err != nil {
			return 0, err
		}
	}
	if len(d.erased) > 0 {
		d.set(layout.CountersKey(d.ns), layout.AppendCounters(nil, &d.counters))
	}
	return len(d.erased), nil
}
