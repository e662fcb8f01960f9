// Package commit has the one goroutine that writes: a queue of changes, batches of them that are judged, written and, where one is
// refused, undone, and what it keeps of their nodes for the next.
package commit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

// Committer commits changes, one batch after the other: it takes what waits, applies each change to the batch, makes
// the batch durable, and answers. Meanwhile the next changes gather; a change that comes alone waits for nothing.
type Committer struct {
	source *snapshot.Source
	now    func() int64
	// Room is the bytes that changes may yet take in the queue.
	Room     *semaphore.Weighted
	Capacity int64
	// Queued is the bytes that changes take in it, each for as long as it is held; <= capacity.
	Queued atomic.Int64
	// Commits are durable batches, changes the changes in them.
	Commits, Changes atomic.Uint64
	// closing ends the wait for room.
	closing context.Context
	close   context.CancelFunc

	Waiting *queue[*Request]
	Done    chan struct{}

	// What follows belongs to the goroutine that commits.

	// spare is the memory of the batch before; nil where there is none.
	spare  *batch
	failed bool
	// opened is the last commit of before, begun whether there was one since.
	opened uint64
	begun  bool
	// swept is the last commit that deleted nodes; 0 where there was none since the store was opened.
	swept uint64
	// counters are those of namespaces as of the last commit.
	counters map[uint32]layout.Counters
	// settings are those of namespaces as of the last commit, in a store that has settings.
	settings map[uint32]layout.Settings
	// naming notes what changes name, for the collection under way; nil without one.
	naming *naming
	// Ready tells what keeps puts, and even deletes, from being committed; durable commits them, and beside what is committed beside a batch. Fields so
	// that tests can let them fail.
	Ready   func() (puts, deletes error)
	Durable func(writes map[string]Write, ts uint64) error
	Beside  func(ts uint64, fill func(*badgerdb.Batch) error) error
	// Pause is called between two commits, and returns no later than when the context ends; a field for tests, too.
	Pause func(context.Context)
}

// changeOverhead is what a change counts in the queue beside its bytes, which bounds their number.
const changeOverhead = 1 << 10

// Config is what a committer needs.
type Config struct {
	Source *snapshot.Source
	// Now is the time in milliseconds since the epoch, never negative.
	Now func() int64
	// QueueBytes bounds the changes that wait or are being committed.
	QueueBytes int64
}

// New is a Committer at work. There is one for a database.
func New(o Config) *Committer {
	c := &Committer{
		source: o.Source, now: o.Now, Room: semaphore.NewWeighted(o.QueueBytes), Capacity: o.QueueBytes,
		Waiting: newQueue[*Request](), Done: make(chan struct{}), counters: map[uint32]layout.Counters{},
		settings: map[uint32]layout.Settings{},
	}
	c.opened = o.Source.Versions.Last()
	db := o.Source.DB
	c.Ready, c.Pause, c.Beside = db.Ready, db.Pace, db.Write
	c.Durable = func(writes map[string]Write, commit uint64) error { return WriteTo(db, writes, commit) }
	c.closing, c.close = context.WithCancel(context.Background())
	go c.run()
	return c
}

// Commit hands a change to the goroutine that commits; see chainstore.Writer. What it prepared of a change may be of no use in the end:
// then it does so again, but no more than twice.
func (c *Committer) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	for again := maxPrepared; ; again-- {
		out, err := c.commit(ctx, namespace, change, again == 0)
		if !errors.Is(err, errUnprepared) {
			return out, err
		}
	}
}

// MakeTokenKey makes a key of page tokens, unless none is due by then. Errors are those of Commit. What is kept for deletes may be
// taken for it.
func (c *Committer) MakeTokenKey(ctx context.Context) error {
	_, err := c.submit(ctx, &Request{Change: &chainstore.Change{}, own: (*changeTxn).makeTokenKey})
	return err
}

// commit hands a change to the committer: errUnprepared, unless it is the last time.
func (c *Committer) commit(ctx context.Context, namespace string, change *chainstore.Change, last bool) (*chainstore.Committed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	prepared, in, err := c.prepare(ctx, namespace, change)
	if err != nil {
		return nil, err
	}
	erases := slices.ContainsFunc(change.Nodes, func(n chainstore.NewNode) bool { return n.Erased != nil })
	return c.submit(ctx, &Request{Namespace: namespace, Change: change, prepared: prepared, preparedIn: in, last: last, alone: erases})
}

// submit puts a request into the queue once there is room, and returns the outcome.
func (c *Committer) submit(ctx context.Context, r *Request) (*chainstore.Committed, error) {
	r.Ctx, r.weight = ctx, min(SizeOf(r.Change)+r.held, c.Capacity)
	r.Released, r.Answered = make(chan struct{}), make(chan struct{})
	if err := c.admit(ctx, r.weight); err != nil {
		return nil, err
	}
	if !c.Waiting.add(r) {
		c.release(r.weight)
		return nil, chainstore.ErrClosed
	}
	return c.wait(r)
}

// SizeOf is what a change holds, roughly: its bytes and texts, and something for what they hang on.
func SizeOf(change *chainstore.Change) int64 {
	n := changeOverhead
	for i := range change.Nodes {
		node := &change.Nodes[i]
		n += 128 + len(node.Payload) + len(node.Metadata) + len(node.Details) + len(node.Salt) + len(node.Receipt)
		for _, v := range node.Variables {
			n += 24 + len(v.Name)
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
func (c *Committer) admit(ctx context.Context, weight int64) error {
	if c.Room.TryAcquire(weight) {
		c.Queued.Add(weight)
		return nil
	}
	waiting, cancel := deadline.Early(ctx)
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()
	switch err := c.Room.Acquire(waiting, weight); {
	case err == nil:
		c.Queued.Add(weight)
		return nil
	case c.closing.Err() != nil:
		return chainstore.ErrClosed
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	default:
		return chainstore.ErrOverloaded
	}
}

// release gives back the room that a change was admitted to.
func (c *Committer) release(weight int64) {
	c.Queued.Add(-weight)
	c.Room.Release(weight)
}

// wait returns the outcome. Shortly before the context's deadline it takes a change back that nobody looked at yet:
// ErrOverloaded, so that its caller hears that nothing was written. When the context ends it waits only until the change is no longer
// looked at: of one that is found not to fit into a batch just then, until it is in the next; of one that is in a batch of its own, until that
// is committed, for it may delete what others are about to hold. The room of one that is being committed is given back once that is over, since
// it is held until then.
func (c *Committer) wait(r *Request) (*chainstore.Committed, error) {
	early, cancel := deadline.Early(r.Ctx)
	defer cancel()
	for _, ends := range []<-chan struct{}{early.Done(), r.Ctx.Done()} {
		select {
		case <-r.Answered:
			return r.Committed, r.Err
		case <-ends:
		}
		if r.state.CompareAndSwap(queued, abandoned) {
			return nil, c.abandon(r)
		}
	}
	<-r.Released
	if r.alone {
		<-r.Answered
	}
	select {
	case <-r.Answered:
		return r.Committed, r.Err
	default:
		return nil, r.Ctx.Err()
	}
}

// abandon gives back what a change held that its caller took back, and returns why. What the committer may have of it yet is
// an empty request.
func (c *Committer) abandon(r *Request) error {
	err := r.Ctx.Err()
	if err == nil {
		err = chainstore.ErrOverloaded
	}
	c.Waiting.remove(r)
	r.Ctx, r.Change, r.prepared, r.own = nil, nil, nil, nil
	c.release(r.weight)
	return err
}

// answer tells the outcome, once nothing of the change is held any more.
func (c *Committer) answer(r *Request) {
	c.release(r.weight)
	close(r.Answered)
}

// fail answers a change that was refused.
func (c *Committer) fail(r *Request, err error) {
	r.Err = err
	r.release()
	c.answer(r)
}

// Stop commits what waits and ends the committer.
func (c *Committer) Stop() {
	c.Waiting.shutdown()
	c.close()
	<-c.Done
}

func (c *Committer) run() {
	defer close(c.Done)
	for {
		requests := c.Waiting.take()
		if len(requests) > 0 {
			c.all(requests)
			continue
		}
		select {
		case <-c.Waiting.Wake:
		case <-c.closing.Done():
			c.all(c.Waiting.take())
			return
		}
	}
}

// all commits requests in as many transactions as they need.
func (c *Committer) all(requests []*Request) {
	for len(requests) > 0 {
		b := c.begin()
		n := 0
		for n < len(requests) && b.take(requests[n]) {
			n++
		}
		b.view.Discard()
		c.finish(b)
		requests = requests[n:]
		c.Pause(c.closing)
	}
}

// finish makes a batch durable and answers its changes.
func (c *Committer) finish(b *batch) {
	err := c.persist(b)
	pending := b.pending
	c.end(b)
	for _, r := range pending {
		if err != nil {
			r.Committed, r.Err = nil, err
		}
		c.answer(r)
	}
}

// persist commits what a batch writes. After an error that may have left something behind, the store has failed.
func (c *Committer) persist(b *batch) error {
	if len(b.writes) == 0 {
		return nil
	}
	b.beginEra()
	if err := c.Durable(b.writes, b.view.Seen+1); err != nil {
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
	b.keepSettings()
	if b.swept != nil {
		c.source.Caches.Forget(commit, b.swept)
		if len(b.swept.From) > 0 {
			c.swept = commit
		}
	}
	if b.gone != 0 {
		c.forgetNamespace(commit, b.gone)
	}
	b.keepEras()
	c.source.Caches.Aliases.Tell(commit, b.wroteAliases())
	for _, n := range b.byPlace {
		c.source.Caches.Nodes.Put(n, commit)
	}
	c.source.Versions.Publish(commit)
	b.count()
	return nil
}

// count counts a batch that is durable.
func (b *batch) count() {
	b.c.Commits.Add(1)
	for _, r := range b.pending {
		if r.Err == nil {
			b.c.Changes.Add(1)
		}
	}
}

// newEra is one from behind the state that the store was opened in.
func (c *Committer) newEra() layout.Era {
	era := layout.Era{From: c.opened + 1}
	_, _ = rand.Read(era.ID[:]) // never fails
	return era
}

// beginEra adds a new era to the first batch since the store was opened, where it notes them.
func (b *batch) beginEra() {
	c := b.c
	if c.begun {
		return
	}
	if eras := c.source.Eras.Load(); eras != nil {
		b.writes[string(layout.ErasKey())] = Write{Value: layout.AppendEras(nil, eras.With(c.newEra(), b.maxBytes-b.bytes))}
	}
}

// keepEras takes what a batch that is durable wrote of eras.
func (b *batch) keepEras() {
	if w, ok := b.writes[string(layout.ErasKey())]; ok {
		if eras, err := layout.ParseEras(w.Value); err == nil {
			b.c.source.Eras.Store(&eras)
		}
	}
	b.c.begun = true
}
