package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
)

func hasNoRoom(s *Store, bytes int64) bool {
	if s.committer.Room.TryAcquire(bytes) {
		s.committer.Room.Release(bytes)
		return false
	}
	return true
}

// watched is a context that tells when it is asked for its deadline.
type watched struct {
	context.Context
	asked func()
}

func (w *watched) Deadline() (time.Time, bool) {
	w.asked()
	return w.Context.Deadline()
}

// A caller who gives up while it waits for room is not told that the store is overloaded.
func TestCancelledBeforeThereIsRoom(t *testing.T) {
	s := openStore(t, Options{QueueBytes: 64 << 10})
	entered, release := blocked(t, s)
	var wg sync.WaitGroup
	wg.Go(func() { put(t, s, node(nil, strings.Repeat("x", 64<<10))) })
	<-entered
	if !hasNoRoom(s, 1) {
		t.Error("there is room beside a change that takes all of it")
	}
	ctx, cancel := context.WithCancel(context.Background())
	asked, gone := make(chan struct{}), make(chan error)
	ctx = &watched{ctx, sync.OnceFunc(func() { close(asked) })}
	go func() {
		_, err := s.Commit(ctx, testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, "y")}})
		gone <- err
	}()
	<-asked
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	release()
	wg.Wait()
	mustBeEmpty(t, s)
}

// mustBeEmpty asserts that all room in the queue is free.
func mustBeEmpty(t *testing.T, s *Store) {
	t.Helper()
	if n, held := queueLength(s), s.Metrics().QueueBytes; n != 0 || held != 0 || hasNoRoom(s, s.committer.Capacity) {
		t.Errorf("%d changes and %d bytes are in the queue", n, held)
	}
}

// queueUp puts a change in the queue, whose caller waits until giveUp returns. free is called when nobody has the change any more.
func queueUp(t *testing.T, s *Store, text string, free func()) (giveUp func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	change := &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, text)}}
	runtime.AddCleanup(change, func(int) { free() }, 0)
	before := queueLength(s)
	go func() {
		_, err := s.Commit(ctx, testNamespace, change)
		done <- err
	}()
	waitFor(t, func() bool { return queueLength(s) == before+1 })
	return func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
	}
}

// What callers who gave up left in the queue takes neither room nor memory, and goes at once: those in the middle, the last
// and the first.
func TestAbandonedChangesLeaveTheQueue(t *testing.T) {
	const size = 64 << 10
	s := openStore(t, Options{QueueBytes: 16 * size})
	entered, release := blocked(t, s)
	var first sync.WaitGroup
	first.Go(func() { put(t, s, node(nil, "first")) })
	<-entered
	held := s.Metrics().QueueBytes
	var freed atomic.Int64
	free := func() { freed.Add(1) }
	const rounds = 4
	for range rounds {
		var all []func()
		for i := range 10 {
			all = append(all, queueUp(t, s, fmt.Sprint(i)+strings.Repeat("x", size), free))
		}
		for _, i := range []int{4, 9, 0, 8, 1, 5, 2, 3, 7, 6} {
			all[i]()
		}
		if n, bytes := queueLength(s), s.Metrics().QueueBytes; n != 0 || bytes != held {
			t.Fatalf("%d changes are left, %d bytes beside the one that is being committed", n, bytes-held)
		}
	}
	waitFor(t, func() bool {
		runtime.GC()
		return freed.Load() == 10*rounds
	})
	release()
	first.Wait()
	mustBeEmpty(t, s)
	if st, err := s.Stats(context.Background(), testNamespace); err != nil || st.Nodes != 1 {
		t.Errorf("%+v, %v: what was given up is there", st, err)
	}
}

// A change that is being committed takes room until it is durable, whether or not its caller waits for it; one that waits for the
// next batch only until its caller gives up.
func TestRoomOfWhatTheCommitterHas(t *testing.T) {
	const size = 700 << 10 // two do not fit into a batch
	s := openStore(t, Options{MemtableBytes: 8 << 20})
	durable, entered, next := s.committer.Durable, make(chan struct{}, 100), make(chan struct{})
	t.Cleanup(func() { close(next) })
	s.committer.Durable = func(writes map[string]commit.Write, ts uint64) error {
		entered <- struct{}{}
		<-next
		return durable(writes, ts)
	}
	var wg sync.WaitGroup
	wg.Go(func() { put(t, s, node(nil, "first")) })
	<-entered
	var freed atomic.Bool
	leave := queueUp(t, s, "committed"+strings.Repeat("x", size), func() {})
	leaveNext := queueUp(t, s, "given up"+strings.Repeat("x", size), func() { freed.Store(true) })
	next <- struct{}{}
	<-entered
	leave()
	if held := s.Metrics().QueueBytes; held < 2*size {
		t.Errorf("%d bytes are held, fewer than one change that is being committed and one that waits have", held)
	}
	leaveNext()
	if held := s.Metrics().QueueBytes; held < size || held > size+size/2 {
		t.Errorf("%d bytes are held, want those of what is being committed", held)
	}
	waitFor(t, func() bool {
		runtime.GC()
		return freed.Load()
	})
	next <- struct{}{}
	wg.Wait()
	waitFor(t, func() bool { return s.Metrics().QueueBytes == 0 })
	mustBeEmpty(t, s)
	s.committer.Durable = durable // which nobody uses now
	if put(t, s, node(nil, "committed"+strings.Repeat("x", size)))[0].Created {
		t.Error("what was being committed is not there")
	}
	if !put(t, s, node(nil, "given up"+strings.Repeat("x", size)))[0].Created {
		t.Error("what was given up is there")
	}
}

// Callers who give up at any time, in a queue that is too small for all, take nothing from each other: what was acknowledged
// is there, and in the end all room is free.
func TestRoomIsGivenBackOnce(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{QueueBytes: 32 << 10})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var there []chainstore.ID
	for w := range 16 {
		random := rand.New(rand.NewPCG(1, uint64(w)))
		wg.Go(func() {
			for i := range 40 {
				n := node(nil, fmt.Sprint(w, " ", i), strings.Repeat("x", random.IntN(8<<10)))
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(6000))*time.Microsecond)
				_, err := s.Commit(ctx, testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{n}})
				cancel()
				switch {
				case err == nil:
					mu.Lock()
					there = append(there, n.Identify(nil))
					mu.Unlock()
				case !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, chainstore.ErrOverloaded):
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	waitFor(t, func() bool { return s.Metrics().QueueBytes == 0 })
	mustBeEmpty(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	for _, id := range there {
		if _, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: id}, nil); err != nil {
			t.Fatalf("what was acknowledged: %v", err)
		}
	}
	mustBeClean(t, s)
}

// Who is held back may leave, and closing waits for no pause.
func TestPausesEnd(t *testing.T) {
	s := openStore(t, Options{})
	s.committer.Pause = func(ctx context.Context) { <-ctx.Done() }
	put(t, s, node(nil, "a commit answers before it pauses"))
	ctx, cancel := context.WithCancel(context.Background())
	left, kept := make(chan error, 1), make(chan error, 1)
	change := func(text string) *chainstore.Change {
		return &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, text)}}
	}
	go func() {
		_, err := s.Commit(ctx, testNamespace, change("is taken back"))
		left <- err
	}()
	go func() {
		_, err := s.Commit(context.Background(), testNamespace, change("waits until the store is closed"))
		kept <- err
	}()
	waitFor(t, func() bool { return queueLength(s) == 2 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("one that left: %v", err)
	}
	soon, end := context.WithTimeout(context.Background(), time.Second)
	defer end()
	if _, err := s.Commit(soon, testNamespace, change("has a deadline")); !errors.Is(err, chainstore.ErrOverloaded) || soon.Err() != nil {
		t.Errorf("one with a deadline: %v, after which its context says %v", err, soon.Err())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-kept; err != nil {
		t.Errorf("one that waited until the store was closed: %v", err)
	}
	if m := s.Metrics(); m.Commits != 2 {
		t.Errorf("%d commits", m.Commits)
	}
}
