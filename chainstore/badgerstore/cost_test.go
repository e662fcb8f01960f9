package badgerstore

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
)

var deep = flag.Int("depth", 1000, "badgerstore: the length of the chain whose end must cost what its start does")

// cost4 is what a call asks of the database.
type cost4 struct{ gets, seeks, nexts, sets uint64 }

func (s *Store) cost(call func()) cost4 {
	g, k, n := s.Reads()
	w := s.Writes()
	call()
	g2, k2, n2 := s.Reads()
	return cost4{g2 - g, k2 - k, n2 - n, s.Writes() - w}
}

// The end of a long chain costs what that of a short one does, also where the committer remembers nothing.
func TestCostDoesNotDependOnDepth(t *testing.T) {
	dir := t.TempDir()
	ends := map[int]chainstore.ID{10: {}, *deep: {}}
	s := openAt(t, dir, Options{})
	for depth := range ends {
		ends[depth] = longChain(t, s, fmt.Sprint("chain of ", depth), depth)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	put(t, s, node(nil, "the first change asks for the namespace's number"))
	costs := map[string][]cost4{}
	for depth, end := range ends {
		measure := func(what string, call func()) { costs[what] = append(costs[what], s.cost(call)) }
		measure("read the end", func() { readFrom(t, s, end, uint32(depth-3)) })
		var next chainstore.ID
		measure("append to what is not remembered", func() { next = put(t, s, node(&end, "x"))[0].ID })
		measure("append", func() { put(t, s, node(&next, "y")) })
		measure("fork", func() { put(t, s, node(&end, "z")) })
	}
	for what, c := range costs {
		t.Logf("%s: %+v", what, c[0])
		if len(c) != 2 || c[0] != c[1] {
			t.Errorf("%s costs %+v", what, c)
		}
	}
	if c := costs["append"][0]; c.gets > 2 || c.seeks > 0 || c.sets > 3 {
		t.Errorf("an append costs %+v", c)
	}
}

func longChain(tb testing.TB, s *Store, name string, depth int) (end chainstore.ID) {
	tb.Helper()
	end = put(tb, s, node(nil, name))[0].ID
	for at := 1; at < depth; {
		nodes := []chainstore.NewNode{node(&end, fmt.Sprint(at))}
		for at++; at < depth && len(nodes) < 500; at++ {
			n := node(nil, fmt.Sprint(at))
			n.Parent = chainstore.Parent{Kind: chainstore.ParentPrevious}
			nodes = append(nodes, n)
		}
		end = put(tb, s, nodes...)[len(nodes)-1].ID
	}
	return end
}

func readFrom(tb testing.TB, s *Store, head chainstore.ID, from uint32) (rows int) {
	c, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: head}, nil)
	if err == nil {
		err = c.Rows(context.Background(), []chainstore.Span{{From: from, Through: c.Head().Seq}}, func(*chainstore.Row) error {
			rows++
			return nil
		})
	}
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

const sentence = "It was the best of times, it was the worst of times, it was the age of wisdom. "

// BenchmarkAppend appends nodes of about 500 bytes to chains, one for each of 64 callers.
func BenchmarkAppend(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := openStore(b, Options{CacheBytes: defaultCacheBytes})
			if callers > 1 {
				b.SetParallelism(callers / 2)
			}
			var chains atomic.Int64
			run := func(next func() bool) {
				end := put(b, s, node(nil, fmt.Sprint("chain ", chains.Add(1))))[0].ID
				for i := 0; next(); i++ {
					end = put(b, s, node(&end, fmt.Sprint(i), strings.Repeat(sentence, 5)))[0].ID
				}
			}
			b.ResetTimer()
			if callers == 1 {
				i := 0
				run(func() bool { i++; return i <= b.N })
				return
			}
			b.RunParallel(func(p *testing.PB) { run(p.Next) })
		})
	}
}

// BenchmarkRead reads 1,000 nodes of 3.5 KB, and the last two of them.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	s := openAt(b, dir, Options{})
	end := put(b, s, node(nil, "root"))[0].ID
	for i := range 999 {
		end = put(b, s, node(&end, fmt.Sprint(i), strings.Repeat(fmt.Sprint(i)+sentence, 40)))[0].ID
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	s = openAt(b, dir, Options{CacheBytes: defaultCacheBytes})
	for name, from := range map[string]uint32{"all": 0, "tail": 998} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				readFrom(b, s, end, from)
			}
		})
	}
}
