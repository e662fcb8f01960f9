package badgerstore

import (
	"math/rand/v2"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/prose"
)

// BenchmarkConversations reads whole conversations of 250 rows of 3.5 KB, chosen in several ways, where rows have 11 MB: 600 before the clock
// starts, ten seconds apart by the cache's clock. It tells what share of the rows is in the cache.
func BenchmarkConversations(b *testing.B) {
	dir, o := b.TempDir(), Options{CacheBytes: 16 << 20, Now: paced()}
	s := openAt(b, dir, o)
	heads := make([]chainstore.ID, 60)
	for i := range heads {
		var end *chainstore.ID
		for j := range 250 {
			heads[i] = put(b, s, node(end, prose.Words(rand.New(rand.NewPCG(uint64(i), uint64(j))), 3500)))[0].ID
			end = &heads[i]
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 1, uint64(len(heads)-1))
	for _, c := range []struct {
		name  string
		again bool
		next  func(i int) int
	}{
		{"16 in turns", false, func(i int) int { return i % 16 }},
		{"25 in turns", false, func(i int) int { return i % 25 }},
		{"25 in turns, planned", true, func(i int) int { return i % 25 }},
		{"60 in turns", false, func(i int) int { return i % 60 }},
		{"25 at random", false, func(int) int { return random.IntN(25) }},
		{"60 by Zipf", false, func(int) int { return int(zipf.Uint64()) }},
		{"60 at random", false, func(int) int { return random.IntN(60) }},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkConversations(b, openAt(b, dir, o), heads, c.again, c.next) })
	}
}

func benchmarkConversations(b *testing.B, s *Store, heads []chainstore.ID, again bool, next func(i int) int) {
	i := 0
	read := func() {
		i++
		chain, show := chainOf(b, s, heads[next(i)]), func(*chainstore.Row) error { return nil }
		if again {
			if err := chain.Rows(b.Context(), []chainstore.Span{{Through: 1 << 20, HeadersOnly: true, WillReread: true}}, show); err != nil {
				b.Fatal(err)
			}
		}
		if err := chain.Rows(b.Context(), []chainstore.Span{{Through: 1 << 20}}, show); err != nil {
			b.Fatal(err)
		}
	}
	for range 600 {
		read()
	}
	before := s.source.Caches.Rows.Metrics()
	for b.Loop() {
		read()
	}
	now := s.source.Caches.Rows.Metrics()
	hits, misses := now.Hits-before.Hits, now.Misses-before.Misses
	b.ReportMetric(float64(hits)/float64(hits+misses), "in-cache")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
