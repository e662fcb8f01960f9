package storetest

import (
	"errors"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
)

// foundNodes: nodes come by their ids, in the order of these, from chains and forks, with their links; what is not there is left out.
func foundNodes(f *fixture) {
	path := f.forked()
	nodes := everyKind()
	kinds := f.commit(nodes)
	made := f.change(nodes).Nodes
	parents := map[chainstore.ID]*chainstore.ID{path[0]: nil, kinds.Nodes[0].ID: nil}
	for i := 1; i < len(path); i++ {
		parents[path[i]] = &path[i-1]
	}
	for i := 1; i < len(made); i++ {
		parents[kinds.Nodes[i].ID] = &kinds.Nodes[i-1].ID
	}
	ids := []chainstore.ID{path[50], unknownID(1), path[0], path[21], path[20], path[31]}
	for i := range made {
		ids = append(ids, kinds.Nodes[i].ID, unknownID(byte(2+i)))
	}
	for range 2 { // the second time some engines have them in memory
		var got []chainstore.ID
		f.ok(f.store.Nodes(f.ctx(), f.ns, ids, func(n *chainstore.FoundNode) error {
			id := n.Header.ID
			got = append(got, id)
			equal(f, "the id of the row", n.Raw.ID(), id)
			equal(f, "the place", n.Seq, n.Header.Seq)
			equal(f, "that no memory is shared", n.Shared == nil, true)
			equal(f, "that there is a parent", n.Parent != nil, parents[id] != nil)
			if n.Parent != nil && parents[id] != nil {
				equal(f, "the parent", *n.Parent, *parents[id])
			}
			equal(f, "that nothing is covered", n.Covers == nil, true)
			if i := slices.IndexFunc(kinds.Nodes, func(r chainstore.PutNode) bool { return r.ID == id }); i >= 0 {
				equal(f, "the payload", string(n.Payload), string(made[i].Payload))
				equal(f, "the metadata", string(n.Metadata), string(made[i].Metadata))
				equal(f, "the details", string(n.Details), string(made[i].Details))
			}
			return nil
		}))
		equalSlices(f, "the nodes found", got, slices.DeleteFunc(slices.Clone(ids), func(id chainstore.ID) bool {
			_, there := parents[id]
			return !there
		}))
	}
	stop, came := errors.New("stop"), 0
	f.fails(f.store.Nodes(f.ctx(), f.ns, path, func(*chainstore.FoundNode) error {
		if came++; came == 2 {
			return stop
		}
		return nil
	}), stop)
	equal(f, "the nodes until yield failed", came, 2)
	none := func(*chainstore.FoundNode) error { return errors.New("a node of no id") }
	f.ok(f.store.Nodes(f.ctx(), f.ns, []chainstore.ID{unknownID(1)}, none))
	f.ok(f.store.Nodes(f.ctx(), "another", path[:1], none))
}

// foundCompactions: a compaction node comes with what it covers.
func foundCompactions(f *fixture) {
	ids := f.talk()
	for _, at := range []struct{ parent, covers chainstore.ID }{{ids[8], ids[5]}, {ids[9], ids[9]}} {
		c := f.put(compacted(at.parent, at.covers, summary("so far")))
		f.ok(f.store.Nodes(f.ctx(), f.ns, []chainstore.ID{c}, func(n *chainstore.FoundNode) error {
			equal(f, "the parent", *n.Parent, at.parent)
			equal(f, "what is covered", *n.Covers, at.covers)
			return nil
		}))
	}
}
