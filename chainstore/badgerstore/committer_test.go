package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// blocked holds the committer in its next commit until the function that it returns is called.
func blocked(tb testing.TB, s *Store) (entered <-chan int, release func()) {
	in, out := make(chan int, 100), make(chan struct{})
	durable := s.committer.Durable
	s.committer.Durable = func(writes map[string]commit.Write, ts uint64) error {
		in <- len(writes)
		<-out
		return durable(writes, ts)
	}
	var once sync.Once
	release = func() { once.Do(func() { close(out) }) }
	tb.Cleanup(release)
	return in, release
}

func TestConcurrentChangesShareACommit(t *testing.T) {
	s := openStore(t, Options{})
	entered, release := blocked(t, s)
	var wg sync.WaitGroup
	wg.Go(func() { put(t, s, node(nil, "first")) })
	<-entered
	for i := range 50 {
		wg.Go(func() { put(t, s, node(nil, fmt.Sprint(i))) })
	}
	waitFor(t, func() bool { return queueLength(s) == 50 })
	release()
	wg.Wait()
	if n := len(entered); n != 1 {
		t.Errorf("%d further commits for what waited", n)
	}
	mustBeClean(t, s)
}

func queueLength(s *Store) int {
	s.committer.Waiting.Mu.Lock()
	defer s.committer.Waiting.Mu.Unlock()
	return s.committer.Waiting.Requests.Len()
}

func waitFor(tb testing.TB, done func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); {
		if time.Now().After(deadline) {
			tb.Fatal("it did not come about")
		}
		time.Sleep(time.Millisecond) // polls
	}
}

func TestFailedCommitStopsWriting(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	before := put(t, s, node(nil, "before"))[0].ID
	durable, broken := s.committer.Durable, errors.New("input/output error")
	s.committer.Durable = func(writes map[string]commit.Write, ts uint64) error {
		// As Badger does: what was to be written is in its memory, and then the sync fails.
		if err := commit.WriteTo(s.source.DB, writes, ts); err != nil {
			return err
		}
		return broken
	}
	_, err := s.Commit(context.Background(), testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(&before, "lost")}})
	if !errors.Is(err, chainstore.ErrFailed) || !errors.Is(err, broken) {
		t.Fatalf("error is %v", err)
	}
	s.committer.Durable = durable
	_, err = s.Commit(context.Background(), testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(&before, "later")}})
	if !errors.Is(err, chainstore.ErrFailed) {
		t.Fatalf("error of a later change is %v", err)
	}
	if st, err := s.Stats(context.Background(), testNamespace); err != nil || st.Nodes != 1 {
		t.Fatalf("readers see %+v, %v", st, err)
	}
	mustBeClean(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	put(t, s, node(&before, "again"))
	mustBeClean(t, s)
}

// While the store's folder is away, puts are refused as those of a store that has failed, and taken again once it is back.
func TestPutsWhileTheFolderIsAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := openAt(t, dir, Options{})
	before := put(t, s, node(nil, "before"))[0].ID
	if err := os.Rename(dir, dir+" away"); err != nil {
		t.Fatal(err)
	}
	change := &chainstore.Change{Nodes: []chainstore.NewNode{node(&before, "away")}}
	if _, err := s.Commit(t.Context(), testNamespace, change); !errors.Is(err, chainstore.ErrFailed) {
		t.Errorf("a put while the folder is away: %v", err)
	}
	if err := os.Rename(dir+" away", dir); err != nil {
		t.Fatal(err)
	}
	if !put(t, s, change.Nodes...)[0].Created {
		t.Error("the refused put left its node behind")
	}
	mustBeClean(t, s)
}

func TestUnwrittenErrorDoesNotStopWriting(t *testing.T) {
	s := openStore(t, Options{})
	durable, refused := s.committer.Durable, errors.New("refused")
	s.committer.Durable = func(map[string]commit.Write, uint64) error { return &badgerdb.Unwritten{Err: refused} }
	change := &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, "x")}}
	if _, err := s.Commit(context.Background(), testNamespace, change); !errors.Is(err, refused) || errors.Is(err, chainstore.ErrFailed) {
		t.Fatalf("error is %v", err)
	}
	s.committer.Durable = durable
	if !put(t, s, change.Nodes...)[0].Created {
		t.Error("the refused change left its node behind")
	}
	mustBeClean(t, s)
}

// On a full disk a change that adds something is refused, one that writes nothing is not, and one that only deletes has room of
// its own.
func TestFullDiskWritesNothing(t *testing.T) {
	s := openStore(t, Options{})
	id := put(t, s, node(nil, "before"))[0].ID
	commitAliases(t, s, setAlias("a", id, chainstore.Condition{}), setAlias("b", id, chainstore.Condition{}))
	ready := s.committer.Ready
	full := func(deletes error) func() (error, error) {
		return func() (error, error) { return chainstore.ErrDiskFull, deletes }
	}
	commit := func(c *chainstore.Change) error {
		_, err := s.Commit(context.Background(), testNamespace, c)
		return err
	}
	deleted := func(name string) *chainstore.Change {
		return &chainstore.Change{Aliases: []chainstore.AliasChange{{Name: name, Target: chainstore.Target{Kind: chainstore.TargetNone}}}}
	}
	added := &chainstore.Change{Nodes: []chainstore.NewNode{node(&id, "x")}}
	both := &chainstore.Change{Aliases: append(deleted("b").Aliases, setAlias("c", id, chainstore.Condition{}))}

	s.committer.Ready = full(nil)
	for name, c := range map[string]*chainstore.Change{"a node": added, "an alias, and one deleted": both} {
		if err := commit(c); !errors.Is(err, chainstore.ErrDiskFull) {
			t.Fatalf("%s: %v", name, err)
		}
	}
	put(t, s, node(nil, "before"))
	if err := commit(deleted("a")); err != nil {
		t.Errorf("a delete: %v", err)
	}
	s.committer.Ready = full(chainstore.ErrDiskFull)
	if err := commit(deleted("b")); !errors.Is(err, chainstore.ErrDiskFull) {
		t.Errorf("a delete without room for deletes: %v", err)
	}
	s.committer.Ready = ready
	if out := put(t, s, added.Nodes...); !out[0].Created {
		t.Error("the refused change left its node behind")
	}
	mustBeClean(t, s)
}

func TestFullQueueEndsWithTheContext(t *testing.T) {
	s := openStore(t, Options{QueueBytes: 4 << 10})
	entered, release := blocked(t, s)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			change := &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, fmt.Sprint(i))}}
			if _, err := s.Commit(ctx, testNamespace, change); err != nil {
				t.Error(err)
			}
		})
	}
	<-entered
	waitFor(t, func() bool { return hasNoRoom(s, 2<<10) })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	large := &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, strings.Repeat("x", 4<<10))}}
	if _, err := s.Commit(ctx, testNamespace, large); !errors.Is(err, chainstore.ErrOverloaded) {
		t.Errorf("error is %v", err)
	}
	release()
	wg.Wait()
	mustBeClean(t, s)
}

// A caller whose context ends gets its error at once, while the commit that its change is part of goes on.
func TestContextEndsDuringACommit(t *testing.T) {
	s := openStore(t, Options{})
	entered, release := blocked(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := s.Commit(ctx, testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, "x")}})
		done <- err
	}()
	<-entered
	waiting := make(chan error)
	later, cancelLater := context.WithCancel(context.Background())
	go func() {
		_, err := s.Commit(later, testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, "never")}})
		waiting <- err
	}()
	waitFor(t, func() bool { return queueLength(s) == 1 })
	cancel()
	cancelLater()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("error of the change that waited is %v", err)
	}
	release()
	if put(t, s, node(nil, "x"))[0].Created {
		t.Error("the commit did not go on")
	}
	if !put(t, s, node(nil, "never"))[0].Created {
		t.Error("a change that was given up was committed")
	}
}

func TestTooLargeChange(t *testing.T) {
	s := openStore(t, Options{MemtableBytes: 8 << 20})
	text := make([]byte, 2<<20)
	for i := range text {
		text[i] = byte('a' + rand.IntN(26))
	}
	change := &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, string(text))}}
	if _, err := s.Commit(context.Background(), testNamespace, change); !errors.Is(err, chainstore.ErrTooLarge) {
		t.Fatalf("error is %v", err)
	}
	if st, err := s.Stats(context.Background(), testNamespace); err != nil || st.Nodes != 0 {
		t.Fatalf("it left %+v, %v", st, err)
	}
}

// A batch that outgrows a transaction is split, and each change stays whole.
func TestBatchesAreSplit(t *testing.T) {
	s := openStore(t, Options{MemtableBytes: 8 << 20})
	entered, release := blocked(t, s)
	var wg sync.WaitGroup
	wg.Go(func() { put(t, s, node(nil, "first")) })
	<-entered
	const callers, size = 12, 400 << 10
	for i := range callers {
		wg.Go(func() { put(t, s, node(nil, fmt.Sprint(i), strings.Repeat("x", size))) })
	}
	waitFor(t, func() bool { return queueLength(s) == callers })
	release()
	wg.Wait()
	if n, want := len(entered), callers*size/int(s.source.DB.MaxBatchSize()); n < want {
		t.Errorf("%d commits, want %d or more", n, want)
	}
	mustBeClean(t, s)
}

// A change that fails because of one before it in its batch is answered after that one can be seen.
func TestRefusalsWaitForTheirReason(t *testing.T) {
	s := openStore(t, Options{})
	id := put(t, s, node(nil, "x"))[0].ID
	other := put(t, s, node(nil, "y"))[0].ID
	entered, release := blocked(t, s)
	var wg sync.WaitGroup
	wg.Go(func() { put(t, s, node(nil, "hold")) })
	<-entered
	set := func(to chainstore.ID) error {
		_, err := s.Commit(context.Background(), testNamespace, &chainstore.Change{Aliases: []chainstore.AliasChange{
			setAlias("a", to, chainstore.Condition{Kind: chainstore.MustNotExist}),
		}})
		return err
	}
	wg.Go(func() {
		if err := set(id); err != nil {
			t.Error(err)
		}
	})
	waitFor(t, func() bool { return queueLength(s) == 1 })
	wg.Go(func() {
		if err := set(other); !errors.Is(err, chainstore.ErrAliasExists) {
			t.Errorf("error is %v", err)
		}
		if a, err := s.Alias(context.Background(), testNamespace, "a"); err != nil || a.Node != id {
			t.Errorf("the loser sees %v, %v", a, err)
		}
	})
	waitFor(t, func() bool { return queueLength(s) == 2 })
	release()
	wg.Wait()
}

// Readers see what was committed before, and wait for nothing, while a commit is under way.
func TestReadersDoNotWaitForTheCommitter(t *testing.T) {
	s := openStore(t, Options{})
	id := put(t, s, node(nil, "x"))[0].ID
	entered, release := blocked(t, s)
	var wg sync.WaitGroup
	wg.Go(func() { put(t, s, node(&id, "y")) })
	<-entered
	if rows := readFrom(t, s, id, 0); rows != 1 {
		t.Errorf("%d rows", rows)
	}
	children, err := s.Children(context.Background(), testNamespace, chainstore.Ref{ID: id}, nil, 10)
	if err != nil || len(children) != 0 {
		t.Errorf("%d children before they are durable, %v", len(children), err)
	}
	mustBeClean(t, s)
	release()
	wg.Wait()
	if children, err = s.Children(context.Background(), testNamespace, chainstore.Ref{ID: id}, nil, 10); err != nil || len(children) != 1 {
		t.Errorf("%d children, %v", len(children), err)
	}
}

// Aliases whose names differ in a leading slash are under the same folder, and apart.
func TestSlashesInNames(t *testing.T) {
	s := openStore(t, Options{Now: func() time.Time { return time.UnixMilli(1000) }})
	id := put(t, s, node(nil, "x"))[0].ID
	names := []string{"/", "//", "/a", "a", "a/", "a//", "a/b"}
	for _, name := range names {
		commitAliases(t, s, setAlias(name, id, chainstore.Condition{}))
	}
	for folder, want := range map[string]string{"": "[/ // /a a a/ a// a/b]", "/": "[//]", "a": "[a/ a// a/b]", "a/": "[a//]"} {
		page, _, err := s.Aliases(context.Background(), testNamespace, chainstore.AliasQuery{ByFolder: true, Folder: folder, Limit: 10})
		var got []string
		for _, a := range page {
			got = append(got, a.Name)
		}
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("under %q are %v, want %s (%v)", folder, got, want, err)
		}
	}
	mustBeClean(t, s)
}

// The database may throw away what no read can see, and nothing else.
func TestDiscardFollowsOpenReads(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, "x"))
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, node(nil, "y"))
	if s.source.Versions.Discarded != v.Seen {
		t.Errorf("discarded up to %d under a read at %d", s.source.Versions.Discarded, v.Seen)
	}
	v.Close()
	if s.source.Versions.Discarded != s.source.Versions.Published {
		t.Errorf("discarded up to %d, published %d", s.source.Versions.Discarded, s.source.Versions.Published)
	}
}

func TestValueLogStaysEmpty(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, strings.Repeat("x", 3<<20)), node(nil, strings.Repeat("y", 256<<10-40)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, s.dir, Options{})
	mustBeClean(t, s)
	if _, vlog := s.source.DB.Size(); vlog > 4<<20 {
		t.Errorf("the value log has %d bytes", vlog)
	}
}

// Whatever a change holds counts in the queue.
func TestWhatAChangeHoldsCounts(t *testing.T) {
	const large = 1 << 20
	text := strings.Repeat("x", large)
	of := func(facts runloop.Facts) *chainstore.Change {
		return &chainstore.Change{Nodes: []chainstore.NewNode{{Messages: []runloop.Facts{facts}}}}
	}
	for name, change := range map[string]*chainstore.Change{
		"payload":   {Nodes: []chainstore.NewNode{{Payload: []byte(text)}}},
		"metadata":  {Nodes: []chainstore.NewNode{{Metadata: []byte(text)}}},
		"salt":      {Nodes: []chainstore.NewNode{{Salt: []byte(text)}}},
		"variable":  {Nodes: []chainstore.NewNode{{Variables: []runloop.VariableChange{{Name: text}}}}},
		"name":      of(runloop.Facts{Name: runloop.Some(text)}),
		"result":    of(runloop.Facts{CallID: runloop.Some(text)}),
		"call":      of(runloop.Facts{Calls: []runloop.Call{{ID: runloop.Some(text)}}}),
		"tool":      of(runloop.Facts{Calls: []runloop.Call{{Name: runloop.Some(text)}}}),
		"calls":     of(runloop.Facts{Calls: make([]runloop.Call, large/64)}),
		"alias":     {Aliases: []chainstore.AliasChange{{Name: text}}},
		"a label":   {Aliases: []chainstore.AliasChange{{Labels: map[string]string{"key": text}}}},
		"label key": {Aliases: []chainstore.AliasChange{{Labels: map[string]string{text: ""}}}},
	} {
		if n := commit.SizeOf(change); n < large || n > large+4<<10 {
			t.Errorf("%s of %d bytes counts %d", name, large, n)
		}
	}
}
