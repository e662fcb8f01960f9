package collect

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// forgetAtOnce is how many past states of aliases are deleted in a commit.
const forgetAtOnce = 1000

// aliases marks the nodes that aliases point to, and their states that are told of, and deletes the other states.
func (c *collection) aliases(ctx context.Context) error {
	var untold []commit.PastState
	flush := func(all bool) error {
		for len(untold) >= forgetAtOnce || all && len(untold) > 0 {
			n := min(len(untold), forgetAtOnce)
			if !c.DryRun {
				if err := c.sweeping.Forget(ctx, c.namespace, untold[:n]); err != nil {
					return err
				}
			}
			untold = untold[n:]
			c.told.States += int64(n)
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
		for _, st := range rest {
			untold = append(untold, commit.PastState{Name: name, Number: st.Number})
		}
		return nil
	}, func() error { return flush(false) })
	if err != nil {
		return err
	}
	return flush(true)
}
