package commit

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/derive"
)

// Request is a change in the queue.
type Request struct {
	Ctx context.Context
	// weight is the room that the change has. Who the change belongs to at last gives it back: the caller that abandons it, or
	// the committer as it answers.
	weight    int64
	Namespace string
	Change    *chainstore.Change
	// tokenKey asks for a key of page tokens; the change is then empty.
	tokenKey bool
	// settings replace those of the namespace, if not nil; the change is then empty. set is how they are then.
	settings *chainstore.SettingsChange
	set      chainstore.SettingsNow
	// restore is what is restored, if not nil; the change is then empty. restored counts the aliases that were set.
	restore  *restore
	restored int
	// prepared has what was made of compaction nodes before the change was in the queue. It is not changed. last: what it
	// does not have, the committer must make.
	prepared map[*chainstore.NewNode]*derive.Refold
	last     bool
	// state tells who has the change: see the constants.
	state atomic.Int32
	// Released is closed once the committer looks at the change no more; answered, once the outcome is there.
	Released, Answered chan struct{}
	Committed          *chainstore.Committed
	Err                error

	// Waits is its place in the queue, to which it belongs; nil: it is not there.
	Waits *list.Element
}

const (
	queued    = iota // nobody: the caller may leave
	taken            // the committer
	abandoned        // the caller, who has left: what the change held is free
)

// release says that the change is no longer looked at, and lets go of it.
func (r *Request) release() {
	r.Change, r.prepared, r.restore = nil, nil, nil
	close(r.Released)
}

// queue has the requests that wait for the committer, in the order in which they came. One leaves in no more time than it
// came, however many wait.
type queue struct {
	Mu       sync.Mutex
	Requests list.List
	shut     bool
	// Wake has a token where a request came since the committer last looked.
	Wake chan struct{}
}

func newQueue() *queue { return &queue{Wake: make(chan struct{}, 1)} }

// add puts a request at the end; false where the queue is shut.
func (q *queue) add(r *Request) bool {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if q.shut {
		return false
	}
	r.Waits = q.Requests.PushBack(r)
	select {
	case q.Wake <- struct{}{}:
	default:
	}
	return true
}

// remove takes a request out, unless the committer has.
func (q *queue) remove(r *Request) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if r.Waits != nil {
		q.Requests.Remove(r.Waits)
		r.Waits = nil
	}
}

// take takes all out.
func (q *queue) take() []*Request {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	all := make([]*Request, 0, q.Requests.Len())
	for e := q.Requests.Front(); e != nil; e = e.Next() {
		r := e.Value.(*Request)
		r.Waits = nil
		all = append(all, r)
	}
	q.Requests.Init()
	return all
}

// shutdown lets nothing in any more.
func (q *queue) shutdown() {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.shut = true
}
