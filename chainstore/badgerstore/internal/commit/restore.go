package commit

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// restore is what is restored of a namespace, and where the nodes of its aliases lie.
type restore struct {
	*chainstore.Restored
	places map[chainstore.ID]chainstore.Place
}

// size is what it holds, roughly.
func (r *restore) size() int64 {
	if r == nil {
		return 0
	}
	n := 0
	for i := range r.Aliases {
		a := &r.Aliases[i]
		n += 256 + len(a.Name) + 96*len(a.States)
		for key, value := range a.Labels {
			n += 64 + len(key) + len(value)
		}
	}
	return int64(n)
}

// Restore sets settings and aliases as they were exported; see chainstore.Restorer. Nodes are looked up before it is in the queue, since they
// stay where they are.
func (c *Committer) Restore(ctx context.Context, namespace string, in *chainstore.Restored) (set int, err error) {
	r := &Request{Namespace: namespace, Change: &chainstore.Change{}, restore: &restore{in, map[chainstore.ID]chainstore.Place{}}}
	err = c.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		for i := range in.Aliases {
			if err := in.Aliases[i].Judge(); err != nil {
				return err
			}
			if err := r.restore.locate(v, i); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err == nil {
		_, err = c.submit(ctx, r)
	}
	return r.restored, err
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
func (d *changeTxn) restore(r *Request) error {
	if err := d.enter(r.Namespace); err != nil {
		return err
	}
	if err := d.restoreSettings(r.restore.Restored); err != nil {
		return err
	}
	before := d.counters
	d.counters.Floor = max(d.counters.Floor, uint64(r.restore.Floor))
	var failed []chainstore.Conflict
	for i := range r.restore.Aliases {
		a := &r.restore.Aliases[i]
		p := aliasPlan{change: &chainstore.AliasChange{Name: a.Name}}
		var err error
		if p.row, p.head, err = d.alias(a.Name); err != nil {
			return err
		}
		if p.row != nil {
			p.now = chainstore.AliasNow{Exists: p.head != nil, Revision: p.row.Revision, Labels: p.row.Labels}
		}
		if p.head != nil {
			p.now.Head = p.head.Header.ID
		}
		switch set, holds := a.Over(&p.now, p.began()); {
		case set:
			d.clear(&p)
			d.restoreAlias(a, r.restore.places)
			r.restored++
		case !holds:
			failed = append(failed, chainstore.Conflict{
				Index: i, Kind: chainstore.HeadIs, Exists: p.now.Exists, Node: p.now.Head, Revision: p.now.Revision,
				Compaction: p.head != nil && p.head.Header.Covers.Present,
			})
		}
	}
	if failed != nil {
		r.restored = 0
		return &chainstore.ConflictError{Conflicts: failed}
	}
	if d.counters != before || d.created && d.keys > 0 {
		d.set(layout.CountersKey(d.ns), layout.AppendCounters(nil, &d.counters))
	}
	if d.created && d.keys > 0 {
		d.giveNumber(r.Namespace)
	}
	return nil
}

// began is when the present state began; 0 for a name that never was set.
func (p *aliasPlan) began() int64 {
	if p.row == nil {
		return 0
	}
	return p.row.MovedAt
}

func (d *changeTxn) restoreSettings(r *chainstore.Restored) error {
	row, err := d.settingsNow()
	if err != nil {
		return err
	}
	before := row.SettingsNow
	if row.SettingsNow, err = r.Over(before); err != nil || row.SettingsNow == before {
		return err
	}
	d.settled = true
	d.set(layout.SettingsKey(d.ns), layout.AppendSettings(nil, &row))
	return d.nameFeature(layout.FeatureSettings)
}

// clear takes an alias away with all that follows from it.
func (d *changeTxn) clear(p *aliasPlan) {
	if p.row == nil {
		return
	}
	d.unlist(p)
	for number := p.row.FirstKept(); number < p.row.States; number++ {
		d.delete(layout.HistoryKey(d.ns, p.change.Name, number))
	}
}

// restoreAlias writes an alias with its past states, which are numbered anew.
func (d *changeTxn) restoreAlias(a *chainstore.ExportedAlias, places map[chainstore.ID]chainstore.Place) {
	last, number := &a.States[0], uint64(len(a.States))
	row := layout.AliasRow{
		Deleted: last.Deleted, MovedAt: last.At, States: number, Revision: a.Revision, Began: last.Revision, Labels: a.Labels,
	}
	if !last.Deleted {
		row.At = places[last.Node]
		d.list(a.Name, row.At, last.At)
	}
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
