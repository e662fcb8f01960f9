package badgerstore

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// A compaction costs a read of each node between what it covers and its parent, and a fixed number of reads besides;
// behind it everything costs what it does on a chain without one. The depth of the chain is in none of it.
func TestCostOfCompaction(t *testing.T) {
	dir := t.TempDir()
	const tail = 40
	loops := []int{tail, *deep / 2}
	s := openAt(t, dir, Options{})
	var chains [][]chainstore.ID
	for _, n := range loops {
		chains = append(chains, conversation(t, s, fmt.Sprint("chat ", n), n))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	put(t, s, node(nil, "the first change asks for the namespace's number"))
	costs := map[string][]cost4{}
	for _, ids := range chains {
		last := ids[len(ids)-1]
		extends := chainstore.Condition{Kind: chainstore.Extends, Head: last}
		var c, next chainstore.ID
		measure := func(what string, call func()) { costs[what] = append(costs[what], s.cost(call)) }
		measure("compact all", func() { put(t, s, compacting(byID(last), last, said(runloop.User, "all"))) })
		n := compacting(byAlias(fmt.Sprint("chat ", len(ids)/2)), ids[len(ids)-1-tail], said(runloop.User, "x"))
		measure("compact with a tail", func() {
			out, err := s.Commit(context.Background(), testNamespace, &chainstore.Change{
				Nodes:   []chainstore.NewNode{n},
				Aliases: []chainstore.AliasChange{move(fmt.Sprint("chat ", len(ids)/2), 0, extends)},
			})
			if err != nil {
				t.Fatal(err)
			}
			c = out.Nodes[0].ID
		})
		measure("append", func() { next = put(t, s, node(&c, "x"))[0].ID })
		measure("append again", func() { next = put(t, s, node(&next, "y"))[0].ID })
		measure("compact again", func() { put(t, s, compacting(byID(next), next, said(runloop.User, "again"))) })
		measure("find", func() { readFrom(t, s, next, 1<<31) })
	}
	for what, c := range costs {
		t.Logf("%s: %+v", what, c[0])
		if len(c) != 2 || c[0] != c[1] {
			t.Errorf("%s costs %+v", what, c)
		}
	}
	for what, most := range map[string]cost4{
		"compact all":         {gets: 10, seeks: 1, sets: 3},
		"compact with a tail": {gets: 11, seeks: 2, nexts: tail - 1, sets: 10},
		"append":              {gets: 2, sets: 3},
		"append again":        {gets: 2, sets: 3},
		"compact again":       {gets: 8, seeks: 2, sets: 3},
		"find":                {gets: 2, seeks: 1},
	} {
		c := costs[what][0]
		if c.gets > most.gets || c.seeks > most.seeks || c.nexts > most.nexts || c.sets > most.sets {
			t.Errorf("%s costs %+v, at most %+v", what, c, most)
		}
	}
	mustBeClean(t, s)
}

// A chain with many compactions is found and read from the covered node on as one with one is.
func TestCostAfterManyCompactions(t *testing.T) {
	s := openStore(t, Options{})
	ids := conversation(t, s, "chat", 10)
	costs := []cost4{}
	end := ids[len(ids)-1]
	for range 40 {
		c := put(t, s, compacting(byID(end), end, said(runloop.User, "question")))[0].ID
		end = put(t, s, node(&c, "x"))[0].ID
		costs = append(costs, s.cost(func() { readFrom(t, s, end, headerOf(t, s, end).Compaction.Seq) }))
	}
	if slices.ContainsFunc(costs, func(c cost4) bool { return c != costs[0] }) {
		t.Errorf("to read what is behind the nearest compaction costs %+v", costs)
	}
	mustBeClean(t, s)
}

// BenchmarkCompact puts compaction nodes behind a long tail.
func BenchmarkCompact(b *testing.B) {
	for _, loops := range []int{5, 500, 5000} {
		b.Run(fmt.Sprintf("tail=%d", 2*loops), func(b *testing.B) {
			s := openStore(b, Options{CacheBytes: defaultCacheBytes})
			ids := conversation(b, s, "chat", loops+1)
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				put(b, s, compacting(byID(ids[len(ids)-1]), ids[2], storetest.Message{Role: runloop.User, Text: fmt.Sprint(i)}))
			}
		})
	}
}
