package badgerstore

import (
	"sync"
)

// openReads knows the newest state that readers may see and which states are being read, and tells the database what
// it may throw away: versions that no open or later read can see.
type openReads struct {
	// forget tells the database.
	forget func(commit uint64)
	mu     sync.Mutex
	idle   sync.Cond
	// published is the timestamp of the last commit that is durable; discarded <= published.
	published, discarded uint64
	// open counts the reads under way at each timestamp; discarded <= each.
	open   map[uint64]int
	closed bool
}

func newOpenReads(forget func(commit uint64), published uint64) *openReads {
	r := &openReads{forget: forget, published: published, open: map[uint64]int{}}
	r.idle.L = &r.mu
	forget(published)
	r.discarded = published
	return r
}

// begin opens a read of the newest state; ok is false once shut was called.
func (r *openReads) begin() (ts uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, false
	}
	r.open[r.published]++
	return r.published, true
}

func (r *openReads) end(ts uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[ts]--; r.open[ts] == 0 {
		delete(r.open, ts)
		r.discard()
	}
	if r.closed && len(r.open) == 0 {
		r.idle.Broadcast()
	}
}

// publish lets reads that begin from now on see the state at ts.
func (r *openReads) publish(ts uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.published = ts
	r.discard()
}

func (r *openReads) last() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.published
}

// discard follows the oldest open read. mu is held.
func (r *openReads) discard() {
	oldest := r.published
	for ts := range r.open {
		oldest = min(oldest, ts)
	}
	if oldest > r.discarded {
		r.discarded = oldest
		r.forget(oldest)
	}
}

// shut lets no further read begin; it tells whether this call was the one that did.
func (r *openReads) shut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.closed
	r.closed = true
	return first
}

func (r *openReads) isShut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// wait returns when no read is open. The committer's own reads are among them.
func (r *openReads) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.open) > 0 {
		r.idle.Wait()
	}
}
