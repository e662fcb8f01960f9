package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// pointTo is the change that points an alias to a node, or deletes it.
func pointTo(name string, id *chainstore.ID) *chainstore.Change {
	change := chainstore.AliasChange{Name: name, Target: chainstore.Target{Kind: chainstore.TargetNone}}
	if id != nil {
		change.Target = chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: *id}}
	}
	return &chainstore.Change{Aliases: []chainstore.AliasChange{change}}
}

func point(t testing.TB, s *Store, namespace, name string, id *chainstore.ID) {
	t.Helper()
	if _, err := s.Commit(t.Context(), namespace, pointTo(name, id)); err != nil {
		t.Fatal(err)
	}
}

// headOf is the head of the chain that an alias names.
func headOf(ctx context.Context, s *Store, namespace, name string) (chainstore.ID, error) {
	c, err := s.Chain(ctx, namespace, chainstore.Ref{Alias: name}, nil)
	if err != nil {
		return chainstore.ID{}, err
	}
	return c.Head().ID, nil
}

// TestAliasesAreAskedForOnce: a chain is found by its alias without the database until the alias is deleted.
func TestAliasesAreAskedForOnce(t *testing.T) {
	s := openStore(t, Options{})
	nodes := put(t, s, node(nil, "one"), node(nil, "other"))
	one, other := nodes[0].ID, nodes[1].ID
	gets := func(name string, want *chainstore.ID) uint64 {
		before, _, _ := s.Reads()
		id, err := headOf(t.Context(), s, "default", name)
		if want == nil && !errors.Is(err, chainstore.ErrAliasNotFound) || want != nil && (err != nil || id != *want) {
			t.Fatalf("%s names %v, %v, not %v", name, id, err, want)
		}
		after, _, _ := s.Reads()
		return after - before
	}
	point(t, s, "default", "a", &one)
	point(t, s, "default", "b", &other)
	gets("a", &one) // the heads, too
	gets("b", &other)
	for _, step := range []struct {
		what string
		do   func()
		want *chainstore.ID
		gets uint64
	}{
		{"nothing", func() {}, &one, 0},
		{"a move of another", func() { point(t, s, "default", "b", &one) }, &one, 0},
		{"a move", func() { point(t, s, "default", "a", &other) }, &other, 0},
		{"nothing after a move", func() {}, &other, 0},
		{"a deletion", func() { point(t, s, "default", "a", nil) }, nil, 1},
		{"nothing after a deletion", func() {}, nil, 1},
		{"being made again", func() { point(t, s, "default", "a", &one) }, &one, 1},
		{"nothing after that", func() {}, &one, 0},
	} {
		step.do()
		if got := gets("a", step.want); got != step.gets {
			t.Errorf("after %s the alias takes %d gets, not %d", step.what, got, step.gets)
		}
	}
	if m := s.Metrics().Aliases; m.Hits != 5 || m.Misses == 0 || m.Bytes == 0 || m.Bytes > m.LimitBytes {
		t.Errorf("the cache of aliases tells %+v", m)
	}
}

// TestAliasesOfNamespacesAreApart: the same name in two namespaces is two aliases.
func TestAliasesOfNamespacesAreApart(t *testing.T) {
	s := openStore(t, Options{})
	want := map[string]chainstore.ID{}
	for _, namespace := range []string{"x", "y"} {
		out, err := s.Commit(t.Context(), namespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, "of "+namespace)}})
		if err != nil {
			t.Fatal(err)
		}
		want[namespace] = out.Nodes[0].ID
		point(t, s, namespace, "a", &out.Nodes[0].ID)
	}
	for range 2 {
		for namespace, id := range want {
			if got, err := headOf(t.Context(), s, namespace, "a"); err != nil || got != id {
				t.Errorf("in %s the alias names %v, %v", namespace, got, err)
			}
		}
	}
	if _, err := headOf(t.Context(), s, "z", "a"); !errors.Is(err, chainstore.ErrAliasNotFound) {
		t.Errorf("in a namespace without it: %v", err)
	}
}

// TestAliasCacheAndOlderViews: a view sees where an alias pointed as of its commit, whatever later ones have read; and what a view
// reads after a later commit is not kept.
func TestAliasCacheAndOlderViews(t *testing.T) {
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprint("kept before the move: ", kept), func(t *testing.T) { olderViewsOfAnAlias(t, kept) })
	}
}

func olderViewsOfAnAlias(t *testing.T, kept bool) {
	s := openStore(t, Options{})
	nodes := put(t, s, node(nil, "one"), node(nil, "other"))
	one, other := nodes[0].ID, nodes[1].ID
	resolved := func(v *snapshot.Snapshot) chainstore.ID {
		t.Helper()
		at, err := v.Resolve(chainstore.Ref{Alias: "a"})
		if err != nil {
			t.Fatal(err)
		}
		h, err := v.HeaderAt(at)
		if err != nil {
			t.Fatal(err)
		}
		return h.ID
	}
	point(t, s, "default", "a", &one)
	ns := uint32(0)
	if err := s.source.Read(t.Context(), "default", func(v *snapshot.Snapshot) error { ns = v.Namespace; return nil }); err != nil {
		t.Fatal(err)
	}
	old, err := s.source.Open(ns)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if kept {
		resolved(old)
	}
	point(t, s, "default", "a", &other)
	if id := resolved(old); id != one {
		t.Errorf("the older view sees %v", id)
	}
	now, err := s.source.Open(ns)
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	for range 2 {
		if resolved(now) != other || resolved(old) != one {
			t.Error("a view sees what is of another's time")
		}
	}
}

// TestAliasCacheIsNeverBehind: readers of an alias that is moved all the time never see it where it was before a move that had
// been answered when they began, nor one of a later commit and then an earlier one.
func TestAliasCacheIsNeverBehind(t *testing.T) {
	s := openStore(t, Options{})
	const moves = 500
	number := map[chainstore.ID]int64{}
	var ids []chainstore.ID
	for i := range 50 {
		id := put(t, s, node(nil, fmt.Sprint(i)))[0].ID
		ids, number[id] = append(ids, id), int64(i)
	}
	point(t, s, "default", "a", &ids[0])
	var begun, answered atomic.Int64 // moves, of which move i points to ids[i % 50]
	var readers sync.WaitGroup
	defer readers.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				from := answered.Load()
				id, err := headOf(ctx, s, "default", "a")
				through := begun.Load()
				if ctx.Err() != nil {
					return
				}
				seen := from + (number[id]-from%50+50)%50 // the first of from and later ones that points there
				if err != nil || seen > through {
					t.Errorf("between moves %d and %d the alias is at %d of 50: %v", from, through, number[id], err)
					return
				}
			}
		})
	}
	for i := int64(1); i < moves && !t.Failed(); i++ {
		begun.Store(i)
		point(t, s, "default", "a", &ids[i%50])
		answered.Store(i)
	}
}
