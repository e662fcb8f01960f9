package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

// turnTime is how long callers who lost a race for an alias are kept while it does not move.
const turnTime = 10 * time.Millisecond

// turns is a store whose losers take turns. Where many callers append to one alias at its head, one wins and all others
// learn of the new head at once, to lose again together: of 20 writers, 19 calls in 20 are for nothing. So only the first
// who loses after a move is told at once. Others are kept in the order in which they came, and told one for each move, of the head
// that the alias moved to; all of them once it has not moved for turnTime, and each shortly before its deadline. What is told is
// true when it is told, and a caller without rivals, or with one, never waits.
type turns struct {
	chainstore.Store
	mu    sync.Mutex
	races map[raced]*race
}

// raced is an alias.
type raced struct{ namespace, alias string }

// race is an alias that somebody lost lately. It ends when it is won and nobody waits, or turnTime after it was won last.
type race struct {
	// waiting has a channel for each caller who is kept, the first to come first: closed when it may go.
	waiting []chan struct{}
	end     *time.Timer
}

func takeTurns(store chainstore.Store) *turns {
	return &turns{Store: store, races: map[raced]*race{}}
}

// Commit is the store's; a caller who lost an alias may be answered later.
func (t *turns) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	done, err := t.Store.Commit(ctx, namespace, change)
	if err == nil {
		for i := range change.Aliases {
			if a := &change.Aliases[i]; a.Target.Kind == chainstore.TargetNew && done.Aliases[i].Changed {
				t.won(raced{namespace, a.Name})
			}
		}
		return done, nil
	}
	var conflict *chainstore.ConflictError
	if errors.As(err, &conflict) && len(conflict.Conflicts) == 1 {
		t.lost(ctx, namespace, change, &conflict.Conflicts[0])
	}
	return done, err
}

// won lets one go who waits for the alias.
func (t *turns) won(alias raced) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.races[alias]
	if r == nil {
		return
	}
	if len(r.waiting) == 0 {
		r.end.Stop()
		delete(t.races, alias)
		return
	}
	close(r.waiting[0])
	r.waiting = r.waiting[1:]
	r.end.Reset(turnTime)
}

// lost keeps a caller until it is its turn, and brings the conflict up to date. Only who appends at a head is kept, and lost
// to what is not a compaction.
func (t *turns) lost(ctx context.Context, namespace string, change *chainstore.Change, c *chainstore.Conflict) {
	a := &change.Aliases[c.Index]
	if c.Kind != chainstore.HeadIs || !c.Exists || c.Compaction || a.Target.Kind != chainstore.TargetNew {
		return
	}
	parent := change.EffectiveParent(a.Target.Node)
	if parent.Kind != chainstore.ParentID {
		return
	}
	turn := t.wait(raced{namespace, a.Name})
	if turn == nil {
		return
	}
	waiting, cancel := deadline.Early(ctx)
	defer cancel()
	select {
	case <-turn:
	case <-waiting.Done():
		if ctx.Err() != nil {
			return
		}
	}
	// What it lost to was true while it was under way; of a head with which the condition would hold it must not be said that
	// it does not.
	now, err := t.Alias(ctx, namespace, a.Name)
	if err == nil && now.Node != a.Condition.Head && now.Node != change.Nodes[a.Target.Node].Identify(&parent.ID) {
		c.Node = now.Node
	}
}

// wait enters a caller who lost, and returns what is closed when it may go; nil for the first, who need not wait.
func (t *turns) wait(alias raced) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.races[alias]
	if r == nil {
		r = &race{}
		r.end = time.AfterFunc(turnTime, func() { t.over(alias, r) })
		t.races[alias] = r
		return nil
	}
	turn := make(chan struct{})
	r.waiting = append(r.waiting, turn)
	return turn
}

// over lets all go who wait still.
func (t *turns) over(alias raced, r *race) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.races[alias] != r {
		return
	}
	delete(t.races, alias)
	for _, turn := range r.waiting {
		close(turn)
	}
}
