package badgerstore

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

// committer commits changes, one batch after the other: it takes what waits, applies each change to the batch, makes
// the batch durable, and answers. Meanwhile the next changes gather; a change that comes alone waits for nothing.
type committer struct {
	s *Store
	// room is the bytes that changes may yet take in the queue.
	room     *semaphore.Weighted
	capacity int64
	// queued is the bytes that changes take in it, each for as long as it is held; <= capacity.
	queued atomic.Int64
	// commits are durable batches, changes the changes in them.
	commits, changes atomic.Uint64
	// closing ends the wait for room.
	closing context.Context
	close   context.CancelFunc

	waiting *queue
	done    chan struct{}

	// What follows belongs to the goroutine that commits.

	// spare is the memory of the batch before; nil where there is none.
	spare  *batch
	failed bool
	// counters are those of namespaces as of the last commit.
	counters map[uint32]layout.Counters
	// ready tells what keeps puts, and even deletes, from being committed; durable commits them. Fields so that tests can let
	// them fail.
	ready   func() (puts, deletes error)
	durable func(writes map[string]write, ts uint64) error
	// pause is called between two commits, and returns no later than when the context ends; a field for tests, too.
	pause func(context.Context)
}

// request is a change in the queue.
type request struct {
	ctx context.Context
	// weight is the room that the change has. Who the change belongs to at last gives it back: the caller that abandons it, or
	// the committer as it answers.
	weight    int64
	namespace string
	change    *chainstore.Change
	// prepared has what was made of compaction nodes before the change was in the queue. It is not changed. last: what it
	// does not have, the committer must make.
	prepared map[*chainstore.NewNode]*derive.Refold
	last     bool
	// state tells who has the change: see the constants.
	state atomic.Int32
	// released is closed once the committer looks at the change no more; answered, once the outcome is there.
	released, answered chan struct{}
	committed          *chainstore.Committed
	err                error

	// waits is its place in the queue, to which it belongs; nil: it is not there.
	waits *list.Element
}

const (
	queued    = iota // nobody: the caller may leave
	taken            // the committer
	abandoned        // the caller, who has left: what the change held is free
)

// changeOverhead is what a change counts in the queue beside its bytes, which bounds their number.
const changeOverhead = 1 << 10

func newCommitter(s *Store, o *Options) *committer {
	c := &committer{
		s: s, room: semaphore.NewWeighted(o.QueueBytes), capacity: o.QueueBytes,
		waiting: newQueue(), done: make(chan struct{}), counters: map[uint32]layout.Counters{},
	}
	c.ready, c.durable, c.pause = s.source.DB.Ready, s.write, s.source.DB.Pace
	c.closing, c.close = context.WithCancel(context.Background())
	go c.run()
	return c
}

// Commit hands a change to the committer; see chainstore.Writer. What it prepared of a change may be of no use in the end:
// then it does so again, but no more than twice.
func (s *Store) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	for again := maxPrepared; ; again-- {
		out, err := s.commit(ctx, namespace, change, again == 0)
		if !errors.Is(err, errUnprepared) {
			return out, err
		}
	}
}

// commit hands a change to the committer: errUnprepared, unless it is the last time.
func (s *Store) commit(ctx context.Context, namespace string, change *chainstore.Change, last bool) (*chainstore.Committed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	prepared, err := s.prepare(ctx, namespace, change)
	if err != nil {
		return nil, err
	}
	c := s.committer
	weight := min(sizeOf(change), c.capacity)
	if err := c.admit(ctx, weight); err != nil {
		return nil, err
	}
	r := &request{
		ctx: ctx, weight: weight, namespace: namespace, change: change, prepared: prepared, last: last,
		released: make(chan struct{}), answered: make(chan struct{}),
	}
	if !c.waiting.add(r) {
		c.leave(weight)
		return nil, chainstore.ErrClosed
	}
	return c.wait(r)
}

// sizeOf is what a change holds, roughly: its bytes and texts, and something for what they hang on.
func sizeOf(change *chainstore.Change) int64 {
	n := changeOverhead
	for i := range change.Nodes {
		node := &change.Nodes[i]
		n += 128 + len(node.Payload) + len(node.Metadata) + len(node.Salt)
		for _, name := range node.Variables {
			n += 16 + len(name)
		}
		for j := range node.Messages {
			n += sizeOfFacts(&node.Messages[j])
		}
	}
	for i := range change.Aliases {
		a := &change.Aliases[i]
		n += 256 + len(a.Name)
		for key, value := range a.Labels {
			n += 64 + len(key) + len(value)
		}
	}
	return int64(n)
}

func sizeOfFacts(m *runloop.Facts) int {
	n := 128 + len(m.Name.Value) + len(m.CallID.Value)
	for i := range m.Calls {
		n += 64 + len(m.Calls[i].ID.Value) + len(m.Calls[i].Name.Value)
	}
	return n
}

// admit waits for room in the queue: ErrOverloaded shortly before the context's deadline, so that its caller still hears it; the
// context's error where the caller gave up.
func (c *committer) admit(ctx context.Context, weight int64) error {
	if c.room.TryAcquire(weight) {
		c.queued.Add(weight)
		return nil
	}
	waiting, cancel := deadline.Early(ctx)
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()
	switch err := c.room.Acquire(waiting, weight); {
	case err == nil:
		c.queued.Add(weight)
		return nil
	case c.closing.Err() != nil:
		return chainstore.ErrClosed
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	default:
		return chainstore.ErrOverloaded
	}
}

// leave gives back the room that a change was admitted to.
func (c *committer) leave(weight int64) {
	c.queued.Add(-weight)
	c.room.Release(weight)
}

// wait returns the outcome. Shortly before the context's deadline it takes a change back that nobody looked at yet:
// ErrOverloaded, so that its caller hears that nothing was written. When the context ends it waits only until the change is no longer
// looked at: of one that is found not to fit into a batch just then, until it is in the next. The room of one that is being
// committed is given back once that is over, since it is held until then.
func (c *committer) wait(r *request) (*chainstore.Committed, error) {
	early, cancel := deadline.Early(r.ctx)
	defer cancel()
	for _, ends := range []<-chan struct{}{early.Done(), r.ctx.Done()} {
		select {
		case <-r.answered:
			return r.committed, r.err
		case <-ends:
		}
		if r.state.CompareAndSwap(queued, abandoned) {
			return nil, c.abandon(r)
		}
	}
	<-r.released
	select {
	case <-r.answered:
		return r.committed, r.err
	default:
		return nil, r.ctx.Err()
	}
}

// abandon gives back what a change held that its caller took back, and returns why. What the committer may have of it yet is
// an empty request.
func (c *committer) abandon(r *request) error {
	err := r.ctx.Err()
	if err == nil {
		err = chainstore.ErrOverloaded
	}
	c.waiting.remove(r)
	r.ctx, r.change, r.prepared = nil, nil, nil
	c.leave(r.weight)
	return err
}

// release says that the change is no longer looked at, and lets go of it.
func (r *request) release() {
	r.change, r.prepared = nil, nil
	close(r.released)
}

// answer tells the outcome, once nothing of the change is held any more.
func (c *committer) answer(r *request) {
	c.leave(r.weight)
	close(r.answered)
}

// fail answers a change that was refused.
func (c *committer) fail(r *request, err error) {
	r.err = err
	r.release()
	c.answer(r)
}

// stop commits what waits and ends the committer.
func (c *committer) stop() {
	c.waiting.shutdown()
	c.close()
	<-c.done
}

func (c *committer) run() {
	defer close(c.done)
	for {
		requests := c.waiting.take()
		if len(requests) > 0 {
			c.all(requests)
			continue
		}
		select {
		case <-c.waiting.wake:
		case <-c.closing.Done():
			c.all(c.waiting.take())
			return
		}
	}
}

// all commits requests in as many transactions as they need.
func (c *committer) all(requests []*request) {
	for len(requests) > 0 {
		b := c.begin()
		n := 0
		for n < len(requests) && b.take(requests[n]) {
			n++
		}
		b.view.Discard()
		c.finish(b)
		requests = requests[n:]
		c.pause(c.closing)
	}
}

// finish makes a batch durable and answers its changes.
func (c *committer) finish(b *batch) {
	err := c.persist(b)
	pending := b.pending
	c.end(b)
	for _, r := range pending {
		if err != nil {
			r.committed, r.err = nil, err
		}
		c.answer(r)
	}
}

// persist commits what a batch writes. After an error that may have left something behind, the store has failed.
func (c *committer) persist(b *batch) error {
	if len(b.writes) == 0 {
		return nil
	}
	if err := c.durable(b.writes, b.view.Seen+1); err != nil {
		if badgerdb.IsUnwritten(err) {
			return fmt.Errorf("commit: %w", err)
		}
		c.failed = true
		return fmt.Errorf("%w: %w", chainstore.ErrFailed, err)
	}
	// Who sees the commit finds no older alias.
	commit := b.view.Seen + 1
	b.keepCalls()
	b.keepGiven()
	b.keepCounters()
	c.s.source.Caches.Aliases.Tell(commit, b.wroteAliases())
	for _, n := range b.byPlace {
		c.s.source.Caches.Nodes.Put(n, commit)
	}
	c.s.source.Versions.Publish(commit)
	b.count()
	return nil
}

// count counts a batch that is durable.
func (b *batch) count() {
	b.c.commits.Add(1)
	for _, r := range b.pending {
		if r.err == nil {
			b.c.changes.Add(1)
		}
	}
}
