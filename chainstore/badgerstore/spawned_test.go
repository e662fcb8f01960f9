package badgerstore

import (
	"context"
	"fmt"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
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
		if got := spawnedAt(t, s, id(i)); got != want {
			t.Errorf("%d nodes are found at the place of spawner %d, want %d", got, i, want)
		}
	}
	if c := storedCounters(t, s); c.awaited != 1 {
		t.Errorf("%d nodes wait for their spawner, want 1", c.awaited)
	}
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
	if c := storedCounters(t, s); c.awaited != 1 {
		t.Errorf("%d nodes wait for their spawner, want 1", c.awaited)
	}
	put(t, s, by)
	if c := storedCounters(t, s); c.awaited != 0 {
		t.Errorf("%d nodes wait for their spawner, want none", c.awaited)
	}
	mustBeClean(t, s)
}

// inOneBatch commits a change for each node in one transaction.
func inOneBatch(t *testing.T, s *Store, nodes ...chainstore.NewNode) {
	t.Helper()
	b := s.committer.begin()
	for _, n := range nodes {
		r := &request{
			ctx: context.Background(), namespace: testNamespace, change: &chainstore.Change{Nodes: []chainstore.NewNode{n}},
			released: make(chan struct{}), answered: make(chan struct{}),
		}
		if !b.take(r) || r.err != nil {
			t.Fatal(r.err)
		}
	}
	b.view.txn.Discard()
	s.committer.finish(b)
}

func spawnedAt(t *testing.T, s *Store, spawner chainstore.ID) (rows int) {
	t.Helper()
	inTestNamespace(t, s, func(v *view) error {
		at, found, err := v.placeOf(spawner)
		if err != nil || !found {
			return fmt.Errorf("the spawner: %t, %w", found, err)
		}
		key := spawnedAtKey(v.ns, at, 0)
		return v.scan(context.Background(), key[:len(key)-8], nil, func(_, _ []byte) error {
			rows++
			return nil
		})
	})
	return rows
}

func storedCounters(t *testing.T, s *Store) (c counters) {
	t.Helper()
	inTestNamespace(t, s, func(v *view) (err error) {
		c, err = v.counters()
		return err
	})
	return c
}

func inTestNamespace(t *testing.T, s *Store, f func(*view) error) {
	t.Helper()
	if err := s.read(context.Background(), testNamespace, f); err != nil {
		t.Fatal(err)
	}
}
