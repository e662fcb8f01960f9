package identity

import (
	"sync"
	"time"
)

// maxRemembered bounds the tokens that are remembered, of which each takes a few hundred bytes.
const maxRemembered = 10_000

// remembered are tokens that were good, by their SHA-256. Its methods may run at once.
type remembered struct {
	mu sync.Mutex
	by map[[32]byte]memory
}

// memory is whom a token names, as long as the keys are those of set, until a time.
type memory struct {
	who   *Principal
	set   *keySet
	until time.Time
}

// get is whom a token names; nil: it is not remembered, or not good any more.
func (r *remembered) get(hash [32]byte, set *keySet, now time.Time) *Principal {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.by[hash]
	if !ok {
		return nil
	}
	if m.set != set || !now.Before(m.until) {
		delete(r.by, hash)
		return nil
	}
	return m.who
}

// put remembers a token; where there are too many, another is forgotten, whichever.
func (r *remembered) put(hash [32]byte, m memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[[32]byte]memory{}
	}
	for other := range r.by {
		if len(r.by) < maxRemembered {
			break
		}
		delete(r.by, other)
	}
	r.by[hash] = m
}

// forged counts the tokens of a second whose signature was not good. Its methods may run at once.
type forged struct {
	mu     sync.Mutex
	second int64
	n      int
}

// room tells whether a signature may be looked at now, by what those of the same second came to.
func (f *forged) room(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if second := now.Unix(); second != f.second {
		f.second, f.n = second, 0
	}
	return f.n < maxForged
}

func (f *forged) add() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
}
