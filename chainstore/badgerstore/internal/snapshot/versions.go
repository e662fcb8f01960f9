package snapshot

import (
	"context"
	"sync"
)

// Versions knows the newest state that readers may see and which states are being read, and tells the database what
// it may throw away: versions that no open or later read can see.
type Versions struct {
	// forget tells the database.
	forget func(commit uint64)
	mu     sync.Mutex
	idle   sync.Cond
	// Published is the timestamp of the last commit that is durable; discarded <= published.
	Published, Discarded uint64
	// open counts the reads under way at each timestamp; discarded <= each.
	open   map[uint64]int
	closed bool
	// ended is closed when a read ends that was the last one of its state; nil: nobody waits for that.
	ended chan struct{}
}

func NewVersions(forget func(commit uint64), published uint64) *Versions {
	r := &Versions{forget: forget, Published: published, open: map[uint64]int{}}
	r.idle.L = &r.mu
	forget(published)
	r.Discarded = published
	return r
}

// begin opens a read of the newest state; ok is false once shut was called.
func (r *Versions) begin() (ts uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, false
	}
	r.open[r.Published]++
	return r.Published, true
}

func (r *Versions) end(ts uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[ts]--; r.open[ts] == 0 {
		delete(r.open, ts)
		r.discard()
		if r.ended != nil {
			close(r.ended)
			r.ended = nil
		}
	}
	if r.closed && len(r.open) == 0 {
		r.idle.Broadcast()
	}
}

// Publish lets reads that begin from now on see the state at ts.
func (r *Versions) Publish(ts uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Published = ts
	r.discard()
}

func (r *Versions) Last() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Published
}

// WaitFor returns when no read is open of a state before a commit, or with the context's error. The committer's own reads are not waited for.
func (r *Versions) WaitFor(ctx context.Context, commit uint64) error {
	for {
		ended := r.olderThan(commit)
		if ended == nil {
			return nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// olderThan is closed when a read has ended; nil where none is open of before a commit.
func (r *Versions) olderThan(commit uint64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ts := range r.open {
		if ts < commit {
			if r.ended == nil {
				r.ended = make(chan struct{})
			}
			return r.ended
		}
	}
	return nil
}

// discard follows the oldest open read. mu is held.
func (r *Versions) discard() {
	oldest := r.Published
	for ts := range r.open {
		oldest = min(oldest, ts)
	}
	if oldest > r.Discarded {
		r.Discarded = oldest
		r.forget(oldest)
	}
}

// Shut lets no further read begin; it tells whether this call was the one that did.
func (r *Versions) Shut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.closed
	r.closed = true
	return first
}

func (r *Versions) IsShut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// Wait returns when no read is open. The committer's own reads are among them.
func (r *Versions) Wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.open) > 0 {
		r.idle.Wait()
	}
}
