package badgerstore

import (
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
)

// aliases checks every alias, its entries in the two indexes, and its history.
func (c *checker) aliases() error {
	err := c.each(tableAliases, func(key, value []byte) error {
		c.out.Entries++
		a, err := parseAlias(value)
		if err != nil {
			return c.judged(nil, err)
		}
		return c.alias(parseAliasKey(key), a)
	})
	if err != nil {
		return err
	}
	if c.lost > 0 {
		c.problem(nil, "%d aliases, or past states of them, point to nodes that cannot be read", c.lost)
	}
	for _, table := range []byte{tableMoved, tableHeads, tableHistory} {
		if err := c.noMore(table); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) alias(name string, a *aliasRow) error {
	if !a.deleted {
		c.counted.aliases++
		id, err := c.idAt(a.at)
		if errors.Is(err, chainstore.ErrCorrupt) {
			c.lost++
			return c.history(name, a)
		}
		if err != nil {
			return err
		}
		for _, key := range [][]byte{movedKey(c.ns, name, a.movedAt), headKey(c.ns, a.at, name)} {
			if err := c.expect(&id, key, nil); err != nil {
				return err
			}
		}
	}
	return c.history(name, a)
}

// history looks for the states that an alias left and that its ring holds: its last historySlots, however many its row says that
// there were.
func (c *checker) history(name string, a *aliasRow) error {
	first := uint64(1)
	if a.states > historySlots {
		first = a.states - historySlots
	}
	later, astray := a.deleted, 0
	for number := a.states - 1; number >= first; number-- {
		if err := c.tick(); err != nil {
			return err
		}
		c.out.Entries++
		value, found, err := c.get(historyKey(c.ns, name, number))
		if err != nil {
			return err
		}
		if !found {
			astray++
			continue
		}
		c.found[tableHistory]++
		st, err := parsePastState(value)
		switch {
		case err != nil:
			c.problem(nil, "%v", err)
		case st.number != number:
			astray++
		default:
			if err := c.pastState(&st, later); err != nil {
				return err
			}
		}
		later = err == nil && st.deleted
	}
	if astray > 0 {
		c.problem(nil, "an alias has %d states, and %d of its past ones are missing or have another number than their place", a.states, astray)
	}
	return nil
}

// pastState checks a past state; later says whether the one after it was a deletion.
func (c *checker) pastState(st *pastState, later bool) error {
	if st.deleted {
		if later {
			c.problem(nil, "an alias was deleted where it was not there")
		}
		return nil
	}
	_, err := c.idAt(st.at)
	if errors.Is(err, chainstore.ErrCorrupt) {
		c.lost++
		return nil
	}
	return err
}
