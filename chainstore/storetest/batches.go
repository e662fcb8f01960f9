package storetest

import (
	"github.com/transcriptd/transcriptd/chainstore"
)

func batchChecks() []check {
	return []check{
		{Batches, "ParentsWithin", parentsWithin},
		{Batches, "Duplicates", duplicatesWithin},
		{Batches, "AliasesStandForBefore", aliasesStandForBefore},
		{Batches, "FailWhole", batchesFailWhole},
		{Batches, "Large", largeBatch},
	}
}

// parentsWithin: parents that are earlier nodes of the change, by id and as the previous one.
func parentsWithin(f *fixture) {
	top := root(system("s"))
	topID := f.idOf(top, nil)
	nodes := []Node{
		top, under(previous(), user("1")), under(byID(topID), user("2")), under(previous(), user("3")),
		root(user("elsewhere")), under(byID(topID), user("4")),
	}
	out := f.commit(nodes)
	paths := [][]int{{0}, {0, 1}, {0, 2}, {0, 2, 3}, {4}, {0, 5}}
	for i, path := range paths {
		var want []chainstore.ID
		for _, k := range path {
			want = append(want, out.Nodes[k].ID)
		}
		equalSlices(f, "the path", idsOf(f.all(idRef(out.Nodes[i].ID))), want)
		equal(f, "the nodes", out.Nodes[i].Full.Nodes, int64(len(path)))
	}
	f.clean()
}

func duplicatesWithin(f *fixture) {
	nodes := []Node{root(user("a")), root(user("a")), under(previous(), user("b")), root(user("a")), under(previous(), user("b"))}
	out := f.commit(nodes, set("one", 1, anything()), set("two", 4, anything()))
	for i, want := range []bool{true, false, true, false, false} {
		equal(f, "created", out.Nodes[i].Created, want)
	}
	equal(f, "the second's id", out.Nodes[1].ID, out.Nodes[0].ID)
	equal(f, "the fifth's id", out.Nodes[4].ID, out.Nodes[2].ID)
	f.points("one", out.Nodes[0].ID)
	f.points("two", out.Nodes[2].ID)
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the nodes", st.Nodes, 2)
	children, err := f.store.Children(f.ctx(), f.ns, idRef(out.Nodes[0].ID), nil, 10)
	f.ok(err)
	equal(f, "the children", len(children), 1)
	f.clean()
}

func aliasesStandForBefore(f *fixture) {
	a := f.put(root(user("a")), set("x", 0, anything()))
	out := f.commit([]Node{under(byAlias("x"), user("1")), under(byAlias("x"), user("2"))}, set("x", 0, anything()))
	for i, n := range out.Nodes {
		rows := f.all(idRef(n.ID))
		equal(f, "the length", len(rows), 2)
		equal(f, "the parent", rows[0].header.ID, a)
		equal(f, "the totals", out.Nodes[i].Full.Nodes, 2)
	}
	_, err := f.try([]Node{root(user("b")), under(byAlias("y"), user("1"))}, set("y", 0, anything()))
	f.missing(err, chainstore.ErrParentNotFound, 1)
	f.absent(f.idOf(root(user("b")), nil))
}

func batchesFailWhole(f *fixture) {
	first := root(user("a"))
	id := f.idOf(first, nil)
	_, err := f.try([]Node{first, under(previous(), user("b")), under(byID(unknownID(1)), user("c"))})
	f.missing(err, chainstore.ErrParentNotFound, 2)
	f.absent(id)
	_, err = f.try([]Node{under(byID(id), user("b")), first})
	f.missing(err, chainstore.ErrParentNotFound, 0)
	_, err = f.try(append([]Node{first}, tooManyCalls(previous())...))
	f.fails(err, chainstore.ErrGroupTooLarge)
	f.absent(id)
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the nodes", st.Nodes, 0)
}

func largeBatch(f *fixture) {
	nodes := make([]Node, 1000)
	for i := range nodes {
		nodes[i] = numbered(previous(), i)
		if i%100 == 0 {
			nodes[i].Parent = chainstore.Parent{}
			nodes[i].Metadata = []Entry{{"chain", string(rune('a' + i/100))}}
		}
	}
	out := f.commit(nodes, set("last", 999, anything()))
	rows := f.all(aliasRef("last"))
	equal(f, "the length", len(rows), 100)
	for i, r := range rows {
		equal(f, "the id", r.header.ID, out.Nodes[900+i].ID)
	}
	f.clean()
}
