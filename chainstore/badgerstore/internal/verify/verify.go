// Package verify reads everything that is stored, derives it again and tells what differs.
package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// How often Verify reports, by the store's clock: well within the second that it promises, and before it holds many problems.
const (
	ReportInterval = 300 * time.Millisecond
	MaxProblems    = 1000
)

// Verifier checks a store; see chainstore.Verifier.
type Verifier struct {
	Source *snapshot.Source
	// Header is the store's.
	Header *layout.StoreHeader
	// Now tells when to report.
	Now func() time.Time
	// Judge recomputes nodes from their bytes, Report is told what is found.
	Judge  chainstore.Judge
	Report func(chainstore.VerifyReport) error
}

// Namespace checks a namespace as it is when this begins. What the database wrote since stays on its disk until it returns.
func (v Verifier) Namespace(ctx context.Context, namespace string) error {
	r := v.begin(ctx)
	r.out.Namespace = namespace
	if err := v.Source.Read(ctx, namespace, r.namespace); err != nil {
		return err
	}
	return r.flush()
}

func (v Verifier) begin(ctx context.Context) *verification {
	return &verification{Verifier: v, ctx: ctx, reported: v.Now()}
}

// verification is one under way.
type verification struct {
	Verifier
	ctx      context.Context
	reported time.Time
	out      chainstore.VerifyReport
}

// tick reports if it is time to; it is called for every row. It fails where Verify must end.
func (r *verification) tick() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.Source.Versions.IsShut() {
		return chainstore.ErrClosed
	}
	if len(r.out.Problems) < MaxProblems && r.Now().Sub(r.reported) < ReportInterval {
		return nil
	}
	return r.flush()
}

func (r *verification) flush() error {
	out := r.out
	r.out.Problems, r.reported = nil, r.Now()
	return r.Report(out)
}

func (r *verification) problem(id *chainstore.ID, format string, args ...any) {
	p := chainstore.Problem{Namespace: r.out.Namespace, What: fmt.Sprintf(format, args...)}
	if id != nil {
		p.HasNode, p.Node = true, *id
	}
	r.out.Problems = append(r.out.Problems, p)
}

// judged makes what is corrupt a problem, and lets other errors through.
func (r *verification) judged(id *chainstore.ID, err error) error {
	if !errors.Is(err, chainstore.ErrCorrupt) {
		return err
	}
	r.problem(id, "%v", err)
	return nil
}

// namespace checks the namespace of a snapshot.
func (r *verification) namespace(v *snapshot.Snapshot) error {
	c := &checker{verification: r, Snapshot: v, found: map[byte]int64{}}
	stored, err := v.Counters()
	if err == nil {
		c.stored = &stored
	}
	if err := r.judged(nil, err); err != nil {
		return err
	}
	for _, part := range []func() error{c.tables, c.nodes, c.indexes, c.aliases} {
		if err := part(); err != nil {
			return err
		}
	}
	c.counts()
	return nil
}

// checker checks a namespace. Its memory does not grow with the namespace: rows that follow from a node are looked
// up, and then each table is counted, so that a row too many shows.
type checker struct {
	*verification
	*snapshot.Snapshot
	// found counts, by table, the rows that were looked up and found.
	found map[byte]int64
	// spawned sums up hashes of what nodes say that they were spawned from; puts is above the number of each that was.
	spawned, puts uint64
	// stored are the counters, nil where they cannot be read; counted what they should be; segment is the highest in use.
	stored  *layout.Counters
	counted layout.Counters
	segment uint64
	// unchecked counts the nodes behind one that cannot be read, but for the first; lost, the states of aliases that point to one.
	unchecked, lost int64
}

// expect looks for a row that follows from a node, or from an alias where id is nil.
func (c *checker) expect(id *chainstore.ID, key, value []byte) error {
	table := key[layout.KeyPrefix-1]
	c.out.Entries++
	got, found, err := c.Get(key)
	switch {
	case err != nil && !errors.Is(err, chainstore.ErrCorrupt):
		return err
	case err == nil && !found:
		c.problem(id, "an entry of table %c is missing", table)
		return nil
	case err == nil && layout.CheckVersion(table, got) != nil:
		c.problem(id, "%v", layout.CheckVersion(table, got))
	case err != nil || !bytes.Equal(got, value):
		c.problem(id, "an entry of table %c differs from what it should be", table)
	}
	c.found[table]++
	return nil
}

// each runs f on every row of a table.
func (c *checker) each(table byte, f func(key, value []byte) error) error {
	cur := c.Iterate(layout.TableKey(c.Namespace, table))
	defer cur.Close()
	for cur.Seek(layout.TableKey(c.Namespace, table)); cur.Valid(); cur.Next() {
		if err := c.tick(); err != nil {
			return err
		}
		key := cur.Key()
		err := cur.Value(func(value []byte) error { return f(key, value) })
		if err := c.judged(nil, err); err != nil {
			return err
		}
	}
	return nil
}

// tables looks for rows of tables that are none. Where there are any, they are one problem for each table; none where they may be of a
// feature that need not be known.
func (c *checker) tables() error {
	known := layout.NamespaceTables
	if c.Namespace == layout.OwnNamespace {
		known = layout.OwnTables
	}
	prefix := layout.TableKey(c.Namespace, 0)[:layout.KeyPrefix-1]
	cur := c.Iterate(prefix)
	defer cur.Close()
	for cur.Seek(prefix); cur.Valid(); {
		if err := c.tick(); err != nil {
			return err
		}
		if len(cur.Key()) < layout.KeyPrefix {
			c.problem(nil, "a key ends before its table")
			cur.Next()
			continue
		}
		table := cur.Key()[layout.KeyPrefix-1]
		if !strings.ContainsRune(known, rune(table)) && !c.Header.Extended() {
			c.problem(nil, "there are rows of table %q, which there is not", table)
		}
		if table == math.MaxUint8 {
			return nil
		}
		cur.Seek(layout.TableKey(c.Namespace, table+1))
	}
	return nil
}

// noMore counts a table: rows that nothing accounts for are a problem.
func (c *checker) noMore(table byte) error {
	n := int64(0)
	err := c.each(table, func([]byte, []byte) error {
		n++
		return nil
	})
	if extra := n - c.found[table]; err == nil && extra > 0 {
		c.problem(nil, "table %c has %d entries that nothing accounts for", table, extra)
	}
	return err
}

// indexes counts the indexes of nodes.
func (c *checker) indexes() error {
	if c.Namespace != layout.NoNamespace {
		c.found[layout.TableCounters] = 1
	}
	for _, table := range []byte{layout.TableCounters, layout.TableIDs, layout.TableForks, layout.TableRecall, layout.TableTools, layout.TableVariables} {
		if err := c.noMore(table); err != nil {
			return err
		}
	}
	if err := c.spawnedRows(); err != nil {
		return err
	}
	if err := c.noMore(layout.TableSpawnedAt); err != nil {
		return err
	}
	return c.each(layout.TableLastPut, func(key, value []byte) error {
		c.out.Entries++
		at, rest, err := layout.ParsePlace(key)
		if err == nil && len(rest) > 0 {
			err = layout.CorruptKey(layout.TableLastPut)
		}
		if err == nil {
			_, err = layout.ParseNumber(value, layout.TableLastPut)
		}
		if err == nil {
			_, err = c.IDAt(at)
		}
		return c.judged(nil, err)
	})
}

// spawnedRows checks that the spawned nodes are exactly those that say so.
func (c *checker) spawnedRows() error {
	sum := uint64(0)
	var siblings int
	var last chainstore.ID
	err := c.each(layout.TableSpawned, func(key, value []byte) error {
		c.out.Entries++
		spawner, number, err := layout.ParseSpawnedKey(key)
		if err != nil {
			return c.judged(nil, err)
		}
		if siblings++; spawner != last {
			siblings, last = 1, spawner
		}
		at, err := layout.ParsePlaceValue(value, layout.TableSpawned)
		if err != nil {
			return c.judged(nil, err)
		}
		c.puts = max(c.puts, min(number, math.MaxInt64)+1)
		sum += spawnHash(spawner, at)
		h, err := c.HeaderAt(at)
		if err == nil && (h.SpawnedFrom == nil || h.SpawnedFrom.Node != spawner) {
			c.problem(&h.ID, "it is listed as spawned by another node than it says")
		}
		if err == nil {
			err = c.spawnedAt(spawner, layout.Spawned{Number: number, At: at}, siblings > layout.MaxAdopted)
		}
		return c.judged(nil, err)
	})
	if err == nil && sum != c.spawned {
		c.problem(nil, "the spawned nodes are not exactly those that say they were spawned")
	}
	return err
}

// spawnedAt checks that a spawned node is found by the place of its spawner, if that was put. Of one spawner those that are
// late may not have been linked.
func (c *checker) spawnedAt(spawner chainstore.ID, s layout.Spawned, late bool) error {
	at, found, err := c.PlaceOf(spawner)
	if err != nil {
		return err
	}
	key := layout.SpawnedAtKey(c.Namespace, at, s.Number)
	if found && late {
		found, err = c.Borrow(key, func([]byte) error { return nil })
	}
	if err == nil && !found {
		c.counted.Awaited++
	}
	if err != nil || !found {
		return err
	}
	return c.expect(nil, key, layout.AppendPlaceValue(nil, s.At))
}

// counts compares the counters.
func (c *checker) counts() {
	if c.stored == nil {
		return
	}
	if c.stored.NextSegment < c.segment {
		c.problem(nil, "the counters would use a segment again")
	}
	if c.stored.Puts < max(c.puts, c.counted.Nodes) {
		c.problem(nil, "the counters would use a number of a spawned node again")
	}
	c.counted.NextSegment, c.counted.Puts, c.counted.Floor, c.counted.Rest = c.stored.NextSegment, c.stored.Puts, c.stored.Floor, c.stored.Rest
	if *c.stored != c.counted {
		c.problem(nil, "the counters differ from what there is")
	}
}
