package server

import (
	"context"
	"errors"
	"slices"
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
// that the alias moved to; all of them once it has not moved for turnTime, and each shortly before its deadline. Who was told and
// loses again, to the winner say, who knows the new head as soon, goes before those who were not told yet: else the
// unlucky would stand behind all others once more. It is known by what it puts, so who puts something else then stands behind.
// What is told is true when it is told, and a caller without rivals, or with one, never waits.
type turns struct {
	chainstore.Store
	mu    sync.Mutex
	races map[raced]*race
}

// raced is an alias.
type raced struct{ namespace, alias string }

// race is an alias that somebody lost lately. It ends when it is won and nobody waits, or turnTime after it was won last.
type race struct {
	// again are those who wait though they were told before, waiting the others; in either the first to come is first.
	again, waiting []*waiter
	// told are the last who were told: see content.
	told []chainstore.ID
	end  *time.Timer
}

// waiter is a caller who is kept.
type waiter struct {
	// content is the id that its node would have as a root, the same behind any head.
	content chainstore.ID
	// turn is closed when it may go.
	turn chan struct{}
}

// mostTold is how many of those who were told are known when they lose again, which they do within a few moves.
const mostTold = 16

// next lets one go, those first who were told before; false where nobody waits.
func (r *race) next() bool {
	from := &r.again
	if len(*from) == 0 {
		from = &r.waiting
	}
	if len(*from) == 0 {
		return false
	}
	w := (*from)[0]
	*from = (*from)[1:]
	r.tell(w.content)
	close(w.turn)
	return true
}

// tell remembers who is told.
func (r *race) tell(content chainstore.ID) {
	r.told = append(r.told, content)
	if len(r.told) > mostTold {
		r.told = slices.Delete(r.told, 0, 1)
	}
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
	if !r.next() {
		r.end.Stop()
		delete(t.races, alias)
		return
	}
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
	identify := change.Nodes[a.Target.Node].Identify
	turn := t.wait(raced{namespace, a.Name}, identify(nil))
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
	if err == nil && now.Node != a.Condition.Head && now.Node != identify(&parent.ID) {
		c.Node = now.Node
	}
}

// wait enters a caller who lost, and returns what is closed when it may go; nil for the first, who need not wait.
func (t *turns) wait(alias raced, content chainstore.ID) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.races[alias]
	if r == nil {
		r = &race{}
		r.tell(content)
		r.end = time.AfterFunc(turnTime, func() { t.over(alias, r) })
		t.races[alias] = r
		return nil
	}
	w := &waiter{content, make(chan struct{})}
	if i := slices.Index(r.told, content); i >= 0 {
		r.told = slices.Delete(r.told, i, i+1)
		r.again = append(r.again, w)
	} else {
		r.waiting = append(r.waiting, w)
	}
	return w.turn
}

// over lets all go who wait still.
func (t *turns) over(alias raced, r *race) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.races[alias] != r {
		return
	}
	delete(t.races, alias)
	for r.next() {
	}
}
