package commit

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// Again is what stays of keys whose older versions are to be dropped. It was committed again, and the log that has it is kept until Release.
type Again struct {
	// Took is of how many purges, one at least.
	Took int
	Log  badgerdb.Log
	// Before is the number from which on what the keys have is to stay.
	Before  uint64
	Release func()

	rows []row
}

type row struct{ key, value []byte }

// MostAgain is how many bytes should stay of purges that are done together: they lie in the log and in memory while others write beside.
func (c *Committer) MostAgain() uint64 {
	most, _ := c.source.DB.MaxCommit()
	return uint64(most)
}

// WriteAgain ends the log, commits again what stays of what purges are of, of as many as go into one log, and keeps the log behind it. Errors are
// badgerdb.ErrLogChanged where even the first does not, and those of Commit.
func (c *Committer) WriteAgain(ctx context.Context, purges []layout.Purge) (a *Again, err error) {
	if err := c.nameTurns(ctx); err != nil {
		return nil, err
	}
	_, err = c.submit(ctx, &Request{Change: &chainstore.Change{}, alone: true, own: func(d *changeTxn) (err error) {
		a, err = d.writeAgain(purges)
		return err
	}})
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (d *changeTxn) writeAgain(purges []layout.Purge) (*Again, error) {
	c := d.c
	rows, took, err := d.someStaying(purges)
	if err != nil {
		return nil, err
	}
	log, err := c.source.DB.Turn(layout.TurnKey(), c.writeTurn)
	if err != nil {
		return nil, err
	}
	a := &Again{Took: took, Before: c.source.Versions.Last(), rows: rows}
	if len(rows) > 0 {
		a.Before++
	}
	if err := c.writeRows(rows); err != nil {
		return nil, err
	}
	if a.Log, a.Release = c.source.DB.KeepLog(); !a.Log.Is(log) { // some rows are in a log that becomes a table, and would be dropped
		a.Release()
		return nil, badgerdb.ErrLogChanged
	}
	return a, nil
}

// someStaying reads what stays of purges, until there is as much as should lie in a log; took is of how many.
func (d *changeTxn) someStaying(purges []layout.Purge) (rows []row, took int, err error) {
	most, bytes := int64(d.c.MostAgain()), int64(0)
	for i := range purges {
		more, err := d.staying(purges[i : i+1])
		if err != nil {
			return nil, 0, err
		}
		for _, r := range more {
			bytes += Cost(string(r.key), Write{Value: r.value})
		}
		if i > 0 && bytes > most {
			return rows, i, nil
		}
		rows = append(rows, more...)
	}
	return rows, len(purges), nil
}

// staying reads what stays of what purges are of. Nothing stays of a namespace that was deleted since.
func (d *changeTxn) staying(purges []layout.Purge) (rows []row, err error) {
	for i := range purges {
		p := &purges[i]
		stays, err := d.stays(p)
		if err != nil {
			return nil, err
		}
		if !stays {
			continue
		}
		if rows, err = d.under(rows, layout.TableKey(p.Namespace, layout.TableNodes), p.Prefixes()); err != nil {
			return nil, err
		}
		for _, name := range p.Names {
			r := row{key: layout.AliasKey(p.Namespace, name)}
			value, found, err := d.view.Get(r.key)
			if err != nil {
				return nil, err
			}
			if found {
				r.value = append([]byte{}, value...)
				rows = append(rows, r)
			}
		}
	}
	return rows, nil
}

// stays tells whether what the keys of a purge have by now stays.
func (d *changeTxn) stays(p *layout.Purge) (bool, error) {
	if !p.Stays() {
		return false, nil
	}
	_, gone, err := d.view.Get(layout.GoneKey(p.Namespace))
	return !gone, err
}

// under appends the rows that have one of some prefixes, in a table.
func (d *changeTxn) under(rows []row, table []byte, prefixes [][]byte) ([]row, error) {
	cur := d.view.Iterate(table)
	defer cur.Close()
	for _, prefix := range prefixes {
		for cur.Seek(prefix); cur.Within(prefix); cur.Next() {
			r := row{key: bytes.Clone(cur.Key())}
			err := cur.Value(func(value []byte) error {
				r.value = append([]byte{}, value...)
				return nil
			})
			if err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// writeRows commits rows, in as many commits as they need, beside the batch.
func (c *Committer) writeRows(rows []row) error {
	for len(rows) > 0 {
		some := c.fitting(rows)
		err := c.writeTurn(func(b *badgerdb.Batch) error {
			for _, r := range rows[:some] {
				if err := r.write(b); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		rows = rows[some:]
	}
	return nil
}

// write sets a row, or deletes it, where it has no value.
func (r *row) write(b *badgerdb.Batch) error {
	if r.value == nil {
		return b.Delete(r.key)
	}
	return b.Set(r.key, r.value)
}

// fitting is how many of some rows a commit takes, one at least.
func (c *Committer) fitting(rows []row) (n int) {
	mostBytes, mostRows := c.source.DB.MaxCommit()
	bytes := int64(0)
	for n < len(rows) && int64(n) < mostRows {
		if bytes += Cost(string(rows[n].key), Write{Value: rows[n].value}); n > 0 && bytes > mostBytes {
			break
		}
		n++
	}
	return n
}

// PutBack commits again what was dropped though it was to stay, once the log was not kept, and tells how many rows that were.
func (c *Committer) PutBack(ctx context.Context, a *Again) (missing int, err error) {
	_, err = c.submit(ctx, &Request{Change: &chainstore.Change{}, alone: true, own: func(d *changeTxn) error {
		var lost []row
		for _, r := range a.rows {
			_, found, err := d.view.Version(r.key)
			if err != nil {
				return err
			}
			if !found {
				lost = append(lost, r)
			}
		}
		missing = len(lost)
		return c.writeRows(lost)
	}})
	return missing, err
}

// DropAlone drops what purges are of while nobody else commits, for a database that cannot do so beside others: log was begun behind the last commit of the
// purges. What stays is saved before, since it is dropped with the rest, and put again: readers meet a gap. Others wait for all that time.
func (c *Committer) DropAlone(ctx context.Context, log badgerdb.Log, purges []layout.Purge) error {
	_, err := c.submit(ctx, &Request{Change: &chainstore.Change{}, alone: true, own: func(d *changeTxn) error { return d.dropAlone(ctx, log, purges) }})
	return err
}

func (d *changeTxn) dropAlone(ctx context.Context, log badgerdb.Log, purges []layout.Purge) error {
	c := d.c
	staying, err := d.staying(purges)
	if err != nil {
		return err
	}
	for i := range purges {
		p := &purges[i]
		stays, err := d.stays(p)
		if err != nil {
			return err
		}
		if p.Kind != layout.PurgeLabels || !stays {
			continue
		}
		if staying, err = d.under(staying, layout.TableKey(p.Namespace, layout.TableAliases), p.PrefixesAlone()); err != nil {
			return err
		}
	}
	had, rows := map[string]bool{}, staying[:0]
	for _, r := range staying {
		if !had[string(r.key)] {
			had[string(r.key)], rows = true, append(rows, r)
		}
	}
	var prefixes [][]byte
	for i := range purges {
		for _, prefix := range purges[i].PrefixesAlone() {
			prefixes = append(prefixes, prefix)
			if key := layout.KeyUnder(prefix); !had[string(key)] {
				rows = append(rows, row{key: key}) // Badger drops nothing under a prefix that has no key
			}
		}
	}
	var saved, empty, again []row
	for _, r := range rows {
		save := layout.SavedKey(r.key)
		saved, again = append(saved, row{save, layout.SavedValue(r.value)}), append(again, r, row{key: save})
		if r.value == nil {
			empty = append(empty, row{r.key, []byte{}})
		}
	}
	before := c.source.Versions.Last()
	dropped := c.writeRows(append(saved, empty...))
	switch {
	case dropped == nil:
		dropped = c.source.DB.DropVersions(ctx, log, c.source.Versions.Last()+1, prefixes...)
	case c.source.Versions.Last() == before:
		return dropped
	default: // what was written of these goes, and nothing was dropped
		again = slices.DeleteFunc(again, func(r row) bool { return r.value != nil })
	}
	if err := c.writeRows(again); err != nil {
		c.failed = true // who opens the store again puts it back
		return fmt.Errorf("%w: %w", chainstore.ErrFailed, err)
	}
	return dropped
}

// TakeBack are the commits that put back what was saved and not put again: a process ended in the middle of DropAlone. They are made by who opens
// the store.
func TakeBack(v *snapshot.Snapshot) (writes []map[string]Write, err error) {
	err = v.Scan(context.Background(), layout.PurgesSaved(), nil, func(key, row []byte) error {
		value, had, damaged := layout.ParseSaved(row)
		if damaged != nil {
			return nil //nolint:nilerr // which Verify tells
		}
		of := layout.ParseSavedKey(key)
		one := map[string]Write{string(key): {Deleted: true}}
		_, found, err := v.Version(of)
		switch {
		case err != nil:
			return err
		case had && !found:
			one[string(of)] = Write{Value: append([]byte{}, value...)}
		case !had && found:
			one[string(of)] = Write{Deleted: true}
		}
		writes = append(writes, one)
		return nil
	})
	return writes, err
}

// Purged notes that purges are done, and when all parts are that have their number. What is kept for deletes may be taken for it.
func (c *Committer) Purged(ctx context.Context, purges []layout.Purge) error {
	_, err := c.submit(ctx, &Request{Change: &chainstore.Change{}, alone: true, own: func(d *changeTxn) error {
		numbers := map[uint64]bool{}
		for i := range purges {
			d.delete(purges[i].Key())
			numbers[purges[i].Number] = true
		}
		for number := range numbers {
			left := false
			err := d.view.Scan(context.Background(), layout.PurgeParts(number), nil, func(key, _ []byte) error {
				if _, deleted := d.writes[string(key)]; deleted {
					return nil
				}
				left = true
				return snapshot.ErrStop
			})
			if err != nil {
				return err
			}
			if !left {
				d.set(layout.PurgedKey(number), layout.NumberValue(uint64(d.now)))
			}
		}
		return nil
	}})
	return err
}
