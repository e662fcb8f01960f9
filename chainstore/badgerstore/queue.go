package badgerstore

import "sync"

// queue has the requests that wait for the committer, in the order in which they came. One leaves in no more time than it
// came, however many wait.
type queue struct {
	mu          sync.Mutex
	first, last *request
	length      int
	shut        bool
	// wake has a token where a request came since the committer last looked.
	wake chan struct{}
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// add puts a request at the end; false where the queue is shut.
func (q *queue) add(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shut {
		return false
	}
	r.before, r.waits = q.last, true
	if q.last == nil {
		q.first = r
	} else {
		q.last.after = r
	}
	q.last = r
	q.length++
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// remove takes a request out, unless the committer has.
func (q *queue) remove(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !r.waits {
		return
	}
	if r.before == nil {
		q.first = r.after
	} else {
		r.before.after = r.after
	}
	if r.after == nil {
		q.last = r.before
	} else {
		r.after.before = r.before
	}
	r.before, r.after, r.waits = nil, nil, false
	q.length--
}

// take takes all out.
func (q *queue) take() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.length == 0 {
		return nil
	}
	all := make([]*request, 0, q.length)
	for r := q.first; r != nil; {
		next := r.after
		r.before, r.after, r.waits = nil, nil, false
		all = append(all, r)
		r = next
	}
	q.first, q.last, q.length = nil, nil, 0
	return all
}

// shutdown lets nothing in any more.
func (q *queue) shutdown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shut = true
}
