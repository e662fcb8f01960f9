package badgerstore

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// planted is a chain that was put and the payloads of its nodes, root first.
type planted struct {
	head     chainstore.ID
	payloads [][]byte
}

// plant puts chains that fork off each other at random, with payloads of many sizes, some of which lie in chunks.
func plant(t *testing.T, s *Store, random *rand.Rand, chains int) []planted {
	t.Helper()
	var all []planted
	for i := range chains {
		var c planted
		var end *chainstore.ID
		if i > 0 {
			from := all[random.IntN(len(all))]
			n := 1 + random.IntN(len(from.payloads))
			c.payloads = slices.Clone(from.payloads[:n])
			id := idOfRow(t, s, from.head, uint32(n-1))
			end = &id
		}
		for range 1 + random.IntN(40) {
			size := 1 << random.IntN(12)
			if random.IntN(80) == 0 {
				size = layout.MaxChunk + random.IntN(layout.MaxChunk)
			}
			n := node(end, fmt.Sprint(i, len(c.payloads)), strings.Repeat("x", size))
			c.payloads = append(c.payloads, bytes.Clone(n.Payload))
			c.head = put(t, s, n)[0].ID
			end = &c.head
		}
		all = append(all, c)
	}
	return all
}

func idOfRow(t *testing.T, s *Store, head chainstore.ID, seq uint32) (id chainstore.ID) {
	t.Helper()
	c := chainOf(t, s, head)
	err := c.Rows(t.Context(), []chainstore.Span{{From: seq, Through: seq}}, func(r *chainstore.Row) error {
		id = r.Raw.ID()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func chainOf(t testing.TB, s *Store, head chainstore.ID) chainstore.Chain {
	t.Helper()
	c, err := s.Chain(t.Context(), "default", chainstore.Ref{ID: head}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// check reads a random part of a chain, sometimes not to its end, and holds it against what was put.
func (c *planted) check(ctx context.Context, s *Store, random *rand.Rand) error {
	chain, err := s.Chain(ctx, "default", chainstore.Ref{ID: c.head}, nil)
	if err != nil {
		return err
	}
	from := random.IntN(len(c.payloads))
	span := chainstore.Span{From: uint32(from), Through: uint32(from + random.IntN(len(c.payloads)-from)), HeadersOnly: random.IntN(4) == 0, WillReread: random.IntN(4) == 0}
	next, enough := span.From, random.IntN(100)
	err = chain.Rows(ctx, []chainstore.Span{span}, func(r *chainstore.Row) error {
		if enough--; enough == 0 {
			return snapshot.ErrStop
		}
		h, err := r.Header()
		if err != nil {
			return err
		}
		want := c.payloads[next]
		if r.Seq != next || h.PayloadLength != len(want) || !span.HeadersOnly && !bytes.Equal(r.Payload, want) {
			return fmt.Errorf("row %d of %v is another", next, span)
		}
		next++
		return nil
	})
	if enough > 0 && next != span.Through+1 {
		return fmt.Errorf("%v ends before row %d: %w", span, next, err)
	}
	if enough == 0 {
		return nil
	}
	return err
}

// TestRowCache: whatever is kept and dropped, chains are read as they were put, also by several readers at once while
// they grow.
func TestRowCache(t *testing.T) {
	for _, size := range []int64{-1, 20 << 10, 200 << 10, 0} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			s := openStore(t, Options{RowCacheBytes: size})
			chains := plant(t, s, rand.New(rand.NewPCG(1, uint64(size))), 8)
			var wait sync.WaitGroup
			for reader := range 4 {
				wait.Go(func() {
					random := rand.New(rand.NewPCG(2, uint64(reader)))
					for range 200 {
						if err := chains[random.IntN(len(chains))].check(t.Context(), s, random); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			random := rand.New(rand.NewPCG(3, 3))
			grown := plant(t, s, random, 3)
			wait.Wait()
			for i := range grown {
				if err := grown[i].check(t.Context(), s, random); err != nil {
					t.Error(err)
				}
			}
			if m := s.source.Caches.Rows.Metrics(); m.Bytes > m.LimitBytes {
				t.Errorf("%d bytes are kept, %d at most", m.Bytes, m.LimitBytes)
			}
		})
	}
}

// TestHotReadsAskForNothing: a chain that was read twice is read without the database, and one that has grown since
// asks for what is new.
func TestHotReadsAskForNothing(t *testing.T) {
	s := openStore(t, Options{})
	var end *chainstore.ID
	grow := func(n int) {
		for range n {
			id := put(t, s, node(end, "one more"))[0].ID
			end = &id
		}
	}
	read := func() [3]uint64 {
		before := [3]uint64{}
		before[0], before[1], before[2] = s.Reads()
		rows := 0
		if err := chainOf(t, s, *end).Rows(t.Context(), []chainstore.Span{{Through: 1 << 20}}, func(*chainstore.Row) error {
			rows++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		gets, seeks, nexts := s.Reads()
		return [3]uint64{gets - before[0], seeks - before[1], nexts - before[2]}
	}
	grow(100)
	if first, second := read(), read(); first != [3]uint64{0, 1, 99} || second != [3]uint64{0, 1, 99} {
		t.Errorf("a first read asks for %v, a second for %v", first, second)
	}
	if again := read(); again != [3]uint64{} {
		t.Errorf("a third read asks for %v", again)
	}
	grow(3)
	if grown := read(); grown != [3]uint64{0, 1, 2} { // the head is known from its put; three rows
		t.Errorf("after three more nodes a read asks for %v", grown)
	}
	if again := read(); again != [3]uint64{} {
		t.Errorf("a second read of them asks for %v", again)
	}
}
