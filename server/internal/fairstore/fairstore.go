// Package fairstore lets callers who lost a race for an alias take turns.
package fairstore

import (
	"container/list"
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

// Store is a store whose losers take turns. Where many callers append to one alias at its head, one wins and all others
// learn of the new head at once, to lose again together: of 20 writers, 19 calls in 20 are for nothing. So only who loses
// where no race goes on is told at once, which begins one. Others are kept in the order in which they came, and told one for
// each append that moves the alias, of the head that it moved to; all of them once none has moved it for turnTime, and each
// shortly before its deadline. Who was told and loses again, to the winner say, who knows the new head as soon, goes before
// those who were not told yet, else the unlucky would stand behind all others once more; after mostInRow of them one of the others
// is told. Who loses again is known by what it puts, so who puts something else then stands behind, and so does who repeats a call
// as it was, with the head that it lost with. What is told is true when it is told, and a caller without rivals, or with one, never waits.
type Store struct {
	chainstore.Store
	mu    sync.Mutex
	races map[aliasKey]*race
}

// aliasKey is an alias.
type aliasKey struct{ namespace, alias string }

// race is an alias that somebody lost lately. It ends when it is won and nobody waits, or turnTime after it was won last.
type race struct {
	// again are those who wait though they were told before, waiting the others; in either the first to come is first.
	again, waiting list.List
	// inRow is how many of again were told one after the other.
	inRow int
	// told are the last who were told.
	told []attempt
	end  *time.Timer
}

// attempt is what a caller tried in vain.
type attempt struct {
	// content is the id that its node would have as a root, the same behind any head.
	content, head chainstore.ID
}

// waiter is a caller who is kept.
type waiter struct {
	attempt
	// turn is closed when it may go.
	turn chan struct{}
	// in is where it waits, and at its place there; at is nil once it is told.
	in *list.List
	at *list.Element
}

// mostTold is how many of those who were told are known when they lose again, which they do within a few moves.
const mostTold = 16

// mostInRow is how many of those who lose again are told before one who was not told yet: a winner who is always faster than all of
// them keeps nobody else waiting for ever.
const mostInRow = 8

// keep lets a caller wait.
func (r *race) keep(lost attempt) *waiter {
	w := &waiter{attempt: lost, turn: make(chan struct{}), in: &r.waiting}
	before := slices.IndexFunc(r.told, func(a attempt) bool { return a.content == lost.content })
	if before >= 0 {
		if r.told[before].head != lost.head {
			w.in = &r.again
		}
		r.told = slices.Delete(r.told, before, before+1)
	}
	w.at = w.in.PushBack(w)
	return w
}

// next lets one go, those first who were told before, but mostInRow of them in a row if others wait; false where nobody waits.
func (r *race) next() bool {
	from := &r.again
	if from.Len() == 0 || r.inRow >= mostInRow && r.waiting.Len() > 0 {
		from, r.inRow = &r.waiting, 0
	} else {
		r.inRow++
	}
	first := from.Front()
	if first == nil {
		return false
	}
	r.tell(first.Value.(*waiter))
	return true
}

// tell lets a caller go, and remembers it.
func (r *race) tell(w *waiter) {
	w.in.Remove(w.at)
	w.at = nil
	close(w.turn)
	r.remember(w.attempt)
}

func (r *race) remember(lost attempt) {
	r.told = append(r.told, lost)
	if len(r.told) > mostTold {
		r.told = slices.Delete(r.told, 0, 1)
	}
}

// New makes a fair store of another.
func New(store chainstore.Store) *Store {
	return &Store{Store: store, races: map[aliasKey]*race{}}
}

// Commit is the store's; a caller who lost an alias may be answered later.
func (s *Store) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	done, err := s.Store.Commit(ctx, namespace, change)
	if err == nil {
		for i := range change.Aliases {
			if a := &change.Aliases[i]; a.Target.Kind == chainstore.TargetNew && done.Aliases[i].Changed {
				s.won(aliasKey{namespace, a.Name})
			}
		}
		return done, nil
	}
	var conflict *chainstore.ConflictError
	if errors.As(err, &conflict) && len(conflict.Conflicts) == 1 {
		s.lost(ctx, namespace, change, &conflict.Conflicts[0])
	}
	return done, err
}

// won lets one go who waits for the alias.
func (s *Store) won(alias aliasKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.races[alias]
	if r == nil {
		return
	}
	if !r.next() {
		r.end.Stop()
		delete(s.races, alias)
		return
	}
	r.end.Reset(turnTime)
}

// lost keeps a caller until it is its turn, and brings the conflict up to date. Only who appends at a head is kept, and lost
// to what is not a compaction.
func (s *Store) lost(ctx context.Context, namespace string, change *chainstore.Change, c *chainstore.Conflict) {
	a := &change.Aliases[c.Index]
	if c.Kind != chainstore.HeadIs || !c.Exists || c.Compaction || a.Target.Kind != chainstore.TargetNew {
		return
	}
	parent := change.EffectiveParent(a.Target.Node)
	if parent.Kind != chainstore.ParentID {
		return
	}
	identify := change.Nodes[a.Target.Node].Identify
	r, w := s.wait(aliasKey{namespace, a.Name}, attempt{identify(nil), a.Condition.Head})
	if w == nil {
		return
	}
	waiting, cancel := deadline.Early(ctx)
	defer cancel()
	select {
	case <-w.turn:
	case <-waiting.Done():
		s.giveUp(r, w)
		if ctx.Err() != nil {
			return
		}
	}
	// What it lost to was true while it was under way; of a head with which the condition would hold it must not be said that
	// it does not.
	now, err := s.Alias(ctx, namespace, a.Name)
	if err == nil && now.Node != a.Condition.Head && now.Node != identify(&parent.ID) {
		c.Node, c.Revision = now.Node, now.Revision
	}
}

// wait enters a caller who lost into the alias's race; nil is a waiter who begins one, and need not wait.
func (s *Store) wait(alias aliasKey, lost attempt) (*race, *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.races[alias]; r != nil {
		return r, r.keep(lost)
	}
	r := &race{}
	r.remember(lost)
	r.end = time.AfterFunc(turnTime, func() { s.over(alias, r) })
	s.races[alias] = r
	return r, nil
}

// giveUp lets a caller go who can wait no longer, so that no move is spent on it.
func (s *Store) giveUp(r *race, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.at != nil {
		r.tell(w)
	}
}

// over lets all go who wait still.
func (s *Store) over(alias aliasKey, r *race) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.races[alias] != r {
		return
	}
	delete(s.races, alias)
	for r.next() {
	}
}
