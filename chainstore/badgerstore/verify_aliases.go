package badgerstore

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
	for _, table := range []byte{tableMoved, tableHeads, tableHistory} {
		if err := c.noMore(table); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) alias(name string, a *aliasRow) error {
	if a.states == 0 || a.deleted && (a.states == 1 || a.at != place{}) {
		c.problem(nil, "an alias has a number of states, or a place, that it cannot have")
	}
	if !a.deleted {
		c.counted.aliases++
		id, err := c.idAt(a.at)
		if err != nil {
			c.problem(nil, "an alias points to a node that cannot be read")
			return c.judged(nil, err)
		}
		for _, key := range [][]byte{movedKey(c.ns, name, a.movedAt), headKey(c.ns, a.at, name)} {
			if err := c.expect(&id, key, nil); err != nil {
				return err
			}
		}
	}
	return c.history(name, a)
}

// history looks for the states that an alias left and that its ring holds.
func (c *checker) history(name string, a *aliasRow) error {
	first := uint64(1)
	if a.states > historySlots {
		first = a.states - historySlots
	}
	later := a.deleted
	for number := a.states - 1; number >= first && number > 0; number-- {
		if err := c.tick(); err != nil {
			return err
		}
		c.out.Entries++
		value, found, err := c.get(historyKey(c.ns, name, number))
		if err != nil {
			return err
		}
		if !found {
			c.problem(nil, "a past state of an alias is missing")
			continue
		}
		c.found[tableHistory]++
		if err := c.pastState(value, number, later); err != nil {
			return err
		}
		st, _ := parsePastState(value)
		later = st.deleted
	}
	return nil
}

// pastState checks a past state; later says whether the one after it was a deletion.
func (c *checker) pastState(value []byte, number uint64, later bool) error {
	st, err := parsePastState(value)
	switch {
	case err != nil:
		return c.judged(nil, err)
	case st.number != number:
		c.problem(nil, "a past state of an alias has another number than its place")
	case st.deleted && (later || number == 1 || st.at != place{}):
		c.problem(nil, "an alias was deleted where it was not there")
	case !st.deleted:
		if _, err = c.idAt(st.at); err != nil {
			c.problem(nil, "a past state of an alias points to a node that cannot be read")
		}
	}
	return c.judged(nil, err)
}
