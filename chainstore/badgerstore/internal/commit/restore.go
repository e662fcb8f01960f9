package commit

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// restore is what is restored of a namespace, and where the nodes of its aliases lie.
type restore struct {
	*chainstore.Restored
	places map[chainstore.ID]chainstore.Place
	// seen is the commit as of which they were looked up.
	seen uint64
}

// size is what it holds, roughly.
func (r *restore) size() int64 {
	n := 0
	for i := range r.Aliases {
		a := &r.Aliases[i]
		n += 256 + len(a.Name) + 96*len(a.States)
		for key, value := range a.Labels {
			n += 64 + len(key) + len(value)
		}
	}
	for i := range r.Receipts {
		n += 256 + len(r.Receipts[i].Bytes)
	}
	return int64(n)
}

// Restore sets settings and aliases as they were exported; see chainstore.Restorer. Nodes are looked up before it is in the queue, since they
// stay where they are, and again only where some were deleted meanwhile.
func (c *Committer) Restore(ctx context.Context, namespace string, in *chainstore.Restored) (set int, err error) {
	if len(in.Receipts) > chainstore.MaxErased {
		return 0, fmt.Errorf("%w: %d receipts to keep, more than %d", chainstore.ErrTooLarge, len(in.Receipts), chainstore.MaxErased)
	}
	r := &restore{Restored: in, places: map[chainstore.ID]chainstore.Place{}}
	err = c.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		r.seen = v.Seen
		for i := range in.Aliases {
			if err := in.Aliases[i].Judge(); err != nil {
				return err
			}
			if err := r.locate(v, i); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return 0, err
	}
	done := 0
	_, err = c.submit(ctx, &Request{Namespace: namespace, Change: &chainstore.Change{}, held: r.size(), adds: true, alone: len(in.Receipts) > 0, own: func(d *changeTxn) (err error) {
		done, err = d.restore(namespace, r)
		return err
	}})
	if err != nil {
		return 0, err // done may yet change
	}
	return done, nil
}

// locate finds the nodes of an alias.
func (r *restore) locate(v *snapshot.Snapshot, i int) error {
	for _, s := range r.Aliases[i].States {
		if _, known := r.places[s.Node]; known || s.Deleted {
			continue
		}
		at, found, err := v.PlaceOf(s.Node)
		if err == nil && !found {
			err = &chainstore.MissingError{Err: chainstore.ErrNodeNotFound, Index: i}
		}
		if err != nil {
			return err
		}
		r.places[s.Node] = at
	}
	return nil
}

// restore judges what is restored, and then writes it.
func (d *changeTxn) restore(namespace string, r *restore) (set int, err error) {
	if _, err := d.setSettings(namespace, r.Over); err != nil {
		return 0, err
	}
	if err := d.name(r); err != nil {
		return 0, err
	}
	before := d.counters
	d.counters.Floor = max(d.counters.Floor, uint64(r.Floor))
	var failed []chainstore.Conflict
	for i := range r.Aliases {
		a := &r.Aliases[i]
		p, err := d.planRestored(a.Name)
		if err != nil {
			return 0, err
		}
		switch due, holds := a.Over(&p.now, p.present()); {
		case due:
			d.clear(p)
			d.restoreAlias(a, r.places)
			set++
		case !holds:
			failed = append(failed, chainstore.Conflict{
				Index: i, Kind: chainstore.HeadIs, Exists: p.now.Exists, Node: p.now.Head, Revision: p.now.Revision,
				Compaction: p.head != nil && p.head.Header.Covers.Present,
			})
		}
	}
	if failed != nil {
		return 0, &chainstore.ConflictError{Conflicts: failed}
	}
	if err := d.keepReceipts(r.Receipts); err != nil {
		return 0, err
	}
	if d.counters != before || d.created && d.keys > 0 {
		d.set(layout.CountersKey(d.ns), layout.AppendCounters(nil, &d.counters))
	}
	if d.created && d.keys > 0 {
		d.giveNumber(namespace)
	}
	return set, nil
}

// keepReceipts writes those of nodes that have none: a MissingError of one whose node is there with its content.
func (d *changeTxn) keepReceipts(receipts []chainstore.KeptReceipt) error {
	for i := range receipts {
		id := receipts[i].ID
		_, found, err := d.get(layout.ReceiptKey(d.ns, id))
		if err != nil {
			return err
		}
		if found {
			continue
		}
		_, there, err := d.view.PlaceOf(id)
		if err == nil && there {
			err = &chainstore.MissingError{Err: chainstore.ErrNotErased, Index: i}
		}
		if err != nil {
			return err
		}
		d.receipt(id, receipts[i].Bytes)
	}
	return nil
}

// name names the nodes of what is restored.
func (d *changeTxn) name(r *restore) error {
	if d.c.swept > r.seen {
		clear(r.places)
		for i := range r.Aliases {
			if err := r.locate(d.view, i); err != nil {
				return err
			}
		}
	}
	for _, at := range r.places {
		d.c.naming.note(d.ns, at)
	}
	return nil
}

// planRestored is an alias as it is; a name that is forgotten is there yet, with its revision.
func (d *changeTxn) planRestored(name string) (p *aliasPlan, err error) {
	p = &aliasPlan{change: &chainstore.AliasChange{Name: name}}
	if p.row, p.head, err = d.alias(name); err != nil || p.row == nil {
		return p, err
	}
	p.now = chainstore.AliasNow{Exists: p.head != nil, Revision: p.row.Revision, Labels: p.row.Labels}
	if p.head != nil {
		p.now.Head = p.head.Header.ID
	}
	return p, nil
}

// present is the state of an alias as it is.
func (p *aliasPlan) present() *chainstore.AliasState {
	if p.row == nil {
		return &chainstore.AliasState{}
	}
	return &chainstore.AliasState{Revision: p.row.Began, Deleted: p.row.Deleted, Node: p.now.Head, At: p.row.MovedAt}
}

// restoreAlias writes an alias with its past states, which are numbered anew.
func (d *changeTxn) restoreAlias(a *chainstore.ExportedAlias, places map[chainstore.ID]chainstore.Place) {
	last, number := &a.States[0], uint64(len(a.States))
	row := layout.AliasRow{
		Deleted: last.Deleted, Forgot: last.Deleted && number == 1, MovedAt: last.At, States: number, Revision: a.Revision, Began: last.Revision, Labels: a.Labels,
	}
	if !last.Deleted {
		row.At = places[last.Node]
		d.list(a.Name, row.At, last.At)
	}
	d.forgets = d.forgets || row.Forgot
	d.set(layout.AliasKey(d.ns, a.Name), layout.AppendAlias(nil, &row))
	for i := range a.States[1:] {
		s := &a.States[i+1]
		number--
		past := layout.PastState{Deleted: s.Deleted, Number: number, Began: s.At, Revision: s.Revision}
		if !s.Deleted {
			past.At = places[s.Node]
		}
		d.set(layout.HistoryKey(d.ns, a.Name, number), layout.AppendPastState(nil, &past))
	}
}
