package verify

import (
	"bytes"
	"math"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// checker checks a namespace. Its memory does not grow with the namespace: rows that follow from nodes are summed up, then those that there
// are, and looked for one by one only where the sums differ. The rows of nodes, and those that follow from them, are written once and stay: those
// of commits up to asOf are the same in every later snapshot, and later ones are passed over. Rows of aliases change: what follows from
// what is looked at in one snapshot, both ways.
type checker struct {
	*verification
	*snapshot.Snapshot
	*progress
	// inOne says that what is checked is checked in one snapshot, and again as a whole by a check that goes on.
	inOne bool
	// before is the node of the place read before.
	before  parentNode
	scratch []byte
	// beside is a cursor over past states beside that of a walk over aliases; nil until it is needed.
	beside *snapshot.Cursor
	// last is the alias that was read last beside a walk over another table.
	last lookedUp
	// unreadable says that a node cannot be read; floor is the highest revision of a deleted alias. Only where rows are put right.
	unreadable bool
	floor      uint64
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
		if err := c.settle(); err != nil {
			return err
		}
		c.part, c.rows, c.key = c.part+1, 0, nil
	}
	if c.Mend != nil {
		c.mendCounters()
	} else {
		c.counts()
	}
	return c.settle()
}

// begin notes what the namespace is checked against, or checks that a cursor's position can be gone on with.
func (c *checker) begin() error {
	if c.begun > 0 {
		if c.number != uint64(c.Namespace) || c.asOf > c.Seen {
			return chainstore.ErrBadCursor
		}
		stored, err := c.Counters()
		if c.hasCounters == 0 || err != nil || stored.Swept == c.counters.Swept {
			return c.recall()
		}
		// Nodes were deleted since: what was summed up of them has no end.
	}
	*c.progress = progress{begun: 1, number: uint64(c.Namespace), asOf: c.Seen}
	stored, err := c.Counters()
	if err == nil {
		c.hasCounters, c.counters = 1, stored
	}
	if c.Mend != nil {
		c.asOf = math.MaxUint64 // nobody else writes, and what is put right counts
		return ignoreCorrupt(err)
	}
	return c.judged(chainstore.ProblemCounters, nil, err)
}

// parts are what is checked, in order. Their places are part of a cursor.
func (c *checker) parts() []func() error {
	parts := []func() error{c.tables, c.nodes}
	for _, table := range []byte(indexTables) {
		parts = append(parts, func() error { return c.summed(table) })
	}
	parts = append(parts, c.missing)
	for _, table := range []byte(indexTables) {
		parts = append(parts, func() error { return c.unaccounted(table) })
	}
	return append(parts, c.receipts, c.mendSpawned, c.spawnedRows, c.spawnedAtRows, c.lastPuts, c.countersRows,
		c.aliases, c.movedRows, c.headRows, c.historyRows, c.settingsRows)
}

// walk runs f at each row of a table, from where the position's key is on; f leaves the cursor behind what it has looked at. Between two
// rows, a check can end and go on.
func (c *checker) walk(table byte, f func(cur *snapshot.Cursor) error) error {
	prefix := layout.TableKey(c.Namespace, table)
	cur := c.Iterate(prefix)
	defer func() {
		cur.Close()
		c.closeBeside()
	}()
	from := prefix
	if len(c.key) > 0 {
		from = c.key
	}
	for cur.Seek(from); cur.Valid(); {
		if err := c.alive(); err != nil {
			return err
		}
		if !c.inOne && (c.isDue() || c.mustSettle()) {
			c.key = bytes.Clone(cur.Key())
			c.remember()
			cur.Close()
			c.closeBeside()
			err := c.settle()
			if err == nil {
				err = c.mark()
			}
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

// closeBeside closes the cursor beside that of a walk.
func (c *checker) closeBeside() {
	if c.beside != nil {
		c.beside.Close()
		c.beside = nil
	}
}

// each is walk with the rows themselves; what is corrupt is a problem of a kind.
func (c *checker) each(kind chainstore.ProblemKind, table byte, f func(key, value []byte) error) error {
	return c.walk(table, func(cur *snapshot.Cursor) error {
		key := cur.Key()
		err := cur.Value(func(value []byte) error { return f(key, value) })
		cur.Next()
		return c.judged(kind, nil, err)
	})
}

// isLater tells whether a row came after the check began.
func (c *checker) isLater(cur *snapshot.Cursor) bool { return !c.inOne && cur.Version() > c.asOf }

// isLaterNode tells whether the node of the row at the cursor, or of a piece of it, was put after the check began. A row may have been written anew
// since, for it was erased: then the row that finds it by its id tells when it was put.
func (c *checker) isLaterNode(cur *snapshot.Cursor) (later bool, err error) {
	if !c.isLater(cur) {
		return false, nil
	}
	id, erased := chainstore.ID{}, false
	err = cur.Value(func(value []byte) error {
		if _, chunk, err := layout.ParseNodeKey(cur.Key()); err != nil || chunk != 0 {
			return nil //nolint:nilerr // which is told where it is checked
		}
		row, present, err := layout.ParseRow(value)
		id, erased = row.Header.ID(), err == nil && present && row.Header.IsErased()
		return nil
	})
	if err != nil || !erased {
		return true, ignoreCorrupt(err)
	}
	put, found, err := c.Version(layout.IDKey(c.Namespace, id))
	return !found || put > c.asOf, ignoreCorrupt(err)
}

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
			c.problem(chainstore.ProblemStray, nil, "a key ends before its table")
			cur.Next()
			continue
		}
		table := cur.Key()[layout.KeyPrefix-1]
		if !strings.ContainsRune(known, rune(table)) && !header.Extended() {
			c.problem(chainstore.ProblemStray, nil, "there are rows of table %q, which there is not", table)
		}
		if table == math.MaxUint8 {
			return nil
		}
		cur.Seek(layout.TableKey(c.Namespace, table+1))
	}
	return nil
}

// noMore counts a table of rows that stay: rows that nothing accounts for are a problem of a kind.
func (c *checker) noMore(kind chainstore.ProblemKind, table byte) error {
	err := c.walk(table, func(cur *snapshot.Cursor) error {
		if !c.isLater(cur) {
			c.rows++
		}
		cur.Next()
		return nil
	})
	if found := c.found[table-'A']; err == nil && c.rows > found {
		c.extra(kind, table, c.rows-found)
	}
	return err
}

// extra is the problem of rows that nothing accounts for.
func (c *checker) extra(kind chainstore.ProblemKind, table byte, rows uint64) {
	if rows > 0 {
		c.problem(kind, nil, "table %c has %d entries that nothing accounts for", table, rows)
	}
}

// countersRows looks for counters but those of the namespace.
func (c *checker) countersRows() error {
	err := c.walk(layout.TableCounters, func(cur *snapshot.Cursor) error {
		if !bytes.Equal(cur.Key(), layout.CountersKey(c.Namespace)) {
			c.rows++
			c.drop(cur.Key())
		}
		cur.Next()
		return nil
	})
	if err == nil && c.rows > 0 {
		c.extra(chainstore.ProblemCounters, layout.TableCounters, c.rows)
		c.repaired()
	}
	return err
}

// settingsRows checks the settings as they are, in a store that has any.
func (c *checker) settingsRows() error {
	if !c.Source.Header.Load().Has(layout.FeatureSettings) {
		return nil
	}
	return c.each(chainstore.ProblemSettings, layout.TableSettings, func(key, value []byte) error {
		c.at.entries++
		if !bytes.Equal(key, layout.SettingsKey(c.Namespace)) {
			return layout.CorruptKey(layout.TableSettings)
		}
		_, err := layout.ParseSettings(value)
		return err
	})
}

// receipts checks that nodes which have a receipt were erased, as far as they are there.
func (c *checker) receipts() error {
	return c.walk(layout.TableReceipts, func(cur *snapshot.Cursor) error {
		key := bytes.Clone(cur.Key())
		if !c.isLater(cur) {
			c.counted.Erasures++
		}
		cur.Next()
		return c.judged(chainstore.ProblemContent, nil, c.receiptOf(key))
	})
}

func (c *checker) receiptOf(key []byte) error {
	id, err := layout.ParseIDKey(key)
	if err != nil {
		return err
	}
	c.at.entries++
	at, found, err := c.PlaceOf(id)
	if err != nil || !found {
		return c.judged(chainstore.ProblemContent, &id, err)
	}
	_, err = c.Borrow(layout.PlaceKey(c.Namespace, layout.TableNodes, at), func(value []byte) error {
		row, present, err := layout.ParseRow(value)
		if err == nil && present && !row.Header.IsErased() {
			c.problem(chainstore.ProblemContent, &id, "it has a receipt, and was not erased")
		}
		return ignoreCorrupt(err)
	})
	return ignoreCorrupt(err)
}

// lastPuts checks that times of last puts are those of nodes.
func (c *checker) lastPuts() error {
	return c.each(chainstore.ProblemLastPut, layout.TableLastPut, func(key, value []byte) error {
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
		return c.judged(chainstore.ProblemLastPut, nil, err)
	})
}

// counts compares the counters as of asOf; those of aliases are compared with the aliases.
func (c *checker) counts() {
	if c.hasCounters == 0 {
		return
	}
	if c.counters.NextSegment < c.segment {
		c.problem(chainstore.ProblemCounters, nil, "the counters would use a segment again")
	}
	if c.counters.Puts < max(c.puts, c.counted.Nodes) {
		c.problem(chainstore.ProblemCounters, nil, "the counters would use a number of a spawned node again")
	}
	if c.counters.Erasures == 0 && c.counted.Erasures > 0 {
		c.problem(chainstore.ProblemCounters, nil, "the counters have no erasures, and there are receipts")
	}
	counted, stored := c.counted, c.counters
	counted.NextSegment, counted.Puts, counted.Aliases = stored.NextSegment, stored.Puts, stored.Aliases
	counted.Floor, counted.Swept, counted.Erasures, counted.Rest = stored.Floor, stored.Swept, stored.Erasures, stored.Rest
	if stored != counted {
		c.problem(chainstore.ProblemCounters, nil, "the counters differ from what there is")
	}
}

// names notes that a row names a segment, whose number must not be given again though its nodes are lost.
func (c *checker) names(segment uint64) {
	if c.Mend != nil && segment <= math.MaxInt64 {
		c.segment = max(c.segment, segment)
	}
}

// mendCounters writes the counters of the namespace anew where they are not what there is. What a node counts that cannot be read, or that
// a damaged file may hide, is not known: then counters stay,
// and those that cannot be read are made only where no file hides rows that would be given their places again.
func (c *checker) mendCounters() {
	now, stored := c.counted, c.counters
	now.NextSegment = max(stored.NextSegment, c.segment)
	now.Puts = max(stored.Puts, c.puts, c.counted.Nodes)
	now.Floor, now.Swept, now.Erasures, now.Rest = stored.Floor, stored.Swept, max(stored.Erasures, now.Erasures), stored.Rest
	if c.hasCounters == 0 {
		if now.Floor = c.floor; now.Erasures > 0 { // clients may know any number that was counted before
			now.Erasures = chainstore.NextErasures(0, c.Now().UnixMilli(), now.Erasures)
		}
	}
	if c.hasCounters == 1 && now == stored || c.Namespace == layout.NoNamespace {
		return
	}
	c.problem(chainstore.ProblemCounters, nil, "the counters differ from what there is, or cannot be read")
	if !c.hides && (c.hasCounters == 0 || !c.unreadable) {
		c.set(layout.CountersKey(c.Namespace), layout.AppendCounters(nil, &now))
	}
}
