package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func descendantChecks() []check {
	return []check{
		{Descendants, "OfForks", descendantsOfForks},
		{Descendants, "OfManyForks", descendantsOfManyForks},
		{Descendants, "OfCompactions", descendantsOfCompactions},
		{Descendants, "Spawned", descendantsAreNotSpawned},
		{Descendants, "Collected", descendantsCollected},
		{Descendants, "Ends", descendantsEnd},
	}
}

// below asserts which nodes are below a node, and that parents come first.
func (f *fixture) below(id chainstore.ID, want ...chainstore.ID) {
	f.Helper()
	seen := map[chainstore.ID]bool{id: true}
	var got []chainstore.ID
	f.ok(f.store.Descendants(f.ctx(), f.ns, id, func(h *chainstore.Header) error {
		got = append(got, h.ID)
		c := f.head(idRef(h.ID), nil) // the store may be asked meanwhile
		path := idsOf(f.rows(c, chainstore.Span{From: h.Seq - 1, Through: h.Seq}))
		equal(f, "that the parent came before "+h.ID.Prefix(), seen[path[0]], true)
		seen[h.ID] = true
		return nil
	}))
	equalSlices(f, "the descendants", sortedIDs(got), sortedIDs(want))
}

func descendantsOfForks(f *fixture) {
	trunk := f.long(chainstore.Parent{}, 9)
	other := f.long(byID(f.put(root(user("another")))), 4)
	left := f.long(byID(trunk[3]), 1)
	right := f.chain(byID(trunk[3]), user("right"), assistant("r"), user("right again"))
	twig := f.chain(byID(right[1]), user("twig"), assistant("t"))
	leaf := f.chain(byID(trunk[8]), user("leaf"))
	tip := f.chain(byID(trunk[8]), user("tip"))
	forks := slices.Concat(left, right, twig, leaf, tip)
	f.below(trunk[0], append(slices.Clone(trunk[1:]), forks...)...)
	f.below(trunk[3], append(slices.Clone(trunk[4:]), forks...)...)
	f.below(trunk[4], slices.Concat(trunk[5:], leaf, tip)...)
	f.below(right[0], append(slices.Clone(right[1:]), twig...)...)
	f.below(right[1], append(slices.Clone(right[2:]), twig...)...)
	f.below(right[2])
	f.below(other[3])
	f.below(tip[0])
}

// descendantsOfManyForks: more than an engine may read at once, in rows, in forks, and in depth.
func descendantsOfManyForks(f *fixture) {
	trunk := f.long(chainstore.Parent{}, 600)
	want := slices.Clone(trunk[1:])
	for i := 0; i < 4200; i += 300 {
		nodes := make([]Node, 0, 300)
		for k := range 300 {
			nodes = append(nodes, under(byID(trunk[1]), user(fmt.Sprintf("fork %d", i+k))))
		}
		for _, p := range f.commit(nodes).Nodes {
			want = append(want, p.ID)
		}
	}
	at := trunk[599]
	for i := range 20 {
		ids := f.chain(byID(at), user(fmt.Sprintf("stays %d", i)))
		at = f.put(under(byID(at), user(fmt.Sprintf("leaves %d", i))))
		want = append(want, ids[0], at)
	}
	got := 0
	f.ok(f.store.Descendants(f.ctx(), f.ns, trunk[0], func(h *chainstore.Header) error { got++; return nil }))
	equal(f, "the number of descendants", got, len(want))
	f.below(trunk[598], append(slices.Clone(want[len(want)-40:]), trunk[599])...)
}

func descendantsOfCompactions(f *fixture) {
	if f.skips(Compaction) {
		return
	}
	ids := f.long(chainstore.Parent{}, 6)
	c := f.put(compacted(ids[5], ids[3], summary("s")))
	behind := f.put(under(byID(c), user("behind")))
	f.below(ids[2], ids[3], ids[4], ids[5], c, behind)
	f.below(c, behind)
}

// descendantsAreNotSpawned: what a node spawned is a chain of its own.
func descendantsAreNotSpawned(f *fixture) {
	ids := f.long(chainstore.Parent{}, 3)
	own := root(user("spawned"))
	own.SpawnedFrom = &chainstore.SpawnedFrom{Node: ids[1], CallID: runloop.Some("c")}
	spawned := f.put(own)
	f.below(ids[0], ids[1], ids[2])
	f.below(spawned)
}

// descendantsCollected: what was collected is not told of, and where it ended others may begin.
func descendantsCollected(f *fixture) {
	if f.skips(Collect) {
		return
	}
	trunk := f.long(chainstore.Parent{}, 5)
	f.commit(nil, point("kept", trunk[2], anything()))
	f.collect(chainstore.Collection{}, nil)
	f.below(trunk[0], trunk[1], trunk[2])
	again := f.chain(byID(trunk[2]), user("again"), assistant("a"))
	f.below(trunk[0], append([]chainstore.ID{trunk[1], trunk[2]}, again...)...)
	f.below(trunk[2], again...)
}

// descendantsEnd: with an error of yield; and there are none of a node that is not there.
func descendantsEnd(f *fixture) {
	ids := f.long(chainstore.Parent{}, 5)
	stop, told := errors.New("stop"), 0
	err := f.store.Descendants(f.ctx(), f.ns, ids[0], func(*chainstore.Header) error {
		if told++; told == 2 {
			return stop
		}
		return nil
	})
	f.fails(err, stop)
	equal(f, "the headers yielded", told, 2)
	none := func(*chainstore.Header) error { f.Error("a descendant"); return nil }
	f.fails(f.store.Descendants(f.ctx(), f.ns, unknownID(1), none), chainstore.ErrNodeNotFound)
	f.fails(f.store.Descendants(f.ctx(), "another", ids[0], none), chainstore.ErrNodeNotFound)
}
