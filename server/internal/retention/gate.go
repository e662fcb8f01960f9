package retention

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

// lock is for many, or for one alone. Who waits gives up shortly before its deadline.
type lock struct{ *semaphore.Weighted }

func newLock() *lock { return &lock{semaphore.NewWeighted(math.MaxInt64)} }

func (l *lock) shared(ctx context.Context, f func() error) error { return l.with(ctx, 1, f) }

func (l *lock) alone(ctx context.Context, f func() error) error {
	return l.with(ctx, math.MaxInt64, f)
}

// with runs f with so much of it: ErrOverloaded where that was not to be had in time.
func (l *lock) with(ctx context.Context, n int64, f func() error) error {
	if !l.TryAcquire(n) {
		waiting, cancel := deadline.Early(ctx)
		defer cancel()
		if err := l.Acquire(waiting, n); err != nil {
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return chainstore.ErrOverloaded
		}
	}
	defer l.Release(n)
	return f()
}

// gate is where aliases of some namespaces are set. Who sets one shares sets; an erasure in a namespace with a hold has it alone for its last look and
// its commit.
type gate struct {
	sets *lock
	mu   sync.Mutex
	// watches are the erasures in namespaces with a hold, which are told what is set.
	watches map[*Erasing]bool
}

func (k *Keeper) gate(namespace string) *gate {
	return &k.gates[maphash.String(k.seed, namespace)%gates]
}

// tell tells erasures of names that were set, or may have been.
func (g *gate) tell(namespace string, names func(yield func(name string))) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for e := range g.watches {
		if e.namespace == namespace {
			names(func(name string) {
				if e.held.Holds(name) {
					e.set[name] = true
				}
			})
		}
	}
}

// gated is a store whose aliases are set through gates.
type gated struct {
	chainstore.Store
	keeper *Keeper
}

// Gated is a store whose aliases are set with the keeper's knowledge: every alias that is set has to be set by it. store is that of the keeper.
func (k *Keeper) Gated(store chainstore.Store) chainstore.Store {
	return &gated{store, k}
}

// Commit is the store's. One that sets an alias waits for an erasure that is being committed in a namespace with a hold.
func (s *gated) Commit(ctx context.Context, namespace string, change *chainstore.Change) (done *chainstore.Committed, err error) {
	sets := false
	for i := range change.Aliases {
		sets = sets || change.Aliases[i].Target.Kind != chainstore.TargetNone
	}
	if !sets {
		return s.Store.Commit(ctx, namespace, change)
	}
	err = s.set(ctx, namespace, func(yield func(string)) {
		for i := range change.Aliases {
			yield(change.Aliases[i].Name)
		}
	}, func() (err error) {
		done, err = s.Store.Commit(ctx, namespace, change)
		return err
	})
	return done, err
}

// Restore is the store's. It waits as Commit does.
func (s *gated) Restore(ctx context.Context, namespace string, r *chainstore.Restored) (set int, err error) {
	err = s.set(ctx, namespace, func(yield func(string)) {
		for i := range r.Aliases {
			yield(r.Aliases[i].Name)
		}
	}, func() (err error) {
		set, err = s.Store.Restore(ctx, namespace, r)
		return err
	})
	return set, err
}

func (s *gated) set(ctx context.Context, namespace string, names func(yield func(name string)), f func() error) error {
	g := s.keeper.gate(namespace)
	return g.sets.shared(ctx, func() error {
		defer g.tell(namespace, names) // also where nobody knows whether it took place
		return f()
	})
}
