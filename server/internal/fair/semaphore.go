// Package fair shares what is scarce among those who ask for it, so that one who asks a thousand times gets no more than one who asks once
// at a time.
package fair

import (
	"container/list"
	"context"
	"sync"
)

// Semaphore is a weighted semaphore whose waiters take turns by whom they are of: whoever has waiters gets one served in each round, the
// first that came, however many others have. With a single party it is first come, first served.
//
// Nobody overtakes a waiter whose turn it is, also where less would be enough for another: so who asks for much is served too.
type Semaphore struct {
	mu sync.Mutex
	// size is all that there is, used what of it was taken: 0 <= used <= size.
	size, used int64
	// round has the parties that have waiters, in the order of their turns; each is in it once, with at least one waiter.
	round list.List
	// places are the parties' places in round.
	places map[any]*list.Element
}

// party is somebody who has waiters.
type party struct {
	of      any
	waiters list.List
}

// waiter waits for n.
type waiter struct {
	n int64
	// ready is closed once it has what it waits for.
	ready chan struct{}
}

// NewSemaphore makes a semaphore of a size.
func NewSemaphore(size int64) *Semaphore {
	return &Semaphore{size: size, places: map[any]*list.Element{}}
}

// TryAcquire takes n, if there is as much and nobody waits.
func (s *Semaphore) TryAcquire(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.try(n)
}

func (s *Semaphore) try(n int64) bool {
	if s.round.Len() > 0 || s.size-s.used < n {
		return false
	}
	s.used += n
	return true
}

// Party is the key under which a context has whom its calls are of, which is any value that can be the key of a map; those without are of
// one party.
type Party struct{}

// Acquire takes n for the context's party, and waits for its turn. The error is the context's; then nothing was taken. More than the size is
// never there.
func (s *Semaphore) Acquire(ctx context.Context, n int64) error {
	s.mu.Lock()
	if s.try(n) {
		s.mu.Unlock()
		return nil
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	at, p := s.wait(ctx.Value(Party{}), w)
	s.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.ready: // meanwhile
		return nil
	default:
	}
	s.leave(p, at)
	s.serve() // what it stood before may fit
	return ctx.Err()
}

// wait puts a waiter behind those of its party, and the party at the end of the round, unless it is in it.
func (s *Semaphore) wait(of any, w *waiter) (*list.Element, *party) {
	place := s.places[of]
	if place == nil {
		place = s.round.PushBack(&party{of: of})
		s.places[of] = place
	}
	p := place.Value.(*party)
	return p.waiters.PushBack(w), p
}

// leave takes a waiter out, and its party where that was the last.
func (s *Semaphore) leave(p *party, at *list.Element) {
	p.waiters.Remove(at)
	if p.waiters.Len() == 0 {
		s.round.Remove(s.places[p.of])
		delete(s.places, p.of)
	}
}

// Release gives n back.
func (s *Semaphore) Release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	s.serve()
}

// serve gives what is free to those whose turn it is.
func (s *Semaphore) serve() {
	for place := s.round.Front(); place != nil; place = s.round.Front() {
		p := place.Value.(*party)
		first := p.waiters.Front()
		w := first.Value.(*waiter)
		if s.size-s.used < w.n {
			return
		}
		s.used += w.n
		s.round.MoveToBack(place)
		s.leave(p, first)
		close(w.ready)
	}
}

// Wanted tells whether somebody waits.
func (s *Semaphore) Wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.round.Len() > 0
}
