package memstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// The suite's own checkers are tried on stores that are broken in one way each.

// stale answers reads of aliases with what it answered before, now and then.
type stale struct {
	chainstore.Store
	mu   sync.Mutex
	n    int
	seen map[string]*chainstore.Alias
}

func (s *stale) Alias(ctx context.Context, namespace, name string) (*chainstore.Alias, error) {
	a, err := s.Store.Alias(ctx, namespace, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n++; s.n%5 == 0 && s.seen[name] != nil {
		return s.seen[name], nil
	}
	if err == nil {
		s.seen[name] = a
	}
	return a, err
}

// lax moves aliases whatever their conditions say.
type lax struct{ chainstore.Store }

func (l lax) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	c := *change
	c.Aliases = nil
	for _, a := range change.Aliases {
		a.Condition = chainstore.Condition{}
		c.Aliases = append(c.Aliases, a)
	}
	return l.Store.Commit(ctx, namespace, &c)
}

// boastful says of every alias that it changed.
type boastful struct{ chainstore.Store }

func (b boastful) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	out, err := b.Store.Commit(ctx, namespace, change)
	if err == nil {
		for i := range out.Aliases {
			out.Aliases[i].Changed = true
		}
	}
	return out, err
}

// forgetful leaves the last state out of histories.
type forgetful struct{ chainstore.Store }

func (f forgetful) AliasHistory(ctx context.Context, namespace, name string) ([]chainstore.AliasState, error) {
	states, err := f.Store.AliasHistory(ctx, namespace, name)
	return states[min(1, len(states)):], err
}

func TestCheckRegistersCatches(t *testing.T) {
	for name, broken := range map[string]func(chainstore.Store) chainstore.Store{
		"stale": func(s chainstore.Store) chainstore.Store {
			return &stale{Store: s, seen: map[string]*chainstore.Alias{}}
		},
		"forgetful": func(s chainstore.Store) chainstore.Store { return forgetful{s} },
		"lax":       func(s chainstore.Store) chainstore.Store { return lax{s} },
		"boastful":  func(s chainstore.Store) chainstore.Store { return boastful{s} },
	} {
		t.Run(name, func(t *testing.T) {
			s := broken(memstore.New(memstore.Options{}))
			for seed := range uint64(5) {
				if storetest.CheckRegisters(t.Context(), s, fmt.Sprint(seed), storetest.Simple(), seed) != nil {
					return
				}
			}
			t.Fatal("five histories of a broken store passed")
		})
	}
}

// recorder is a test that notes failures.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Error(...any) { r.failed = true }

// keeper keeps what it only borrowed.
type keeper struct {
	chainstore.Store
	change *chainstore.Change
	// during, if not nil, sees each change while it is lent.
	during func(*chainstore.Change)
}

func (k *keeper) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	k.change = change
	if k.during != nil {
		k.during(change)
	}
	return k.Store.Commit(ctx, namespace, change)
}

// meddler changes what it only borrowed.
type meddler struct{ chainstore.Store }

func (m meddler) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	out, err := m.Store.Commit(ctx, namespace, change)
	change.Nodes[0].Payload[0] ^= 1
	return out, err
}

func rootNode(text string) *chainstore.Change {
	n := storetest.Node{Messages: []storetest.Message{{Role: 3, Text: text}}}
	return &chainstore.Change{Nodes: []chainstore.NewNode{storetest.Simple().Make(n)}}
}

func TestMangleSpoilsChanges(t *testing.T) {
	tb := &recorder{TB: t}
	k := &keeper{Store: memstore.New(memstore.Options{})}
	change := rootNode("x")
	payload := string(change.Nodes[0].Payload)
	_, err := storetest.Mangle(tb, k).Commit(t.Context(), "", change)
	if err != nil || tb.failed {
		t.Fatalf("a store that keeps slices fails too early: %v", err)
	}
	if string(change.Nodes[0].Payload) != payload {
		t.Fatal("the caller's change was spoilt")
	}
	if len(k.change.Nodes[0].Payload) != 0 || k.change.Nodes[0].Messages != nil {
		t.Fatal("the change that was kept is as it was")
	}
	if k.change.Nodes[0].Identify(nil); !tb.failed {
		t.Fatal("a late Identify was not noticed")
	}
}

func TestMangleSpoilsCompactions(t *testing.T) {
	k := &keeper{Store: memstore.New(memstore.Options{})}
	s := storetest.Mangle(t, k)
	root, err := s.Commit(t.Context(), "", rootNode("x"))
	if err != nil {
		t.Fatal(err)
	}
	id := root.Nodes[0].ID
	put := []chainstore.Provenance{{Present: true, Place: runloop.Place{Index: 7}}}
	change := &chainstore.Change{Nodes: []chainstore.NewNode{storetest.Simple().Make(storetest.Node{
		Parent: chainstore.Parent{Kind: chainstore.ParentID, ID: id}, Messages: []storetest.Message{{Role: 3, Text: "x"}},
		Compaction: &chainstore.Compaction{Covers: id, Provenance: put},
	})}}
	var kept *chainstore.Compaction
	var provenance []chainstore.Provenance
	k.during = func(c *chainstore.Change) { kept, provenance = c.Nodes[0].Compaction, c.Nodes[0].Compaction.Provenance }
	if _, err := s.Commit(t.Context(), "", change); err != nil {
		t.Fatal(err)
	}
	if c := change.Nodes[0].Compaction; c.Covers != id || c.Provenance[0] != put[0] || put[0].Place.Index != 7 {
		t.Fatal("the caller's change was spoilt")
	}
	if kept.Covers == id || kept.Provenance != nil || provenance[0] == put[0] {
		t.Fatal("the compaction that was kept is as it was")
	}
}

func TestMangleNoticesMeddling(t *testing.T) {
	tb := &recorder{TB: t}
	if _, err := storetest.Mangle(tb, meddler{memstore.New(memstore.Options{})}).Commit(t.Context(), "", rootNode("x")); err != nil {
		t.Fatal(err)
	}
	if !tb.failed {
		t.Fatal("a changed change was not noticed")
	}
}

func TestMangleSpoilsRows(t *testing.T) {
	s := storetest.Mangle(t, memstore.New(memstore.Options{}))
	out, err := s.Commit(t.Context(), "", rootNode("hello"))
	if err != nil {
		t.Fatal(err)
	}
	var kept []byte
	var first string
	for range 2 {
		c, err := s.Chain(t.Context(), "", chainstore.Ref{ID: out.Nodes[0].ID}, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Rows(t.Context(), []chainstore.Span{{}}, func(r *chainstore.Row) error {
			if first != "" && first != string(r.Payload) {
				t.Error("the store's own bytes were spoilt")
			}
			kept, first = r.Payload, string(r.Payload)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if string(kept) == first {
			t.Fatal("a row that was kept is as it was")
		}
	}
}
