package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// queuedChange is a change as the committer finds it in the queue.
func queuedChange(namespace string, change *chainstore.Change) *commit.Request {
	return &commit.Request{
		Ctx: context.Background(), Namespace: namespace, Change: change,
		Released: make(chan struct{}), Answered: make(chan struct{}),
	}
}

func queuedNodes(namespace string, nodes ...chainstore.NewNode) *commit.Request {
	return queuedChange(namespace, &chainstore.Change{Nodes: nodes})
}

// together lets the committer find all requests in the queue at once, and returns the number of writes in each transaction
// that they took.
func together(s *Store, requests ...*commit.Request) (writes []int) {
	c := s.committer
	c.Waiting.Mu.Lock()
	durable := c.Durable // the committer has nothing to do, so it does not look at it
	c.Durable = func(w map[string]commit.Write, ts uint64) error {
		writes = append(writes, len(w))
		return durable(w, ts)
	}
	for _, r := range requests {
		r.Waits = c.Waiting.Requests.PushBack(r)
	}
	c.Waiting.Mu.Unlock()
	c.Waiting.Wake <- struct{}{}
	for _, r := range requests {
		<-r.Answered
	}
	c.Durable = durable
	return writes
}

func mustBeCleanIn(t *testing.T, s *Store, namespace string, nodes int64) {
	t.Helper()
	if found := problems(t, s, namespace, storetest.Simple().Judge); found != nil {
		t.Errorf("%s: verify found %q", namespace, found)
	}
	if st, err := s.Stats(context.Background(), namespace); err != nil || st.Nodes != nodes {
		t.Errorf("%s: %d nodes, want %d (%v)", namespace, st.Nodes, nodes, err)
	}
}

// Changes to several namespaces share a batch, and each finds only the nodes of its own, at their places there.
func TestABatchOfSeveralNamespaces(t *testing.T) {
	s := openStore(t, Options{})
	both, first, second := node(nil, "in both"), node(nil, "only in the first"), node(nil, "only in the second")
	bothID, firstID, secondID := both.Identify(nil), first.Identify(nil), second.Identify(nil)
	together(s, queuedNodes("first", both, first))
	together(s, queuedNodes("second", second, node(&secondID, "its child"), both))
	s.source.Caches.Nodes = cache.New(cache.Sizes{Tips: 1 << 20, Nodes: 1 << 20}, time.Now).Nodes // which knows none of them

	good := []*commit.Request{
		queuedNodes("second", node(&bothID, "a"), node(&secondID, "b")),
		queuedNodes("first", node(&bothID, "a"), node(&firstID, "b")),
		queuedNodes("second", node(&bothID, "c"), node(&secondID, "d")),
	}
	strangers := []*commit.Request{queuedNodes("first", node(&secondID, "x")), queuedNodes("second", node(&firstID, "x"))}
	if writes := together(s, good[0], good[1], strangers[0], good[2], strangers[1]); len(writes) != 1 {
		t.Fatalf("%d transactions", len(writes))
	}
	for i, r := range good {
		if r.Err != nil {
			t.Errorf("change %d: %v", i, r.Err)
		}
	}
	for i, r := range strangers {
		if !errors.Is(r.Err, chainstore.ErrParentNotFound) {
			t.Errorf("below a node of the other namespace %d: %v", i, r.Err)
		}
	}
	mustBeCleanIn(t, s, "first", 4)
	mustBeCleanIn(t, s, "second", 7)
}

// The first changes to a namespace get one number for it, also in one batch, and another namespace gets another.
func TestFirstWritesToNewNamespacesInABatch(t *testing.T) {
	s := openStore(t, Options{})
	one, two := node(nil, "one"), node(nil, "two")
	id := one.Identify(nil)
	requests := []*commit.Request{
		queuedNodes("a", one), queuedNodes("b", one), queuedNodes("a", two, node(&id, "three")), queuedNodes("b", two),
	}
	if writes := together(s, requests...); len(writes) != 1 {
		t.Fatalf("%d transactions", len(writes))
	}
	for i, r := range requests {
		if r.Err != nil {
			t.Errorf("change %d: %v", i, r.Err)
		}
	}
	mustBeCleanIn(t, s, "a", 3)
	mustBeCleanIn(t, s, "b", 2)
	if again := put(t, s, one); !again[0].Created {
		t.Error("a third namespace has a node of another")
	}
	mustBeCleanIn(t, s, testNamespace, 1)
}

// A change with a key or a value that the database does not take is refused alone, and leaves no trace.
func TestChangesThatNoTransactionHolds(t *testing.T) {
	long := func(i int) runloop.Optional {
		return runloop.Some(fmt.Sprintf("%04d%s", i, strings.Repeat("x", 1<<10)))
	}
	var unanswered storetest.Node // groups that end without results: their calls lie in the header
	for i := range 20 {
		m := storetest.Message{Role: runloop.Assistant}
		for k := range 32 {
			m.Calls = append(m.Calls, runloop.Call{ID: long(32*i + k), Name: long(k)})
		}
		unanswered.Messages = append(unanswered.Messages, m, storetest.Message{Role: runloop.User, Text: "go on"})
	}
	for name, large := range map[string]*chainstore.Change{
		"header": {Nodes: []chainstore.NewNode{storetest.Simple().Make(unanswered)}},
		"key": {
			Nodes:   []chainstore.NewNode{node(nil, "x")},
			Aliases: []chainstore.AliasChange{{Name: strings.Repeat("n", badgerdb.MaxKey+1)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{})
			put(t, s, node(nil, "before"))
			rows := allRows(t, s)
			alone := queuedChange(testNamespace, large)
			if writes := together(s, alone); writes != nil || !errors.Is(alone.Err, chainstore.ErrTooLarge) {
				t.Fatalf("%d transactions, error is %v", len(writes), alone.Err)
			}
			if n := len(allRows(t, s)); n != len(rows) {
				t.Errorf("%d rows, were %d", n, len(rows))
			}
			left, middle, right := queuedNodes(testNamespace, node(nil, "left")), queuedChange(testNamespace, large),
				queuedNodes(testNamespace, node(nil, "right"))
			if writes := together(s, left, middle, right); len(writes) != 1 || left.Err != nil || right.Err != nil {
				t.Errorf("%d transactions, its neighbours: %v, %v", len(writes), left.Err, right.Err)
			}
			if !errors.Is(middle.Err, chainstore.ErrTooLarge) {
				t.Errorf("error is %v", middle.Err)
			}
			mustBeCleanIn(t, s, testNamespace, 3)
		})
	}
}

// Changes whose keys are together more than a transaction takes are committed in several, each change whole.
func TestBatchesAreSplitByCount(t *testing.T) {
	const changes, aliases = 30, 40 // an alias is three short rows
	s := openStore(t, Options{MemtableBytes: 1 << 20})
	id := put(t, s, node(nil, "x"))[0].ID
	var requests []*commit.Request
	for i := range changes {
		c := &chainstore.Change{}
		for k := range aliases {
			c.Aliases = append(c.Aliases, setAlias(fmt.Sprintf("%d.%d", i, k), id, chainstore.Condition{}))
		}
		requests = append(requests, queuedChange(testNamespace, c))
	}
	writes := together(s, requests...)
	if want := 3 * changes * aliases / int(s.source.DB.MaxBatchCount()); len(writes) <= want || want == 0 {
		t.Errorf("%d transactions, want more than %d", len(writes), want)
	}
	for i, r := range requests {
		if r.Err != nil {
			t.Fatalf("change %d: %v", i, r.Err)
		}
	}
	if st := nodeStats(t, s); st.Aliases != changes*aliases {
		t.Errorf("%d aliases", st.Aliases)
	}
	mustBeClean(t, s)
}
