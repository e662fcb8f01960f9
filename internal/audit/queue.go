package audit

import (
	"sync"
	"sync/atomic"
	"time"
)

// entry is a line that is to be made; none at all, where it only asks for what waits to be written.
type entry struct {
	line
	// done is closed once it is written, or err says why not.
	done chan struct{}
	err  error
}

// bytes are about those that it takes in memory.
func (e *entry) bytes() int {
	const own = 512
	if e.of == nil {
		return own
	}
	n := own + len(e.of.Principal) + len(e.of.Namespace) + len(e.of.Peer)
	for _, id := range e.of.Nodes {
		n += len(id)
	}
	for _, alias := range e.of.Aliases {
		n += len(alias)
	}
	return n
}

// queue has what the goroutine that writes is to write. Its methods may run at once.
type queue struct {
	// wake has something once there is something.
	wake chan struct{}
	// hangs says that the goroutine did not come for longer than patience.
	hangs atomic.Bool

	mu      sync.Mutex
	entries []*entry
	size    int
	// failing says that what was taken last could not be written.
	failing bool
	// lost is how many entries there was no room for, of which the goroutine does not know yet.
	lost   uint64
	closed bool
}

func newQueue() queue { return queue{wake: make(chan struct{}, 1)} }

// put adds an entry. ErrUnwritten: there is no room for it, or the audit is closed.
func (q *queue) put(e *entry) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	bytes := e.bytes()
	switch {
	case q.closed:
		return errClosed
	case q.size+bytes > maxQueued:
		if e.of != nil {
			q.lost++
		}
		return errHangs
	}
	q.entries, q.size = append(q.entries, e), q.size+bytes
	wake(q.wake)
	return nil
}

// take gives all entries, and how many were lost behind them.
func (q *queue) take() (all []*entry, lost uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all, lost = q.entries, q.lost
	q.entries, q.size, q.lost = nil, 0, 0
	return all, lost
}

// written says that what was taken last is written, or why not.
func (q *queue) written(err error) {
	q.mu.Lock()
	q.failing = err != nil
	q.mu.Unlock()
	q.hangs.Store(false)
}

// well tells whether the last that is known is that all could be written.
func (q *queue) well() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.closed && !q.failing
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

func (q *queue) numbers() (bytes int, lost uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size, q.lost
}

// await has an entry written, and waits for that, but not for a disk that hangs.
func (l *Log) await(e *entry) error {
	if err := l.queue.put(e); err != nil {
		return err
	}
	if l.queue.hangs.Load() {
		return errHangs
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-e.done:
		return e.err
	case <-late.C:
	}
	if l.queue.hangs.CompareAndSwap(false, true) {
		l.tell("its disk does not answer: lines wait in memory, and are lost once there are too many", errHangs)
	}
	return errHangs
}
