package collect

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// forgetAtOnce is how many past states of aliases are read again in a commit that deletes some of them, but for those of one alias more.
const forgetAtOnce = 4000

// aliases marks the nodes that aliases point to, and their states that are told of, and deletes the other states.
func (c *collection) aliases(ctx context.Context) error {
	var due []history
	rows := 0
	flush := func(atLeast int) error {
		for len(due) > 0 && rows >= atLeast {
			var names []string
			for before := rows; len(due) > 0 && before-rows < forgetAtOnce; due = due[1:] {
				names, rows = append(names, due[0].name), rows-due[0].states
			}
			states, err := c.sweeping.Forget(ctx, c.namespace, names)
			if err == nil {
				c.told.States += states
				err = c.tick()
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := c.pages(ctx, layout.TableAliases, func(v *snapshot.Snapshot, key, value []byte) error {
		a, err := layout.ParseAlias(value)
		if err != nil {
			return err
		}
		name := layout.ParseAliasKey(key)
		if !a.Deleted {
			if err := c.sweeping.Live.Add(v, a.At); err != nil {
				return err
			}
		}
		if a.States == 1 {
			return nil
		}
		told, rest, err := v.PastStates(ctx, name, a, c.sweeping.Now)
		if err != nil {
			return err
		}
		for _, st := range told {
			if !st.Deleted {
				if err := c.sweeping.Live.Add(v, st.At); err != nil {
					return err
				}
			}
		}
		switch {
		case len(rest) == 0:
		case c.DryRun:
			c.told.States += int64(len(rest))
		default:
			due, rows = append(due, history{name, len(told) + len(rest)}), rows+len(told)+len(rest)
		}
		return nil
	}, func() error { return flush(forgetAtOnce) })
	if err != nil {
		return err
	}
	return flush(0)
}

// history is an alias with past states that nobody is told of, and how many it has in all.
type history struct {
	name   string
	states int
}
