package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// spawnedNode is a root that says it was spawned by a node.
func spawnedNode(text string, by chainstore.ID) chainstore.NewNode {
	return storetest.Simple().Make(storetest.Node{
		Messages:    []storetest.Message{{Role: runloop.User, Text: text}},
		SpawnedFrom: &chainstore.SpawnedFrom{Node: by, CallID: runloop.Some("c")},
	})
}

// What was spawned is found by its spawner's place, whichever of the two was put first, in one change, in one batch or
// in different ones.
func TestSpawnedIsFoundByPlace(t *testing.T) {
	s := openStore(t, Options{})
	spawner := func(i int) chainstore.NewNode { return node(nil, fmt.Sprint("spawner ", i)) }
	id := func(i int) chainstore.ID { return spawner(i).Identify(nil) }

	put(t, s, spawner(0))
	put(t, s, spawnedNode("after", id(0)), spawnedNode("after, too", id(0)))
	put(t, s, spawner(1), spawnedNode("in the change after", id(1)))
	put(t, s, spawnedNode("in the change before", id(2)), spawner(2))
	put(t, s, spawnedNode("in an earlier change", id(3)))
	put(t, s, spawner(3))
	inOneBatch(t, s, spawnedNode("in the same batch", id(4)), spawner(4))
	put(t, s, spawnedNode("for ever without its spawner", id(5)))
	mustBeClean(t, s)

	for i, want := range []int{2, 1, 1, 1, 1} {
		if got, err := spawnedBy(s, id(i)); got != want || err != nil {
			t.Errorf("%d nodes are found at the place of spawner %d, want %d; error %v", got, i, want, err)
		}
	}
	if c := storedCounters(t, s); c.Awaited != 1 {
		t.Errorf("%d nodes wait for their spawner, want 1", c.Awaited)
	}
}

// A node that more wait for than a commit can link is put: the first of them are linked, and the others go on waiting.
func TestSpawnerThatVeryManyWaitFor(t *testing.T) {
	s := openStore(t, Options{MemtableBytes: 4 << 20})
	spawner := node(nil, "spawner")
	id := spawner.Identify(nil)
	bytes, _ := s.source.DB.MaxCommit()
	link := commit.Cost(string(layout.SpawnedAtKey(1, chainstore.Place{Segment: 1 << 20, Seq: 0}, 1<<20)), commit.Write{Value: layout.AppendPlaceValue(nil, chainstore.Place{Segment: 1 << 20, Seq: 0})})
	var first []chainstore.ID
	n := 0
	for int64(n)*link <= bytes {
		var nodes []chainstore.NewNode
		for i := range 1000 {
			nodes = append(nodes, spawnedNode(fmt.Sprint(n+i), id))
		}
		for _, p := range put(t, s, nodes...) {
			if n++; len(first) < 10 {
				first = append(first, p.ID)
			}
		}
	}
	put(t, s, spawner)
	put(t, s, spawnedNode("behind it", id))
	c, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: id}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, more, err := c.Spawned(context.Background(), len(first))
	if err != nil || !more || len(found) != len(first) {
		t.Fatalf("of %d it finds %d, and that there are more: %v; error %v", n, len(found), more, err)
	}
	for i := range found {
		if found[i].ID != first[i] {
			t.Errorf("node %d that is found is not that which was put then", i)
		}
	}
	if c := storedCounters(t, s); c.Awaited != uint64(n-layout.MaxAdopted) {
		t.Errorf("%d of %d nodes wait for their spawner, want all but %d", c.Awaited, n, layout.MaxAdopted)
	}
	mustBeClean(t, s)
}

// A link that is lost is told, also behind those that a spawner links when it is put.
func TestVerifyOfLinksOfManySpawned(t *testing.T) {
	s := openStore(t, Options{})
	spawner := node(nil, "spawner")
	id := spawner.Identify(nil)
	var nodes []chainstore.NewNode
	for i := range layout.MaxAdopted + 10 {
		nodes = append(nodes, spawnedNode(fmt.Sprint(i), id))
	}
	put(t, s, nodes...)
	put(t, s, spawner)
	put(t, s, spawnedNode("behind it", id))
	at := chainstore.Place{Segment: uint64(len(nodes)) + 1}
	for name, number := range map[string]uint64{"the first": 0, "one put behind the spawner": uint64(len(nodes)) + 1} {
		key := string(layout.SpawnedAtKey(1, at, number))
		value, there := allRows(t, s)[key]
		if !there {
			t.Fatalf("%s is not linked where it is expected", name)
		}
		rewrite(t, s, map[string]commit.Write{key: {Deleted: true}})
		if found := problems(t, s, testNamespace, storetest.Simple().Judge); len(found) == 0 {
			t.Errorf("nobody misses the link of %s", name)
		}
		rewrite(t, s, map[string]commit.Write{key: {Value: value}})
	}
	mustBeClean(t, s)
}

// A change that fails leaves no link and no count.
func TestSpawnedOfAFailedChange(t *testing.T) {
	s := openStore(t, Options{})
	by := node(nil, "spawner")
	put(t, s, spawnedNode("early", by.Identify(nil)))
	absent := node(&chainstore.ID{9}, "below nothing")
	if _, err := s.Commit(context.Background(), testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{by, absent}}); err == nil {
		t.Fatal("a node below nothing was put")
	}
	if c := storedCounters(t, s); c.Awaited != 1 {
		t.Errorf("%d nodes wait for their spawner, want 1", c.Awaited)
	}
	put(t, s, by)
	if c := storedCounters(t, s); c.Awaited != 0 {
		t.Errorf("%d nodes wait for their spawner, want none", c.Awaited)
	}
	mustBeClean(t, s)
}

// A row that names no spawned node is corrupt, whatever it names.
func TestSpawnedOfSpoiltRows(t *testing.T) {
	s := openStore(t, Options{})
	by := node(nil, "spawner")
	id := by.Identify(nil)
	put(t, s, by, node(nil, "not spawned"), spawnedNode("spawned", id))
	rows := allRows(t, s)
	key := string(layout.SpawnedAtKey(1, chainstore.Place{Segment: 1, Seq: 0}, 2))
	if _, there := rows[key]; !there {
		t.Fatal("the row is not where it is expected")
	}
	for name, value := range map[string][]byte{
		"nothing": {}, "no node": layout.AppendPlaceValue(nil, chainstore.Place{Segment: 99, Seq: 0}), "a node that was not spawned": layout.AppendPlaceValue(nil, chainstore.Place{Segment: 2, Seq: 0}),
	} {
		rewrite(t, s, map[string]commit.Write{key: {Value: value}})
		if _, err := spawnedBy(s, id); !errors.Is(err, chainstore.ErrCorrupt) {
			t.Errorf("a row that names %s: error %v", name, err)
		}
	}
	rewrite(t, s, map[string]commit.Write{key: {Value: rows[key]}})
	if n, err := spawnedBy(s, id); n != 1 || err != nil {
		t.Errorf("with the row as it was: %d nodes, error %v", n, err)
	}
}

// inOneBatch commits a change for each node in one transaction.
func inOneBatch(t *testing.T, s *Store, nodes ...chainstore.NewNode) {
	t.Helper()
	var requests []*commit.Request
	for _, n := range nodes {
		requests = append(requests, queuedNodes(testNamespace, n))
	}
	if writes := together(s, requests...); len(writes) != 1 {
		t.Errorf("%d transactions", len(writes))
	}
	for _, r := range requests {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// spawnedBy counts what a spawner that is a root is told to have spawned.
func spawnedBy(s *Store, spawner chainstore.ID) (int, error) {
	c, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: spawner}, nil)
	if err != nil {
		return 0, err
	}
	spawned, _, err := c.Spawned(context.Background(), 10)
	return len(spawned), err
}

func storedCounters(t *testing.T, s *Store) (c layout.Counters) {
	t.Helper()
	inTestNamespace(t, s, func(v *snapshot.Snapshot) (err error) {
		c, err = v.Counters()
		return err
	})
	return c
}

func inTestNamespace(t *testing.T, s *Store, f func(*snapshot.Snapshot) error) {
	t.Helper()
	if err := s.source.Read(context.Background(), testNamespace, f); err != nil {
		t.Fatal(err)
	}
}
