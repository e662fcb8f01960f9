package memstore

import (
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// compacted puts a chain of three nodes and a compaction of its first two, and returns all four; the node before the
// last has a sibling.
func compacted(t *testing.T, s *Store) (ids []chainstore.ID) {
	t.Helper()
	text := func(role runloop.Role, text string) storetest.Message {
		return storetest.Message{Role: role, Text: text}
	}
	call := storetest.Message{Role: runloop.Assistant, Calls: []runloop.Call{{ID: runloop.Some("c")}}}
	answer := storetest.Message{Role: runloop.Tool, CallID: runloop.Some("c"), Text: "r"}
	summary := storetest.Message{Role: runloop.User, Text: "so far", Summary: true}
	sibling := storetest.Node{Messages: []storetest.Message{text(runloop.User, "sibling")}}
	for _, n := range []storetest.Node{
		{Messages: []storetest.Message{text(runloop.System, "s"), text(runloop.User, "q")}},
		{Messages: []storetest.Message{call, answer}},
		{Messages: []storetest.Message{text(runloop.User, "on")}},
		{Messages: []storetest.Message{summary, text(runloop.User, "q"), call, answer}},
	} {
		if len(ids) > 0 {
			n.Parent = chainstore.Parent{Kind: chainstore.ParentID, ID: ids[len(ids)-1]}
			sibling.Parent = n.Parent
		}
		if len(ids) == 3 {
			put := chainstore.Provenance{Present: true, Place: runloop.Place{Seq: 1}}
			n.Compaction = &chainstore.Compaction{Covers: ids[1], Provenance: []chainstore.Provenance{{}, put, put, put}}
			sibling.Parent.ID = ids[1]
		}
		out, err := s.Commit(t.Context(), "n", &chainstore.Change{Nodes: []chainstore.NewNode{storetest.Simple().Make(n)}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, out.Nodes[0].ID)
	}
	beside := &chainstore.Change{Nodes: []chainstore.NewNode{storetest.Simple().Make(sibling)}}
	if _, err := s.Commit(t.Context(), "n", beside); err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestVerifyFindsInCompactions spoils a compaction node, or what it follows from, one thing at a time.
func TestVerifyFindsInCompactions(t *testing.T) {
	for name, spoil := range map[string]func(ns *namespace, c *node){
		"nothing":               func(*namespace, *node) {},
		"covers another":        func(_ *namespace, c *node) { c.covers = c.parent },
		"covers no ancestor":    func(ns *namespace, c *node) { c.covers = ns.order[4] },
		"covers the preamble":   func(_ *namespace, c *node) { c.parent.header.State.PreambleEnd.Seq = 2 },
		"covers an open call":   func(_ *namespace, c *node) { c.covers.header.State.Group.Answered[0] = false },
		"provenance too short":  func(_ *namespace, c *node) { c.compaction.Provenance = c.compaction.Provenance[:3] },
		"provenance of another": func(_ *namespace, c *node) { c.compaction.Provenance[1].Place.Index++ },
		"provenance too long": func(_ *namespace, c *node) {
			c.compaction.Provenance = append(c.compaction.Provenance, chainstore.Provenance{})
		},
		"no compaction node":     func(_ *namespace, c *node) { c.compaction, c.covers = nil, nil },
		"the tail's first facts": func(_ *namespace, c *node) { c.parent.facts[0].Length++ },
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{})
			ids := compacted(t, s)
			ns := s.namespaces["n"]
			spoil(ns, ns.nodes[ids[3]])
			found := 0
			err := s.Verify(t.Context(), chainstore.Check{Namespace: "n"}, storetest.Simple().Judge, func(r chainstore.VerifyReport) error {
				for _, p := range r.Problems {
					if p.Node == ids[3] {
						found++
					}
				}
				return nil
			})
			if err != nil || (found > 0) != (name != "nothing") {
				t.Fatalf("%d problems found, error %v", found, err)
			}
		})
	}
}
