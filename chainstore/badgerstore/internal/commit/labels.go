package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// errNoAlias is that there is nothing whose labels are to go.
var errNoAlias = errors.New("no such alias")

// EraseLabels takes the labels from aliases; see chainstore.Eraser. It is alone, so that its number is that of the commit. What is kept for deletes may
// be taken for it.
func (c *Committer) EraseLabels(ctx context.Context, namespace string, names []string) (had int, err error) {
	if err := ctx.Err(); err != nil || len(names) == 0 {
		return 0, err
	}
	if len(names) > chainstore.MaxErased {
		return 0, fmt.Errorf("%w: %d aliases whose labels to erase, more than %d", chainstore.ErrTooLarge, len(names), chainstore.MaxErased)
	}
	done := 0
	r := &Request{Namespace: namespace, Change: &chainstore.Change{}, alone: true, own: func(d *changeTxn) (err error) {
		done, err = d.eraseLabels(namespace, names)
		return err
	}}
	for _, name := range names {
		r.held += int64(256 + len(name))
	}
	switch _, err := c.submit(ctx, r); {
	case errors.Is(err, errNoAlias):
		return 0, nil
	case err != nil:
		return 0, err // done may yet change
	default:
		return done, nil
	}
}

func (d *changeTxn) eraseLabels(namespace string, names []string) (had int, err error) {
	if err := d.enter(namespace); err != nil {
		return 0, err
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	change, purge := &chainstore.Change{}, layout.Purge{Number: d.view.Seen + 1, Kind: layout.PurgeLabels, At: d.now, Namespace: d.ns}
	for _, name := range names {
		row, _, err := d.alias(name)
		if err != nil {
			return 0, err
		}
		if row == nil {
			continue
		}
		purge.Names = append(purge.Names, name)
		if len(row.Labels) > 0 {
			change.Aliases = append(change.Aliases, chainstore.AliasChange{
				Name: name, Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{Alias: name}}, SetLabels: true,
			})
		}
	}
	if len(purge.Names) == 0 {
		return 0, errNoAlias
	}
	if _, err := d.putAliases(change, nil, nil); err != nil {
		return 0, err
	}
	all := purge.Names
	for part := range slices.Chunk(all, layout.MaxPurgeNames) {
		purge.Names, purge.Bytes = part, 0
		for _, name := range part {
			value, _, err := d.get(layout.AliasKey(d.ns, name))
			if err != nil {
				return 0, err
			}
			purge.Bytes += uint64(len(name) + len(value))
		}
		d.set(purge.Key(), purge.Value())
		purge.Part++
	}
	return len(change.Aliases), d.require(layout.FeaturePurges)
}
