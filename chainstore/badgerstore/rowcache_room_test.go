package badgerstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// growing is a chain to which nodes of some 4 KB are put, whose texts repeat themselves after so many bytes.
type growing struct {
	t      *testing.T
	s      *Store
	random *rand.Rand
	again  int
	planted
}

// paced is a clock that goes on by ten seconds each time that it is looked at.
func paced() func() time.Time {
	var steps atomic.Int64
	return func() time.Time { return time.Unix(10*steps.Add(1), 0) }
}

// openPaced opens a store whose readers are paced, with 1 MiB for rows, heads and aliases.
func openPaced(t *testing.T) *Store {
	return openStore(t, Options{RowCacheBytes: 1 << 20, Now: paced()})
}

func newGrowing(t *testing.T, s *Store, again int) *growing {
	return &growing{t: t, s: s, random: rand.New(rand.NewPCG(7, uint64(again))), again: again}
}

func (g *growing) grow(n int) {
	g.t.Helper()
	for range n {
		text := make([]byte, 4<<10)
		for i := range text {
			if text[i] = byte(' ' + g.random.IntN(95)); i >= g.again {
				text[i] = text[i-g.again]
			}
		}
		var end *chainstore.ID
		if len(g.payloads) > 0 {
			end = &g.head
		}
		n := node(end, fmt.Sprint(len(g.payloads)), string(text))
		g.payloads = append(g.payloads, bytes.Clone(n.Payload))
		g.head = put(g.t, g.s, n)[0].ID
	}
}

// read holds the whole chain against what was put, also what may be kept of it, and tells how many of its rows were not in the cache.
func (g *growing) read() (missed int) {
	g.t.Helper()
	return g.scan(chainstore.Span{Through: uint32(len(g.payloads) - 1)})
}

func (g *growing) scan(span chainstore.Span) (missed int) {
	g.t.Helper()
	before := g.s.source.Caches.Rows.Metrics()
	next, kept := 0, map[int][]byte{}
	err := chainOf(g.t, g.s, g.head).Rows(g.t.Context(), []chainstore.Span{span}, func(r *chainstore.Row) error {
		if !bytes.Equal(r.Payload, g.payloads[next]) {
			return fmt.Errorf("the payload of row %d is another", next)
		}
		if r.Shared != nil {
			kept[next] = r.Shared[r.SharedFrom:][:len(r.Payload)]
		}
		next++
		return nil
	})
	for i, payload := range kept {
		if !bytes.Equal(payload, g.payloads[i]) {
			g.t.Errorf("what may be kept of row %d has changed", i)
		}
	}
	if err != nil || next != len(g.payloads) {
		g.t.Fatalf("%d rows of %d: %v", next, len(g.payloads), err)
	}
	after := g.s.source.Caches.Rows.Metrics()
	if after.Bytes > after.LimitBytes {
		g.t.Errorf("%d bytes are kept, %d at most", after.Bytes, after.LimitBytes)
	}
	return int(after.Misses - before.Misses)
}

// TestLargeChains: of a chain that is read again and again, as much is kept as fits.
func TestLargeChains(t *testing.T) {
	for _, c := range []struct {
		name         string
		nodes, least int
	}{
		{"fits", 160, 160}, {"is a little larger", 260, 160}, {"is much larger", 3000, 150},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newGrowing(t, openPaced(t), 500)
			g.grow(c.nodes)
			g.read()
			g.read()
			if missed := g.read(); c.nodes-missed < c.least {
				t.Errorf("of %d rows, %d are in the cache, not %d", c.nodes, c.nodes-missed, c.least)
			}
		})
	}
}

// TestColdRowsMakeRoom: what is read no more is dropped for what is.
func TestColdRowsMakeRoom(t *testing.T) {
	s := openPaced(t)
	for again := 500; again < 505; again++ { // one after the other, of a size of which one fits
		g := newGrowing(t, s, again)
		g.grow(150)
		g.read()
		g.read()
		if missed := g.read(); missed > 0 {
			t.Errorf("%d rows of the chain that is read are not in the cache", missed)
		}
	}
}

// TestAgainKeepsWhatFits: of rows that are about to be read again, more than fit, those that fit are kept at once, in place of all that
// was read before.
func TestAgainKeepsWhatFits(t *testing.T) {
	s := openPaced(t)
	before := newGrowing(t, s, 4<<10)
	before.grow(300)
	for range 3 {
		before.read()
	}
	g := newGrowing(t, s, 500)
	g.grow(3000)
	span := chainstore.Span{Through: 2999, WillReread: true}
	g.scan(span)
	if missed := g.scan(span); missed > 2860 {
		t.Errorf("%d of 3000 rows are not in the cache", missed)
	}
}

// TestAgainInTurns: of chains that are read again and again, each about to be read again each time, more than fit, those that fit are found.
func TestAgainInTurns(t *testing.T) {
	s := openPaced(t)
	var all [3]*growing
	for i := range all {
		all[i] = newGrowing(t, s, 4<<10+i)
		all[i].grow(96)
	}
	missed := 0
	for range 4 {
		missed = 0
		for _, g := range all {
			missed += g.scan(chainstore.Span{Through: 95, WillReread: true})
		}
	}
	if missed > 150 {
		t.Errorf("%d of 288 rows are not in the cache", missed)
	}
}

// TestBlockGrows: rows that are read before or behind those of a block that is kept join them.
func TestBlockGrows(t *testing.T) {
	s := openPaced(t)
	g := newGrowing(t, s, 500)
	g.grow(cache.BlockRows)
	for _, span := range []chainstore.Span{
		{From: 8, Through: 10}, {From: 8, Through: 10}, {From: 4, Through: 10}, {From: 4, Through: 13}, {From: 0, Through: 13}, {From: 0, Through: 15},
	} {
		c := chainOf(t, s, g.head).(*chain)
		err := c.Rows(t.Context(), []chainstore.Span{span}, func(r *chainstore.Row) error {
			if !bytes.Equal(r.Payload, g.payloads[r.Seq]) {
				return fmt.Errorf("the payload of row %d is another", r.Seq)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		at := chainstore.Place{Segment: c.Runs(1)[0].Key, Seq: span.From}
		block := s.source.Caches.Rows.Get(c.ns, at, 0)
		if block == nil {
			continue // read once
		}
		last := span.Through
		if !block.Has(span.From) || !block.Has(last) || block.Before(0) != int(span.From) || last < 15 && block.Has(last+1) {
			t.Fatalf("the rows %d to %d are not kept by themselves", span.From, span.Through)
		}
	}
}
