package storetest

import (
	"fmt"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// ReadCounter is a store that counts what it reads of its engine.
type ReadCounter interface {
	// Reads are the lookups of one key, the seeks of an iterator, and its steps, since the store was opened.
	Reads() (gets, seeks, nexts uint64)
}

func readChecks() []check {
	return []check{
		{Reads, "DoNotDependOnDepth", readsByDepth},
		{Reads, "DependOnForks", readsByForks},
	}
}

type reads struct{ gets, seeks, nexts uint64 }

// count is what a call reads, once it has run before.
func (f *fixture) count(call func()) reads {
	f.Helper()
	c, ok := f.bare.(ReadCounter)
	if !ok {
		f.TB.(*testing.T).Skip("the store counts no reads")
	}
	call()
	g, s, n := c.Reads()
	call()
	g2, s2, n2 := c.Reads()
	return reads{g2 - g, s2 - s, n2 - n}
}

// tail reads the rows behind the k-th last.
func (f *fixture) tail(head chainstore.ID, after chainstore.ID, k int) {
	f.Helper()
	c := f.head(idRef(head), &after)
	equal(f, "the rows", len(f.rows(c, chainstore.Span{From: c.After() + 1, Through: c.Head().Seq})), k)
}

func readsByDepth(f *fixture) {
	costs := map[string][]reads{}
	for _, depth := range []int{10, longChain()} {
		g := f.in(fmt.Sprint("depth-", depth))
		ids := g.long(chainstore.Parent{}, depth)
		head, more := ids[depth-1], 0
		costs["the last 5 rows"] = append(costs["the last 5 rows"], g.count(func() { g.tail(head, ids[depth-6], 5) }))
		costs["a put at the end"] = append(costs["a put at the end"], g.count(func() {
			more++
			head = g.put(under(byID(head), user(fmt.Sprint(more))))
		}))
		costs["a put at an alias"] = append(costs["a put at an alias"], g.count(func() {
			more++
			old := head
			head = g.put(under(byID(head), assistant(fmt.Sprint(more))), set("chat", 0, anything()))
			g.commit(nil, point("before", old, anything()))
		}))
		costs["calls and their results"] = append(costs["calls and their results"], g.count(func() {
			more++
			head = g.put(under(byID(head), calling("t", fmt.Sprint(more)), result(fmt.Sprint(more), "r"), result("never", "r")))
		}))
		costs["a fork at the end"] = append(costs["a fork at the end"], g.count(func() {
			more++
			g.put(under(byID(ids[depth-2]), user(fmt.Sprint(more))))
		}))
		costs["a place"] = append(costs["a place"], g.count(func() {
			c := g.head(idRef(head), nil)
			_, err := c.Calls(g.ctx(), runloop.Some("never"), c.Head().Seq, 1)
			g.ok(err)
			g.tables(idRef(head))
		}))
		first, last := g.spawns(ids[1], "by the first"), g.spawns(head, "by the last")
		costs["what was spawned"] = append(costs["what was spawned"], g.count(func() { g.spawned(head, 2, false, first, last) }))
	}
	for what, c := range costs {
		f.Logf("%s: %+v at depth 10, %+v at depth %d", what, c[0], c[1], longChain())
		if c[0] != c[1] {
			f.Errorf("%s reads %+v at depth 10, %+v at depth %d", what, c[0], c[1], longChain())
		}
	}
}

// readsByForks: a whole chain costs about a row a step, and little more for each fork on its path.
func readsByForks(f *fixture) {
	straight := f.in("straight").long(chainstore.Parent{}, 201)
	g := f.in("forked")
	ids := g.long(chainstore.Parent{}, 1)
	for i := range 10 {
		g.put(under(byID(ids[len(ids)-1]), user(fmt.Sprint("stays ", i))))
		ids = append(ids, g.long(byID(ids[len(ids)-1]), 20)...)
	}
	a := f.in("straight").count(func() { f.in("straight").all(idRef(straight[200])) })
	b := g.count(func() { g.all(idRef(ids[200])) })
	f.Logf("201 rows: %+v straight, %+v over 10 forks", a, b)
	if a.gets > 10 || a.seeks > 10 || a.nexts > 250 {
		f.Errorf("201 rows on a straight chain read %+v", a)
	}
	if b.gets > 50 || b.seeks > 50 || b.nexts > 300 {
		f.Errorf("201 rows over 10 forks read %+v", b)
	}
}
