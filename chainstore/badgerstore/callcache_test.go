package badgerstore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// repeated puts a node and tells how many of its calls have an id that an earlier call on the path has, and what the put
// asked of the database to find that.
func repeated(t *testing.T, s *Store, parent chainstore.ID, calls ...string) (n int, c cost4) {
	t.Helper()
	var id chainstore.ID
	c = s.cost(func() { id = put(t, s, callNode(&parent, calls))[0].ID })
	return headerOf(t, s, id).Messages[1].Mark.RepeatedIDs, c
}

// What is kept of the calls of chains answers as the database does: on forks, for what was refused, after a start, and
// where it was pushed out. Verify asks the database alone.
func TestCallsThatAreKept(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	root := put(t, s, callNode(nil, ids("root", 1)))[0].ID
	left := put(t, s, callNode(&root, ids("left", 1)))[0].ID
	right := put(t, s, callNode(&root, ids("right", 1)))[0].ID
	refused := queuedNodes(testNamespace, callNode(&right, ids("refused", 1)), node(&chainstore.ID{1}, "no parent"))
	together(s, queuedNodes(testNamespace, callNode(&left, ids("later", 1))), refused)
	if refused.Err == nil {
		t.Fatal("a node without a parent was taken")
	}
	judge := func(s *Store, kept bool) {
		t.Helper()
		for name, c := range map[string]struct {
			parent chainstore.ID
			want   int
			// sure says that what is kept tells the answer.
			sure bool
		}{
			"root 0": {right, 1, false}, "right 0": {right, 1, true}, "left 0": {right, 0, false}, "later 0": {left, 0, false},
			"refused 0": {right, 0, true},
		} {
			got, cost := repeated(t, s, c.parent, name, fmt.Sprint("new ", rand.Uint64()))
			if got != c.want {
				t.Errorf("%s: %d repeated ids, want %d", name, got, c.want)
			}
			if sought := cost.seeks > 0; sought == (kept && c.sure) {
				t.Errorf("%s: %+v; are the calls kept: %v", name, cost, kept)
			}
		}
		mustBeClean(t, s)
	}
	judge(s, true)
	s.source.Caches.Calls = callsOf(1) // which holds nothing
	judge(s, false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	judge(s, false)
}

// Of an id that is used again and again the database is asked once: not where another id was that has its fingerprint, and of
// both the answers are right.
func TestIDsThatAreUsedAgain(t *testing.T) {
	s := openStore(t, Options{})
	a, b := twins()
	root := put(t, s, callNode(nil, ids("root", 1)))[0].ID
	with := put(t, s, callNode(&root, []string{a}))[0].ID
	end := put(t, s, node(&with, "the group ends", "here"))[0].ID
	for i, want := range []struct {
		call  string
		n     int
		seeks uint64
	}{{b, 0, 1}, {a, 1, 1}, {a, 1, 0}, {b, 1, 0}, {a, 1, 0}} {
		got, c := repeated(t, s, end, want.call)
		if got != want.n || c.seeks != want.seeks {
			t.Errorf("call %d: %d repeated ids and %d seeks, want %d and %d", i, got, c.seeks, want.n, want.seeks)
		}
		id := put(t, s, callNode(&end, []string{want.call}))[0].ID
		end = put(t, s, node(&id, fmt.Sprint("the group ends ", i), "here"))[0].ID
	}
	// Behind what is known to have called again the database is asked.
	for call, want := range map[string]int{a: 1, b: 0} {
		if got, c := repeated(t, s, with, "x", call); got != want || c.seeks > 1 {
			t.Errorf("%d repeated ids below the first, want %d: %+v", got, want, c)
		}
		if got, _ := repeated(t, s, root, "x", call); got != 0 {
			t.Errorf("%d repeated ids below the root", got)
		}
	}
	mustBeClean(t, s)
}

// twins are ids of the same fingerprint, which is the beginning of their keys.
var twins = sync.OnceValues(func() (a, b string) {
	seen := map[[4]byte]string{}
	for i := 0; ; i++ {
		id := fmt.Sprint("twin ", i)
		key := derive.KeyOf(runloop.Some(id))
		p := [4]byte(key[:4])
		if other, has := seen[p]; has {
			return other, id
		}
		seen[p] = id
	}
})

// A chain from before the start is asked about in the database a few times, and then its calls are read in, but for one
// that is too long.
func TestSegmentsAreReadIn(t *testing.T) {
	for name, c := range map[string]struct {
		calls int
		kept  bool
	}{"short": {100, true}, "as long as may be": {cache.MaxReadIn - cache.ReadInAfter + 1, true}, "too long": {cache.MaxReadIn - cache.ReadInAfter + 2, false}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openAt(t, dir, Options{})
			end := put(t, s, callNode(nil, ids("call", c.calls-1), ids("forked", 1)))[0].ID
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, dir, Options{})
			put(t, s, node(nil, "the first change asks for the namespace's number"))
			next := func(i int) (cost cost4) {
				cost = s.cost(func() { end = put(t, s, callNode(&end, []string{fmt.Sprint("new ", i)}))[0].ID })
				return cost
			}
			for i := range cache.ReadInAfter - 1 {
				if got := next(i); got.seeks != 1 || got.nexts != 0 {
					t.Errorf("put %d asked %+v", i, got)
				}
			}
			if got, want := next(cache.ReadInAfter-1), uint64(min(c.calls+cache.ReadInAfter-1, cache.MaxReadIn)); got.nexts != want {
				t.Errorf("to read it in takes %+v, want %d steps", got, want)
			}
			for i := range 2 * cache.ReadInAfter {
				want := uint64(1)
				if c.kept {
					want = 0
				}
				if got := next(cache.ReadInAfter + i); got.seeks != want || got.nexts != 0 {
					t.Errorf("put %d asked %+v", cache.ReadInAfter+i, got)
				}
			}
			mustBeClean(t, s)
		})
	}
}

// What was read in and then pushed out is read in again, and asked about as often before.
func TestSegmentsAreReadInAgain(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	end := put(t, s, callNode(nil, ids("call", 10)))[0].ID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	in := cache.Segment{Namespace: layout.FirstNamespace, Segment: 1}
	for round := range 3 {
		for i := range cache.ReadInAfter {
			if keepsCalls(s, in) {
				t.Fatalf("round %d: kept after %d questions", round, i)
			}
			end = put(t, s, callNode(&end, []string{fmt.Sprint("new ", round, i)}))[0].ID
		}
		if !keepsCalls(s, in) {
			t.Fatalf("round %d: not kept after %d questions", round, cache.ReadInAfter)
		}
		s.source.Caches.Forget(0, &cache.Forgotten{Namespace: in.Namespace, From: map[uint64]uint32{in.Segment: math.MaxUint32}})
	}
	if n, _ := repeated(t, s, end, "call 3", "new 0 0", "new 1 7", "other"); n != 3 {
		t.Errorf("%d repeated ids", n)
	}
	mustBeClean(t, s)
}

// However many segments are due at once, a change waits for few rows to be read in; the others' turn comes later.
func TestReadingInIsBounded(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	const chains = 4
	rows := cache.MaxReadIn * 3 / 5
	var ends [chains]chainstore.ID
	for i := range ends {
		ends[i] = put(t, s, callNode(nil, ids(fmt.Sprint("chain ", i), rows-cache.ReadInAfter)))[0].ID
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	kept := func() (n int) {
		for i := range ends {
			if keepsCalls(s, cache.Segment{Namespace: layout.FirstNamespace, Segment: uint64(i + 1)}) {
				n++
			}
		}
		return n
	}
	for round := range cache.ReadInAfter + 1 {
		var nodes []chainstore.NewNode
		for i := range ends {
			nodes = append(nodes, callNode(&ends[i], []string{fmt.Sprint("new ", i, round)}))
		}
		for i, added := range put(t, s, nodes...) {
			ends[i] = added.ID
		}
		if want := max(0, round-cache.ReadInAfter+2) * 2; kept() != want {
			t.Errorf("after change %d %d segments are kept, want %d", round, kept(), want)
		}
	}
	mustBeClean(t, s)
}

// The calls of the group that a chain ends in lie in ancestors, unless they are copies in a compaction node.
func TestCopiesOfCallsAreNoCalls(t *testing.T) {
	s := openStore(t, Options{})
	root := put(t, s, node(nil, "question"))[0].ID
	call := func(id string) storetest.Message {
		return storetest.Message{Role: runloop.Assistant, Calls: []runloop.Call{{ID: runloop.Some(id)}}}
	}
	result := func(id string) storetest.Message {
		return storetest.Message{Role: runloop.Tool, CallID: runloop.Some(id), Text: "result"}
	}
	end := put(t, s, under(byID(root), call("original"), result("original")))[0].ID
	compacted := put(t, s, compacting(byID(end), end, said(runloop.User, "x"), call("copy"), result("copy")))[0].ID
	for name, c := range map[string]struct {
		parent chainstore.ID
		want   int
	}{"original": {end, 1}, "copy": {compacted, 0}} {
		if n, _ := repeated(t, s, c.parent, "new "+name, name); n != c.want {
			t.Errorf("%s: %d repeated ids, want %d", name, n, c.want)
		}
	}
	mustBeClean(t, s)
}

// callsOf is a cache of calls that holds so many bytes.
func callsOf(limit int64) *cache.Calls { return cache.New(cache.Sizes{Calls: limit}, time.Now).Calls }

// keepsCalls asks as a put does.
func keepsCalls(s *Store, in cache.Segment) bool {
	_, kept := s.source.Caches.Calls.Earlier(in, 0, nil, nil)
	return kept
}
