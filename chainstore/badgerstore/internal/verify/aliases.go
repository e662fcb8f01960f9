package verify

import (
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// aliases checks every alias, its entries in the two indexes, and its history.
func (c *checker) aliases() error {
	err := c.each(layout.TableAliases, func(key, value []byte) error {
		c.out.Entries++
		a, err := layout.ParseAlias(value)
		if err != nil {
			return c.judged(nil, err)
		}
		return c.alias(layout.ParseAliasKey(key), a)
	})
	if err != nil {
		return err
	}
	if c.lost > 0 {
		c.problem(nil, "%d aliases, or past states of them, point to nodes that cannot be read", c.lost)
	}
	for _, table := range []byte{layout.TableMoved, layout.TableHeads, layout.TableHistory} {
		if err := c.noMore(table); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) alias(name string, a *layout.AliasRow) error {
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
		keys := [][]byte{layout.HeadKey(c.Namespace, a.At, name)}
		for folder := range chainstore.Folders(name) {
			keys = append(keys, layout.MovedKey(c.Namespace, folder, name, a.MovedAt))
		}
		for _, key := range keys {
			if err := c.expect(&id, key, nil); err != nil {
				return err
			}
		}
	}
	return c.history(name, a)
}

// history looks for the states that an alias left and that its ring holds: its last historySlots, however many its row says that
// there were.
func (c *checker) history(name string, a *layout.AliasRow) error {
	first := uint64(1)
	if a.States > layout.HistorySlots {
		first = a.States - layout.HistorySlots
	}
	later, astray, revision, ungrown := a.Deleted, 0, a.Began, 0
	for number := a.States - 1; number >= first; number-- {
		if err := c.tick(); err != nil {
			return err
		}
		c.out.Entries++
		value, found, err := c.Get(layout.HistoryKey(c.Namespace, name, number))
		if err != nil {
			return err
		}
		if !found {
			astray++
			continue
		}
		c.found[layout.TableHistory]++
		st, err := layout.ParsePastState(value)
		switch {
		case err != nil:
			c.problem(nil, "%v", err)
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
		}
	}
	if astray > 0 {
		c.problem(nil, "an alias has %d states, and %d of its past ones are missing or have another number than their place", a.States, astray)
	}
	if ungrown > 0 {
		c.problem(nil, "an alias has %d past states with a revision that is not below that of the next", ungrown)
	}
	return nil
}

// pastState checks a past state; later says whether the one after it was a deletion.
func (c *checker) pastState(st *layout.PastState, later bool) error {
	if st.Deleted {
		if later {
			c.problem(nil, "an alias was deleted where it was not there")
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
