package badgerstore

import (
	"container/list"
	"sync"
)

// queue has the requests that wait for the committer, in the order in which they came. One leaves in no more time than it
// came, however many wait.
type queue struct {
	mu       sync.Mutex
	requests list.List
	shut     bool
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
	r.waits = q.requests.PushBack(r)
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
	if r.waits != nil {
		q.requests.Remove(r.waits)
		r.waits = nil
	}
}

// take takes all out.
func (q *queue) take() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]*request, 0, q.requests.Len())
	for e := q.requests.Front(); e != nil; e = e.Next() {
		r := e.Value.(*request)
		r.waits = nil
		all = append(all, r)
	}
	q.requests.Init()
	return all
}

// shutdown lets nothing in any more.
func (q *queue) shutdown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shut = true
}
