package memstore

import (
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

func put(t *testing.T, s *Store) chainstore.ID {
	t.Helper()
	n := storetest.Simple().Make(storetest.Node{Messages: []storetest.Message{{Role: 3, Text: "x", Detail: chainstore.Detail{Model: "m"}}}})
	out, err := s.Commit(t.Context(), "n", &chainstore.Change{Nodes: []chainstore.NewNode{n}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Nodes[0].ID
}

func TestRenewal(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	s := New(Options{Now: func() time.Time { return now }})
	id := put(t, s)
	last := int64(1_000_000)
	for _, step := range []struct {
		after  time.Duration
		renews bool
	}{{time.Hour, false}, {11 * time.Hour, false}, {time.Millisecond, true}, {12 * time.Hour, false}, {time.Hour, true}} {
		now = now.Add(step.after)
		put(t, s)
		if step.renews {
			last = now.UnixMilli()
		}
		if got := s.namespaces["n"].nodes[id].lastPut; got != last {
			t.Fatalf("after %v more the last put is %d, want %d", step.after, got, last)
		}
	}
}

// TestVerifyFinds spoils what is stored, one thing at a time.
func TestVerifyFinds(t *testing.T) {
	for name, spoil := range map[string]func(*namespace, *node){
		"payload": func(_ *namespace, n *node) { n.payload[len(n.payload)-3] ^= 1 },
		"details": func(_ *namespace, n *node) { n.details[3] ^= 1 },
		"length":  func(_ *namespace, n *node) { n.details = nil },
		"raw":     func(_ *namespace, n *node) { n.raw[len(n.raw)-1] ^= 1 },
		"revisions": func(ns *namespace, n *node) {
			ns.aliases["x"] = &alias{name: "x", revision: 2, states: []chainstore.AliasState{{Revision: 2, Node: n.id()}, {Revision: 2, Deleted: true}}}
		},
		"the revision": func(ns *namespace, n *node) {
			ns.aliases["x"] = &alias{name: "x", revision: 1, states: []chainstore.AliasState{{Revision: 2, Node: n.id()}}}
		},
		"alias": func(ns *namespace, _ *node) { ns.aliases["x"] = dangling() },
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{})
			id := put(t, s)
			spoil(s.namespaces["n"], s.namespaces["n"].nodes[id])
			found := 0
			err := s.Verify(t.Context(), chainstore.Check{Namespace: "n"}, storetest.Simple().Judge, func(r chainstore.VerifyReport) error {
				found += len(r.Problems)
				return nil
			})
			if err != nil || found == 0 {
				t.Fatalf("%d problems found, error %v", found, err)
			}
		})
	}
}

func dangling() *alias {
	return &alias{name: "x", states: []chainstore.AliasState{{Revision: 1, Node: chainstore.ID{1}}}}
}
