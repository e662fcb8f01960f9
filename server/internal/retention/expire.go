package retention

import (
	"context"
	"errors"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

const (
	// expiredAtOnce is how many aliases a commit deletes at most.
	expiredAtOnce = 100
	// rests is how many times as long as a commit took it waits behind it, for mostRest at most, so that writers have the disk.
	rests    = 3
	mostRest = time.Second
)

// Expire deletes the aliases of a namespace that have expired by a time, with their histories, and forgets those that were deleted so long ago; with
// dryRun it counts them. An alias that somebody changes meanwhile stays, and so does one that is held by then. It tells how many so far, page by page.
func (k *Keeper) Expire(ctx context.Context, namespace string, now time.Time, dryRun bool, tell func(expired int64) error) (expired int64, err error) {
	rules, err := k.Rules(ctx, namespace)
	if err != nil {
		return 0, err
	}
	e := expiry{Keeper: k, namespace: namespace, now: now.UnixMilli(), dryRun: dryRun}
	take := func(due []expiring) error {
		n, err := e.take(ctx, due)
		if expired += n; err == nil {
			err = tell(expired)
		}
		return err
	}
	for _, prefix := range rules.expiring() {
		err := k.each(ctx, namespace, prefix, func(aliases []chainstore.Alias) error {
			var due []expiring
			for i := range aliases {
				due = e.add(due, rules, expiring{aliases[i].Name, aliases[i].Revision, aliases[i].MovedAt})
			}
			return take(due)
		})
		if err == nil {
			err = k.eachDeleted(ctx, namespace, prefix, func(aliases []chainstore.DeletedAlias) error {
				var due []expiring
				for _, a := range aliases {
					due = e.add(due, rules, expiring(a))
				}
				return take(due)
			})
		}
		if err != nil {
			return expired, err
		}
	}
	return expired, nil
}

// expiring is an alias, or a deleted one, as of when it was last moved or deleted.
type expiring chainstore.DeletedAlias

// expiry is one under way.
type expiry struct {
	*Keeper
	namespace string
	now       int64
	dryRun    bool
}

// due tells whether an alias has expired.
func (e *expiry) due(rules Rules, a *expiring) bool {
	ttl := rules.ttl(a.Name).Milliseconds()
	return ttl > 0 && e.now-a.At >= ttl
}

func (e *expiry) add(all []expiring, rules Rules, a expiring) []expiring {
	if e.due(rules, &a) {
		all = append(all, a)
	}
	return all
}

// take takes aliases away, a few in each commit.
func (e *expiry) take(ctx context.Context, due []expiring) (taken int64, err error) {
	if e.dryRun {
		return int64(len(due)), nil
	}
	for atOnce := expiredAtOnce; len(due) > 0; {
		n := min(len(due), atOnce)
		began := time.Now()
		took, err := e.commit(ctx, due[:n])
		if errors.Is(err, chainstore.ErrTooLarge) && n > 1 {
			atOnce = n / 2
			continue
		}
		taken += took
		if err != nil {
			return taken, err
		}
		due = due[n:]
		if err := deadline.Sleep(ctx, min(rests*time.Since(began), mostRest)); err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// commit takes aliases away in one commit: those that are due by the rules of then, and are as they were found.
func (e *expiry) commit(ctx context.Context, due []expiring) (taken int64, err error) {
	var rules Rules
	err = e.Delete(ctx, e.namespace, func(r Rules) error { rules = r; return nil }, func() error {
		change := &chainstore.Change{}
		for i := range due {
			if e.due(rules, &due[i]) {
				change.Aliases = append(change.Aliases, chainstore.AliasChange{
					Name: due[i].Name, Target: chainstore.Target{Kind: chainstore.TargetNone}, Condition: chainstore.Condition{Revision: due[i].Revision}, Forget: true,
				})
			}
		}
		for len(change.Aliases) > 0 {
			done, err := e.store.Commit(ctx, e.namespace, change)
			var conflict *chainstore.ConflictError
			if !errors.As(err, &conflict) {
				taken = revised(done)
				return err
			}
			change.Aliases = without(change.Aliases, conflict)
		}
		return nil
	})
	return taken, err
}

// revised is how many aliases a commit has taken away: others were forgotten by somebody else.
func revised(done *chainstore.Committed) (n int64) {
	if done == nil {
		return 0
	}
	for i := range done.Aliases {
		if done.Aliases[i].Revised {
			n++
		}
	}
	return n
}

// without are the changes whose conditions held.
func without(all []chainstore.AliasChange, failed *chainstore.ConflictError) (rest []chainstore.AliasChange) {
	conflicts := map[int]bool{}
	for i := range failed.Conflicts {
		conflicts[failed.Conflicts[i].Index] = true
	}
	for i := range all {
		if !conflicts[i] {
			rest = append(rest, all[i])
		}
	}
	return rest
}
