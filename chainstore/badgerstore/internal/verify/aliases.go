package verify

import (
	"bytes"
	"errors"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// aliases checks every alias, its entries in the two indexes, and its history.
func (c *checker) aliases() error {
	if c.aliasesAsOf == 0 {
		c.aliasesAsOf = c.Seen
	}
	err := c.walk(layout.TableAliases, func(cur *snapshot.Cursor) error {
		if c.isLater(cur) && c.aliasesAsOf != c.Seen { // so that a check ends, however much is written meanwhile
			cur.Next()
			return nil
		}
		c.at.entries++
		key := cur.Key()
		err := cur.Value(func(value []byte) error {
			a, err := layout.ParseAlias(value)
			if err != nil {
				return c.judged(chainstore.ProblemAlias, nil, err)
			}
			return c.alias(layout.ParseAliasKey(key), a)
		})
		cur.Next()
		return c.judged(chainstore.ProblemAlias, nil, err)
	})
	if err != nil {
		return err
	}
	if c.lost > 0 {
		c.problem(chainstore.ProblemAlias, nil, "%d aliases, or past states of them, point to nodes that cannot be read", c.lost)
	}
	return c.aliasCount()
}

// aliasCount compares the number of aliases with the counter where all were read of one state of the store.
func (c *checker) aliasCount() error {
	if c.aliasesAsOf != c.Seen || c.Mend != nil {
		return nil
	}
	stored, err := c.Counters()
	if errors.Is(err, chainstore.ErrCorrupt) { // which is told
		return nil
	}
	if err == nil && stored.Aliases != c.counted.Aliases {
		c.problem(chainstore.ProblemCounters, nil, "the counter of aliases differs from what there is")
	}
	return err
}

// aliasEntries are the rows that follow from an alias: those of the indexes.
func (c *checker) aliasEntries(name string, a *layout.AliasRow) [][]byte {
	if a.Deleted {
		return nil
	}
	keys := [][]byte{layout.HeadKey(c.Namespace, a.At, name)}
	for folder := range chainstore.Folders(name) {
		keys = append(keys, layout.MovedKey(c.Namespace, folder, name, a.MovedAt))
	}
	return keys
}

func (c *checker) alias(name string, a *layout.AliasRow) error {
	c.names(a.At.Segment)
	if a.Deleted {
		c.floor = max(c.floor, uint64(a.Revision))
	}
	if !a.Deleted {
		c.counted.Aliases++
		id, err := c.IDAt(a.At)
		if errors.Is(err, chainstore.ErrCorrupt) {
			c.lost++
			return c.history(name, a)
		}
		if err != nil {
			return err
		}
		for _, key := range c.aliasEntries(name, a) {
			c.at.entries++
			if _, err := c.matches(&id, key, nil); err != nil {
				return err
			}
		}
	}
	return c.history(name, a)
}

// movedRows and headRows check that each entry of the two indexes follows from an alias.
func (c *checker) movedRows() error {
	return c.follows(chainstore.ProblemIndex, layout.TableMoved, func(key []byte) (name string, ok bool) {
		_, name, _, err := layout.ParseMovedKey(key)
		return name, err == nil
	}, func(key []byte, name string, a *layout.AliasRow) bool {
		return slices.ContainsFunc(c.aliasEntries(name, a), func(entry []byte) bool { return bytes.Equal(entry, key) })
	})
}

func (c *checker) headRows() error {
	return c.follows(chainstore.ProblemIndex, layout.TableHeads, func(key []byte) (name string, ok bool) {
		_, rest, err := layout.ParsePlace(key)
		return string(rest), err == nil
	}, func(key []byte, name string, a *layout.AliasRow) bool {
		return slices.ContainsFunc(c.aliasEntries(name, a), func(entry []byte) bool { return bytes.Equal(entry, key) })
	})
}

// historyRows checks that each past state is of an alias, and one that its ring holds.
func (c *checker) historyRows() error {
	return c.follows(chainstore.ProblemAlias, layout.TableHistory, func(key []byte) (name string, ok bool) {
		end := len(key) - 2
		if end < layout.KeyPrefix || key[end] != 0 || key[end+1] >= layout.HistorySlots {
			return "", false
		}
		return string(key[layout.KeyPrefix:end]), true
	}, func(key []byte, _ string, a *layout.AliasRow) bool {
		first := a.FirstKept()
		if a.Forgot {
			return false
		}
		slot := (uint64(key[len(key)-1]) + layout.HistorySlots - first%layout.HistorySlots) % layout.HistorySlots
		return first+slot < a.States
	})
}

// follows checks that each row of a table follows from the alias that its key names, as of the same state of the store: how many do not
// is a problem of a kind. What was written since the check began is passed over. Of an index, one of an alias that is there can be dropped.
func (c *checker) follows(kind chainstore.ProblemKind, table byte, named func(key []byte) (name string, ok bool), from func(key []byte, name string, a *layout.AliasRow) bool) error {
	dropped := uint64(0)
	err := c.walk(table, func(cur *snapshot.Cursor) error {
		if c.isLater(cur) {
			cur.Next()
			return nil
		}
		key := cur.Key()
		name, ok := named(key)
		a, found, err := c.aliasOf(name)
		if err == nil && !(ok && found && (a == nil || from(key, name, a))) {
			c.rows++
			if kind == chainstore.ProblemIndex && (!ok || found) {
				c.drop(key)
				dropped++
			}
		}
		cur.Next()
		return err
	})
	if err == nil && c.Mend != nil && dropped > 0 {
		c.extra(kind, table, dropped)
		c.repaired()
		c.rows -= dropped
	}
	if err == nil {
		c.extra(kind, table, c.rows)
	}
	return err
}

// lookedUp is an alias's row as of a commit; nil where it cannot be read.
type lookedUp struct {
	name  string
	asOf  uint64
	row   *layout.AliasRow
	found bool
}

// aliasOf reads an alias's row; it is nil where it cannot be read, which is told. Many rows in succession may ask for the same.
func (c *checker) aliasOf(name string) (a *layout.AliasRow, found bool, err error) {
	if c.last.asOf == c.Seen && c.last.name == name && c.last.asOf > 0 {
		return c.last.row, c.last.found, nil
	}
	a, found, err = c.readAlias(name)
	if err == nil {
		c.last = lookedUp{name, c.Seen, a, found}
	}
	return a, found, err
}

func (c *checker) readAlias(name string) (a *layout.AliasRow, found bool, err error) {
	found, err = c.Borrow(layout.AliasKey(c.Namespace, name), func(value []byte) error {
		a, err = layout.ParseAlias(value)
		return err
	})
	if errors.Is(err, chainstore.ErrCorrupt) {
		return nil, true, nil
	}
	return a, found, err
}

// history looks for the states that an alias left and that its ring holds: its last historySlots, however many its row says that
// there were. Those that are not told of any more may have been deleted.
func (c *checker) history(name string, a *layout.AliasRow) error {
	if a.States == 1 || a.Forgot {
		return nil
	}
	past, err := c.pastOf(name)
	if err != nil {
		return err
	}
	first := a.FirstKept()
	later, astray, revision, ungrown := a.Deleted, 0, a.Began, 0
	began, untold, now := a.MovedAt, chainstore.Forgotten(a.Deleted, a.MovedAt, c.Now().UnixMilli()), c.Now().UnixMilli()
	for number := a.States - 1; number >= first; number-- {
		if err := c.tick(); err != nil {
			return err
		}
		c.at.entries++
		value := past[number%layout.HistorySlots]
		untold = untold || a.States-number >= chainstore.MaxHistory || now-began > chainstore.MaxHistoryAge
		if value == nil {
			astray += int(one(!untold))
			continue
		}
		st, err := layout.ParsePastState(value)
		switch {
		case err != nil:
			c.problem(chainstore.ProblemAlias, nil, "%v", err)
		case st.Number != number:
			astray++
		case st.Revision >= revision:
			ungrown++
		default:
			if err := c.pastState(&st, later); err != nil {
				return err
			}
		}
		if later = err == nil && st.Deleted; err == nil {
			revision = st.Revision
			untold = untold || chainstore.Forgotten(st.Deleted, st.Began, began)
			began = st.Began
		}
	}
	if astray > 0 {
		c.problem(chainstore.ProblemAlias, nil, "an alias has %d states, and %d of its past ones are missing or have another number than their place", a.States, astray)
	}
	if ungrown > 0 {
		c.problem(chainstore.ProblemAlias, nil, "an alias has %d past states with a revision that is not below that of the next", ungrown)
	}
	return nil
}

// pastOf reads the past states that are kept of an alias, by their slots. They lie in the order of aliases.
func (c *checker) pastOf(name string) (past [layout.HistorySlots][]byte, err error) {
	if c.beside == nil {
		c.beside = c.Iterate(layout.TableKey(c.Namespace, layout.TableHistory))
	}
	cur, first := c.beside, layout.HistoryKey(c.Namespace, name, 0)
	prefix := first[:len(first)-1]
	for cur.Seek(prefix); cur.Within(prefix); cur.Next() {
		slot := cur.Key()[len(prefix):]
		if len(slot) != 1 || slot[0] >= layout.HistorySlots {
			continue // which is told of its table
		}
		err := cur.Value(func(value []byte) error {
			past[slot[0]] = append([]byte{}, value...)
			return nil
		})
		if err != nil {
			return past, err
		}
	}
	return past, nil
}

// pastState checks a past state; later says whether the one after it was a deletion.
func (c *checker) pastState(st *layout.PastState, later bool) error {
	c.names(st.At.Segment)
	if st.Deleted {
		if later {
			c.problem(chainstore.ProblemAlias, nil, "an alias was deleted where it was not there")
		}
		return nil
	}
	_, err := c.IDAt(st.At)
	if errors.Is(err, chainstore.ErrCorrupt) {
		c.lost++
		return nil
	}
	return err
}
