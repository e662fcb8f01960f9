package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func treeChecks() []check {
	return []check{
		{Forks, "OfForks", func(f *fixture) { f.forksOfForks(70) }},
		{Forks, "OfForksOfForks", func(f *fixture) { f.forksOfForks(140) }},
		{Forks, "Bushes", bushes},
		{LongChains, "AppendAndRead", longChains},
		{Children, "Order", childrenInOrder},
		{Children, "Pages", childrenInPages},
		{Find, "Prefixes", findPrefixes},
		{RoundTrip, "FoundNodes", foundNodes},
		{Compaction, "AreFound", foundCompactions},
	}
}

// forksOfForks goes down a tree in which each level hangs on a fork of the level above, two nodes a level.
func (f *fixture) forksOfForks(levels int) {
	at := f.put(root(system("s")))
	path := []chainstore.ID{at}
	var firsts []chainstore.ID
	for i := range levels {
		out := f.commit([]Node{
			under(byID(at), user(fmt.Sprintf("stays %d", i))),
			under(byID(at), user(fmt.Sprintf("leaves %d", i))),
			under(previous(), assistant(fmt.Sprintf("answer %d", i))),
		})
		firsts = append(firsts, out.Nodes[0].ID)
		path = append(path, out.Nodes[1].ID, out.Nodes[2].ID)
		at = out.Nodes[2].ID
	}
	head := idRef(at)
	equalSlices(f, "the path", idsOf(f.all(head)), path)
	for i, id := range path {
		c := f.head(head, &id)
		equal(f, "the place of after", c.After(), uint32(i))
		if i%9 == 0 {
			equalSlices(f, "the tail", idsOf(f.rows(c, chainstore.Span{From: uint32(i), Through: uint32(len(path) - 1)})), path[i:])
			equalSlices(f, "the chain", idsOf(f.all(idRef(id))), path[:i+1])
		}
	}
	for i, id := range firsts {
		_, err := f.store.Chain(f.ctx(), f.ns, head, &id)
		f.fails(err, chainstore.ErrNotAncestor)
		more := f.put(under(byID(id), assistant(fmt.Sprintf("late %d", i))))
		want := append(slices.Clone(path[:2*i+1]), id, more)
		equalSlices(f, "the first child's chain", idsOf(f.all(idRef(more))), want)
	}
	equalSlices(f, "the path afterwards", idsOf(f.all(head)), path)
	if !f.skips(Headers) {
		equal(f, "the forks", f.head(head, nil).Head().Forks, uint32(levels))
	}
	f.clean()
}

// bushes: many forks at each node of a trunk, put in any order.
func bushes(f *fixture) {
	trunk := f.long(chainstore.Parent{}, 20)
	paths := map[chainstore.ID][]chainstore.ID{}
	for round := range 5 {
		for i := len(trunk) - 1; i >= 0; i -= 3 {
			ids := f.long(byID(f.put(under(byID(trunk[i]), user(fmt.Sprintf("bush %d of %d", round, i))))), 3)
			rows := f.all(idRef(ids[2]))
			paths[ids[2]] = idsOf(rows)
			equal(f, "the length", len(rows), i+1+1+3)
			equalSlices(f, "the trunk's part", idsOf(rows)[:i+1], trunk[:i+1])
			equalSlices(f, "the bush's part", idsOf(rows)[i+2:], ids)
		}
	}
	for id, path := range paths {
		equalSlices(f, "the path later", idsOf(f.all(idRef(id))), path)
	}
	equalSlices(f, "the trunk", idsOf(f.all(idRef(trunk[19]))), trunk)
	f.clean()
}

func longChains(f *fixture) {
	n := longChain()
	ids := f.long(chainstore.Parent{}, n)
	last := f.put(under(byID(ids[n-1]), assistant("the end")), set("chat", 0, mustNotExist()))
	ids = append(ids, last)
	equalSlices(f, "the chain", idsOf(f.all(aliasRef("chat"))), ids)
	fork := f.put(under(byID(ids[n/2]), user("otherwise")))
	equalSlices(f, "the fork", idsOf(f.all(idRef(fork))), append(slices.Clone(ids[:n/2+1]), fork))
	for i := 0; i <= n; i += n / 10 {
		c := f.head(aliasRef("chat"), &ids[i])
		equal(f, "the place of after", c.After(), uint32(i))
		through := uint32(min(i+20, n))
		equalSlices(f, "some rows", idsOf(f.rows(c, chainstore.Span{From: uint32(i), Through: through})), ids[i:through+1])
	}
	h := f.head(aliasRef("chat"), nil).Head()
	equal(f, "the nodes", h.State.Full.Nodes, int64(n+1))
	equal(f, "the depth", h.State.Full.Depth, int64(n+1))
	equal(f, "the loops", h.State.Full.Loops, int64(n/2))
	f.clean()
}

func childIDs(children []*chainstore.Header) []chainstore.ID {
	var ids []chainstore.ID
	for _, h := range children {
		ids = append(ids, h.ID)
	}
	return ids
}

// order asserts that a list has what was put at about the same time, in any order, or, where the store says so, in that of the puts.
func (f *fixture) order(what string, got, put []chainstore.ID) {
	f.Helper()
	if !f.cfg.PutOrder {
		got, put = sortedIDs(got), sortedIDs(put)
	}
	equalSlices(f, what, got, put)
}

func sortedIDs(ids []chainstore.ID) []chainstore.ID {
	return slices.SortedFunc(slices.Values(ids), func(a, b chainstore.ID) int { return bytes.Compare(a[:], b[:]) })
}

func childrenInOrder(f *fixture) {
	top := f.put(root(system("s")), set("top", 0, anything()))
	other := f.put(root(system("another")))
	var want []chainstore.ID
	for i := range 12 {
		id := f.putLater(under(byID(top), user(fmt.Sprint(i)), assistant("a")))
		want = append(want, id)
		f.put(under(byID(id), user("grandchild")))
		f.put(under(byID(other), user(fmt.Sprint(i))))
		f.put(under(byID(top), user("0"), assistant("a")))
	}
	for _, ref := range []chainstore.Ref{idRef(top), aliasRef("top")} {
		got, err := f.store.Children(f.ctx(), f.ns, ref, nil, 100)
		f.ok(err)
		equalSlices(f, "the children", childIDs(got), want)
		for i, h := range got {
			equal(f, "the place", h.Seq, 1)
			equal(f, "the first put", h.FirstPut, millis(f.clock.Now().Add(-time.Duration(11-i)*chainstore.PutOrder)))
			equal(f, "the messages", len(h.Messages), 2)
			equal(f, "the role", h.Messages[1].Role, runloop.Assistant)
		}
	}
	got, err := f.store.Children(f.ctx(), f.ns, idRef(f.put(root(user("leaf")))), nil, 10)
	f.ok(err)
	equal(f, "a leaf's children", len(got), 0)
	_, err = f.store.Children(f.ctx(), f.ns, idRef(unknownID(1)), nil, 10)
	f.fails(err, chainstore.ErrNodeNotFound)
	_, err = f.store.Children(f.ctx(), f.ns, aliasRef("nobody"), nil, 10)
	f.fails(err, chainstore.ErrAliasNotFound)
}

func childrenInPages(f *fixture) {
	top := f.put(root(system("s")))
	var nodes []Node
	for i := range 250 {
		nodes = append(nodes, under(byID(top), user(fmt.Sprint(i))))
	}
	var put []chainstore.ID
	for _, p := range f.commit(nodes).Nodes {
		put = append(put, p.ID)
	}
	whole, err := f.store.Children(f.ctx(), f.ns, idRef(top), nil, len(put)+1)
	f.ok(err)
	want := childIDs(whole)
	f.order("the children", want, put)
	for _, limit := range []int{1, 7, 100, 250, 300} {
		var all []chainstore.ID
		var after *chainstore.ID
		for range len(want) + 2 {
			page, err := f.store.Children(f.ctx(), f.ns, idRef(top), after, limit)
			f.ok(err)
			if len(page) > limit {
				f.Fatalf("a page of %d at a limit of %d", len(page), limit)
			}
			if len(page) == 0 {
				break
			}
			all = append(all, childIDs(page)...)
			after = &all[len(all)-1]
		}
		equalSlices(f, "the children of all pages", all, want)
	}
	last := f.putLater(under(byID(top), user("behind all")))
	whole, err = f.store.Children(f.ctx(), f.ns, idRef(top), nil, len(put)+1)
	f.ok(err)
	equalSlices(f, "the children, and one that was put later", childIDs(whole), append(want, last))
	grandchild := f.put(under(byID(last), user("x")))
	for _, id := range []chainstore.ID{top, grandchild, unknownID(1)} {
		_, err := f.store.Children(f.ctx(), f.ns, idRef(top), &id, 10)
		f.fails(err, chainstore.ErrNodeNotFound)
	}
}

func findPrefixes(f *fixture) {
	var all []string
	for _, id := range f.long(chainstore.Parent{}, 300) {
		all = append(all, id.String())
	}
	slices.Sort(all)
	find := func(prefix string, limit int) {
		f.Helper()
		var want, got []string
		for _, s := range all {
			if strings.HasPrefix(s, prefix) && len(want) < limit {
				want = append(want, s)
			}
		}
		ids, err := f.store.Find(f.ctx(), f.ns, prefix, limit)
		f.ok(err)
		for _, id := range ids {
			got = append(got, id.String())
		}
		equalSlices(f, "the ids", got, want)
	}
	for _, s := range all[:10] {
		for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 12, 63, 64} {
			find(s[:n], 1000)
			find(s[:n], 2)
		}
		find(s[:63]+"0", 10)
	}
	find("", 1000)
	find("", 5)
	find("f", 1000)
	find("ff", 1000)
	find(strings.Repeat("f", 64), 10)
	find(strings.Repeat("0", 63), 10)
}
