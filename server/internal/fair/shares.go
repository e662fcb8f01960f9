package fair

import (
	"context"
	"sync"
)

// Shares bound what each party may have at once of something that is for all, where parties are told apart by name: turns alone do not keep one
// that gives nothing back from having all of it. Whoever takes some takes it of its party's share first, and gives it back there too.
type Shares struct {
	size int64

	mu sync.Mutex
	of map[string]*Semaphore
	// sweepAt is how many there are when those of which nothing is taken are dropped: each is like a new one.
	sweepAt int
}

// NewShares makes shares of a size.
func NewShares(size int64) *Shares {
	return &Shares{size: size, of: map[string]*Semaphore{}, sweepAt: leastKept}
}

// Of is the share of the context's party; nil: it has no name, and may have all.
func (s *Shares) Of(ctx context.Context) *Semaphore {
	name, told := ctx.Value(Party{}).(string)
	if !told {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	share := s.of[name]
	if share == nil {
		s.sweep()
		share = NewSemaphore(s.size)
		s.of[name] = share
	}
	return share
}

// sweep drops shares that nobody uses, once they have doubled. Who was given one just before takes of it all the same.
func (s *Shares) sweep() {
	if len(s.of) < s.sweepAt {
		return
	}
	for name, share := range s.of {
		if share.idle() {
			delete(s.of, name)
		}
	}
	s.sweepAt = max(leastKept, 2*len(s.of))
}

func (s *Semaphore) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used == 0 && s.round.Len() == 0
}

// Try takes n of each, if there is as much of each and nobody waits; one that is nil has enough.
func Try(n int64, of ...*Semaphore) bool {
	for i, s := range of {
		if s != nil && !s.TryAcquire(n) {
			Release(n, of[:i]...)
			return false
		}
	}
	return true
}

// Acquire takes n of each, one after the other, and waits for its turns. The error is the context's; then nothing was taken.
func Acquire(ctx context.Context, n int64, of ...*Semaphore) error {
	for i, s := range of {
		if s == nil {
			continue
		}
		if err := s.Acquire(ctx, n); err != nil {
			Release(n, of[:i]...)
			return err
		}
	}
	return nil
}

// Release gives n back to each.
func Release(n int64, to ...*Semaphore) {
	for _, s := range to {
		if s != nil {
			s.Release(n)
		}
	}
}
