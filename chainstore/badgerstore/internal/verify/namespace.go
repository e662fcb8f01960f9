package verify

import (
	"bytes"
	"errors"
	"math"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// checker checks a namespace. Its memory does not grow with the namespace: rows that follow from a node are looked up, and then each
// table is counted, so that a row too many shows. The rows of nodes, and those that follow from them, are written once and stay: those
// of commits up to asOf are the same in every later snapshot, and later ones are passed over. Rows of aliases change: what follows from
// what is looked at in one snapshot, both ways.
type checker struct {
	*verification
	*snapshot.Snapshot
	*progress
	// inOne says that what is checked is checked in one snapshot, and again as a whole by a check that goes on.
	inOne bool
	// before is the node of the place read before.
	before parentNode
}

// namespace checks the namespace of a snapshot, or goes on where an earlier check was.
func (r *verification) namespace(v *snapshot.Snapshot) error {
	c := &checker{verification: r, Snapshot: v, progress: &r.at.progress}
	if err := c.begin(); err != nil {
		return err
	}
	parts := c.parts()
	for c.part < uint64(len(parts)) {
		if err := parts[c.part](); err != nil {
			return err
		}
		c.part, c.rows, c.key = c.part+1, 0, nil
	}
	c.counts()
	return nil
}

// begin notes what the namespace is checked against, or checks that a cursor's position can be gone on with.
func (c *checker) begin() error {
	if c.begun > 0 {
		if c.number != uint64(c.Namespace) || c.asOf > c.Seen {
			return chainstore.ErrBadCursor
		}
		return c.recall()
	}
	*c.progress = progress{begun: 1, number: uint64(c.Namespace), asOf: c.Seen}
	stored, err := c.Counters()
	if err == nil {
		c.hasCounters, c.counters = 1, stored
	}
	return c.judged(nil, err)
}

// parts are what is checked, in order. Their places are part of a cursor.
func (c *checker) parts() []func() error {
	parts := []func() error{c.tables, c.nodes}
	for _, table := range []byte{layout.TableIDs, layout.TableForks, layout.TableRecall, layout.TableTools, layout.TableVariables} {
		parts = append(parts, func() error { return c.noMore(table) })
	}
	return append(parts, c.spawnedRows, func() error { return c.noMore(layout.TableSpawnedAt) }, c.lastPuts, c.countersRows,
		c.aliases, c.movedRows, c.headRows, c.historyRows, c.settingsRows)
}

// expect looks for a row that follows from a node, or from an alias where id is nil, and counts it.
func (c *checker) expect(id *chainstore.ID, key, value []byte) error {
	found, err := c.matches(id, key, value)
	if found {
		c.found[key[layout.KeyPrefix-1]-'A']++
	}
	return err
}

// matches looks for a row that follows from a node, or from an alias where id is nil.
func (c *checker) matches(id *chainstore.ID, key, value []byte) (found bool, err error) {
	table := key[layout.KeyPrefix-1]
	c.at.entries++
	got, found, err := c.Get(key)
	switch {
	case err != nil && !errors.Is(err, chainstore.ErrCorrupt):
		return false, err
	case err == nil && !found:
		c.problem(id, "an entry of table %c is missing", table)
		return false, nil
	case err == nil && layout.CheckVersion(table, got) != nil:
		c.problem(id, "%v", layout.CheckVersion(table, got))
	case err != nil || !bytes.Equal(got, value):
		c.problem(id, "an entry of table %c differs from what it should be", table)
	}
	return true, nil
}

// walk runs f at each row of a table, from where the position's key is on; f leaves the cursor behind what it has looked at. Between two
// rows, a check can end and go on.
func (c *checker) walk(table byte, f func(cur *snapshot.Cursor) error) error {
	prefix := layout.TableKey(c.Namespace, table)
	cur := c.Iterate(prefix)
	defer func() { cur.Close() }()
	from := prefix
	if len(c.key) > 0 {
		from = c.key
	}
	for cur.Seek(from); cur.Valid(); {
		if err := c.alive(); err != nil {
			return err
		}
		if !c.inOne && c.isDue() {
			c.key = bytes.Clone(cur.Key())
			c.remember()
			cur.Close()
			err := c.mark()
			cur = c.Iterate(prefix)
			if err != nil {
				return err
			}
			if cur.Seek(c.key); !cur.Valid() {
				return nil
			}
		}
		if err := f(cur); err != nil {
			return err
		}
	}
	return nil
}

// each is walk with the rows themselves.
func (c *checker) each(table byte, f func(key, value []byte) error) error {
	return c.walk(table, func(cur *snapshot.Cursor) error {
		key := cur.Key()
		err := cur.Value(func(value []byte) error { return f(key, value) })
		cur.Next()
		return c.judged(nil, err)
	})
}

// isLater tells whether a row came after the check began.
func (c *checker) isLater(cur *snapshot.Cursor) bool { return !c.inOne && cur.Version() > c.asOf }

// tables looks for rows of tables that are none. Where there are any, they are one problem for each table; none where they may be of a
// feature that need not be known.
func (c *checker) tables() error {
	header := c.Source.Header.Load()
	known := header.Tables(c.Namespace)
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
		if !strings.ContainsRune(known, rune(table)) && !header.Extended() {
			c.problem(nil, "there are rows of table %q, which there is not", table)
		}
		if table == math.MaxUint8 {
			return nil
		}
		cur.Seek(layout.TableKey(c.Namespace, table+1))
	}
	return nil
}

// noMore counts a table of rows that stay: rows that nothing accounts for are a problem.
func (c *checker) noMore(table byte) error {
	err := c.walk(table, func(cur *snapshot.Cursor) error {
		if !c.isLater(cur) {
			c.rows++
		}
		cur.Next()
		return nil
	})
	if found := c.found[table-'A']; err == nil && c.rows > found {
		c.extra(table, c.rows-found)
	}
	return err
}

// extra is the problem of rows that nothing accounts for.
func (c *checker) extra(table byte, rows uint64) {
	if rows > 0 {
		c.problem(nil, "table %c has %d entries that nothing accounts for", table, rows)
	}
}

// countersRows looks for counters but those of the namespace.
func (c *checker) countersRows() error {
	err := c.walk(layout.TableCounters, func(cur *snapshot.Cursor) error {
		if !bytes.Equal(cur.Key(), layout.CountersKey(c.Namespace)) {
			c.rows++
		}
		cur.Next()
		return nil
	})
	if err == nil {
		c.extra(layout.TableCounters, c.rows)
	}
	return err
}

// settingsRows checks the settings as they are, in a store that has any.
func (c *checker) settingsRows() error {
	if !c.Source.Header.Load().Has(layout.FeatureSettings) {
		return nil
	}
	return c.each(layout.TableSettings, func(key, value []byte) error {
		c.at.entries++
		if !bytes.Equal(key, layout.SettingsKey(c.Namespace)) {
			return layout.CorruptKey(layout.TableSettings)
		}
		_, err := layout.ParseSettings(value)
		return err
	})
}

// lastPuts checks that times of last puts are those of nodes.
func (c *checker) lastPuts() error {
	return c.each(layout.TableLastPut, func(key, value []byte) error {
		c.at.entries++
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

// spawnedRows checks that the spawned nodes are exactly those that say so: sum is of the rows, as spawned is of the nodes.
func (c *checker) spawnedRows() error {
	err := c.walk(layout.TableSpawned, func(cur *snapshot.Cursor) error {
		if c.isLater(cur) {
			cur.Next()
			return nil
		}
		key := cur.Key()
		err := cur.Value(func(value []byte) error { return c.spawnedRow(key, value) })
		cur.Next()
		return c.judged(nil, err)
	})
	if err == nil && c.spawned != 0 {
		c.problem(nil, "the spawned nodes are not exactly those that say they were spawned")
	}
	return err
}

// spawnedRow checks a spawned node, and takes it off those that say that they were spawned.
func (c *checker) spawnedRow(key, value []byte) error {
	c.at.entries++
	spawner, number, err := layout.ParseSpawnedKey(key)
	if err != nil {
		return c.judged(nil, err)
	}
	if c.siblings++; spawner != c.spawner {
		c.siblings, c.spawner = 1, spawner
	}
	at, err := layout.ParsePlaceValue(value, layout.TableSpawned)
	if err != nil {
		return c.judged(nil, err)
	}
	c.puts = max(c.puts, min(number, math.MaxInt64)+1)
	c.spawned -= spawnHash(spawner, at)
	h, err := c.HeaderAt(at)
	if err == nil && (h.SpawnedFrom == nil || h.SpawnedFrom.Node != spawner) {
		c.problem(&h.ID, "it is listed as spawned by another node than it says")
	}
	if err == nil {
		err = c.spawnedAt(spawner, layout.Spawned{Number: number, At: at}, c.siblings > layout.MaxAdopted)
	}
	return c.judged(nil, err)
}

// spawnedAt checks that a spawned node is found by the place of its spawner, if that was put. Of one spawner those that are
// late may not have been linked. What was linked later than asOf was awaited then.
func (c *checker) spawnedAt(spawner chainstore.ID, s layout.Spawned, late bool) error {
	at, put, err := c.PlaceOf(spawner)
	if err != nil || !put {
		c.counted.Awaited += one(err == nil)
		return err
	}
	key, value := layout.SpawnedAtKey(c.Namespace, at, s.Number), layout.AppendPlaceValue(nil, s.At)
	linked, found, err := c.Version(key)
	switch {
	case err != nil:
		return err
	case !found && late:
		c.counted.Awaited++
		return nil
	case found && linked > c.asOf:
		c.counted.Awaited++
		_, err = c.matches(nil, key, value)
		return err
	default:
		return c.expect(nil, key, value)
	}
}

// one counts what is so.
func one(so bool) uint64 {
	if so {
		return 1
	}
	return 0
}

// counts compares the counters as of asOf; those of aliases are compared with the aliases.
func (c *checker) counts() {
	if c.hasCounters == 0 {
		return
	}
	if c.counters.NextSegment < c.segment {
		c.problem(nil, "the counters would use a segment again")
	}
	if c.counters.Puts < max(c.puts, c.counted.Nodes) {
		c.problem(nil, "the counters would use a number of a spawned node again")
	}
	counted, stored := c.counted, c.counters
	counted.NextSegment, counted.Puts, counted.Aliases = stored.NextSegment, stored.Puts, stored.Aliases
	counted.Floor, counted.Rest = stored.Floor, stored.Rest
	if stored != counted {
		c.problem(nil, "the counters differ from what there is")
	}
}
