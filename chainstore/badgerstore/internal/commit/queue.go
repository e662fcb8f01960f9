package commit

import (
	"container/list"
	"sync"
)

// queue has what waits for the committer, in the order in which it came. One leaves in no more time than it came, however many wait.
type queue[R waiting] struct {
	Mu       sync.Mutex
	Requests list.List
	shut     bool
	// Wake has a token where a request came since the committer last looked.
	Wake chan struct{}
}

// waiting has its place in a queue, to which that belongs; nil: it is in none.
type waiting interface{ place() **list.Element }

func newQueue[R waiting]() *queue[R] { return &queue[R]{Wake: make(chan struct{}, 1)} }

// add puts a request at the end; false where the queue is shut.
func (q *queue[R]) add(r R) bool {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if q.shut {
		return false
	}
	*r.place() = q.Requests.PushBack(r)
	select {
	case q.Wake <- struct{}{}:
	default:
	}
	return true
}

// remove takes a request out, unless the committer has.
func (q *queue[R]) remove(r R) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if at := r.place(); *at != nil {
		q.Requests.Remove(*at)
		*at = nil
	}
}

// take takes all out.
func (q *queue[R]) take() []R {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	all := make([]R, 0, q.Requests.Len())
	for e := q.Requests.Front(); e != nil; e = e.Next() {
		r := e.Value.(R)
		*r.place() = nil
		all = append(all, r)
	}
	q.Requests.Init()
	return all
}

// shutdown lets nothing in any more.
func (q *queue[R]) shutdown() {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.shut = true
}
