package badgerstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
)

// growing is a chain to which nodes of some 4 KB are put, whose texts repeat themselves after so many bytes.
type growing struct {
	t      *testing.T
	s      *Store
	random *rand.Rand
	again  int
	planted
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

// read holds the whole chain against what was put, and tells how many of its rows were not in the cache.
func (g *growing) read() (missed int) {
	g.t.Helper()
	return g.scan(chainstore.Span{Through: uint32(len(g.payloads) - 1)})
}

func (g *growing) scan(span chainstore.Span) (missed int) {
	g.t.Helper()
	before := g.s.rows.metrics()
	next := 0
	err := chainOf(g.t, g.s, g.head).Rows(g.t.Context(), span, func(r *chainstore.Row) error {
		if !bytes.Equal(r.Payload, g.payloads[next]) {
			return fmt.Errorf("the payload of row %d is another", next)
		}
		next++
		return nil
	})
	if err != nil || next != len(g.payloads) {
		g.t.Fatalf("%d rows of %d: %v", next, len(g.payloads), err)
	}
	after := g.s.rows.metrics()
	if after.Bytes > after.LimitBytes {
		g.t.Errorf("%d bytes are kept, %d at most", after.Bytes, after.LimitBytes)
	}
	return int(after.Misses - before.Misses)
}

// TestLargeChainsArePacked: a chain of up to twice what the cache holds is kept whole if its texts pack well, and one whose texts do not,
// or that is larger still, as far as it fits.
func TestLargeChainsArePacked(t *testing.T) {
	for _, c := range []struct {
		name                string
		again, nodes, least int
	}{
		{"fits", 500, 200, 200},
		{"fits packed", 500, 450, 450},
		{"fits in part", 500, 3000, 700},
		{"does not pack", 4 << 10, 450, 170},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newGrowing(t, openStore(t, Options{RowCacheBytes: 1 << 20}), c.again)
			g.grow(c.nodes)
			for range 4 { // one is not kept, one is; what packs tells how much more of them is worth keeping
				g.read()
			}
			if missed := g.read(); c.nodes-missed < c.least {
				t.Errorf("of %d rows, %d are in the cache, not %d", c.nodes, c.nodes-missed, c.least)
			}
		})
	}
}

// TestColdRowsMakeRoom: what is read no more is dropped for what is, which is not packed for it.
func TestColdRowsMakeRoom(t *testing.T) {
	s := openStore(t, Options{RowCacheBytes: 1 << 20})
	for again := 500; again < 505; again++ { // one after the other, of a size of which one fits
		g := newGrowing(t, s, again)
		g.grow(150)
		g.read()
		g.read()
		if missed := g.read(); missed > 0 || s.rows.small.size.Load() > 0 {
			t.Errorf("%d rows of the chain that is read are not in the cache, %d bytes are packed", missed, s.rows.small.size.Load())
		}
	}
}

// TestAgainKeepsWhatFits: of rows that are about to be read again, more than fit, those that fit are kept at once, in place of all that
// was read before.
func TestAgainKeepsWhatFits(t *testing.T) {
	s := openStore(t, Options{RowCacheBytes: 1 << 20})
	before := newGrowing(t, s, 4<<10)
	before.grow(300)
	for range 3 {
		before.read()
	}
	g := newGrowing(t, s, 500)
	g.grow(3000)
	span := chainstore.Span{Through: 2999, Again: true}
	g.scan(span)
	if missed := g.scan(span); missed > 2300 {
		t.Errorf("%d of 3000 rows are not in the cache", missed)
	}
}

// TestGrownChainIsPacked: a chain that outgrows the cache is packed as it is read, and what was kept of it stays.
func TestGrownChainIsPacked(t *testing.T) {
	g := newGrowing(t, openStore(t, Options{RowCacheBytes: 1 << 20}), 500)
	g.grow(180)
	g.read()
	for range 28 {
		g.read()
		g.grow(10)
		if missed := g.read(); missed > 2*blockRows {
			t.Errorf("with %d nodes, %d rows are not in the cache", len(g.payloads), missed)
		}
	}
}

// TestSpoiltPack: what does not unpack is read from the database.
func TestSpoiltPack(t *testing.T) {
	g := newGrowing(t, openStore(t, Options{RowCacheBytes: 1 << 20}), 500)
	g.grow(450)
	for range 3 {
		g.read()
	}
	spoilt := 0
	for e := g.s.rows.small.latest.Front(); e != nil; e = e.Next() {
		if b := e.Value.(*lruEntry[blockKey, *keptBlock]).value.block; b.packed != nil {
			spoilt++
			b.packed = b.packed[:len(b.packed)/2]
		}
	}
	if missed := g.read(); spoilt == 0 || missed != spoilt*blockRows {
		t.Errorf("%d blocks were spoilt, %d rows read from the database", spoilt, missed)
	}
	g.read()
	if missed := g.read(); missed != 0 {
		t.Errorf("%d rows are not in the cache again", missed)
	}
}

// TestPackedBlockGrows: rows that are read before or behind those of a packed block join them.
func TestPackedBlockGrows(t *testing.T) {
	s := openStore(t, Options{RowCacheBytes: 1 << 20})
	g := newGrowing(t, s, 500)
	g.grow(blockRows)
	c := chainOf(t, s, g.head).(*chain)
	key := blockKey{ns: c.ns, segment: c.Runs(1)[0].Key}
	for _, span := range []chainstore.Span{
		{From: 8, Through: 10}, {From: 8, Through: 10}, {From: 4, Through: 10}, {From: 4, Through: 13}, {From: 0, Through: 13}, {From: 0, Through: 15},
	} {
		err := c.Rows(t.Context(), span, func(r *chainstore.Row) error {
			if !bytes.Equal(r.Payload, g.payloads[r.Seq]) {
				return fmt.Errorf("the payload of row %d is another", r.Seq)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if s.rows.whole.get(key) == nil {
			continue // read once
		}
		s.rows.pack(s.rows.whole.get(key))
		k := s.rows.small.get(key)
		if k == nil || k.block.packed == nil || k.block.first != int(span.From) || k.block.behind() != int(span.Through)+1 {
			t.Fatalf("the rows %d to %d are not kept packed, or not by themselves", span.From, span.Through)
		}
	}
}

// blockFor is a block of n rows of 12,000 bytes each, the first at a place.
func blockFor(first, n int, packs bool) *rowBlock {
	random := rand.New(rand.NewPCG(uint64(first), uint64(n)))
	b := &rowBlock{first: first}
	for range n {
		value := make([]byte, 12000)
		for i := range value {
			if !packs || i < 100 {
				value[i] = byte(random.Uint32())
			}
		}
		b.add(value, 11900)
	}
	b.heads, b.payloads = bytes.Clone(b.heads), bytes.Clone(b.payloads)
	return b
}

// keys are the blocks that are kept.
func (c *rowCache) keys() (keys []uint32) {
	for _, blocks := range []*lru[blockKey, *keptBlock]{c.whole, c.small} {
		for key := range blocks.byKey {
			keys = append(keys, key.number)
		}
	}
	slices.Sort(keys)
	return keys
}

// touch reads a block of two rows as a scan does.
func (c *rowCache) touch(number uint32, packs bool) {
	key, scan := blockKey{number: number}, c.scans.Add(1)
	if c.get(key, scan) != nil {
		return
	}
	if had, since := c.again(key, scan); since > 0 {
		c.extend(key, had, blockFor(0, 2, packs), scan, since)
	}
}

// TestWhatMakesRoom: see rowCache.
func TestWhatMakesRoom(t *testing.T) {
	for _, c := range []struct {
		name  string
		packs bool
		reads []uint32
		kept  []uint32
	}{
		{"read once", false, []uint32{1, 2, 3}, nil},
		{"read twice", false, []uint32{1, 1, 2, 2, 3, 3}, []uint32{1, 2, 3}},
		{"the one that was read longest ago", false, []uint32{1, 1, 2, 2, 3, 3, 1, 4, 4}, []uint32{1, 3, 4}},
		{"in turns", false, []uint32{1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5}, []uint32{1, 2, 3}},
		{"no more in turns", false, []uint32{1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 4, 5, 4, 5}, []uint32{3, 4, 5}},
		{"in turns, packed", true, []uint32{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}, []uint32{1, 2, 3, 4, 5, 6}},
	} {
		cache := newRowCache(80000)
		for _, number := range c.reads {
			cache.touch(number, c.packs)
		}
		if kept := cache.keys(); !slices.Equal(kept, c.kept) {
			t.Errorf("%s: after %v, %v are kept, not %v", c.name, c.reads, kept, c.kept)
		}
	}
}

// TestLateExtend: what was replaced meanwhile is neither extended nor packed, and to extend a packed block drops nothing that is read as often.
func TestLateExtend(t *testing.T) {
	cache := newRowCache(80000)
	for range 2 {
		for number := range uint32(8) {
			cache.touch(number, true)
		}
	}
	kept, key := cache.keys(), blockKey{number: 1}
	old := cache.small.get(key)
	if old == nil || old.block.packed == nil {
		t.Fatal("the block is not packed")
	}
	cache.extend(key, old.block, blockFor(2, 2, true), cache.scans.Add(1), 1)
	if now := cache.keys(); !slices.Equal(now, kept) {
		t.Errorf("%v are kept, not %v", now, kept)
	}
	roomy := newRowCache(1 << 20)
	roomy.touch(1, true)
	roomy.touch(1, true)
	first := roomy.whole.get(key)
	roomy.extend(key, first.block, blockFor(2, 2, true), roomy.scans.Add(1), 1)
	second := roomy.whole.get(key)
	if second == first || second.block.behind() != 4 {
		t.Fatal("the block is not extended")
	}
	roomy.extend(key, first.block, blockFor(2, 1, true), roomy.scans.Add(1), 1)
	roomy.extend(key, nil, blockFor(2, 8, true), roomy.scans.Add(1), 1)
	roomy.pack(first)
	if roomy.whole.get(key) != second || roomy.small.has(key) {
		t.Error("the block was changed by who had an older one")
	}
	roomy.forget(key)
	roomy.extend(key, second.block, blockFor(4, 1, true), roomy.scans.Add(1), 1)
	if roomy.whole.has(key) {
		t.Error("a block that is kept no more was extended")
	}
}

// TestGrowthMakesRoom: a block that grows takes the place of one that was not read since it was read before.
func TestGrowthMakesRoom(t *testing.T) {
	cache, key := newRowCache(80000), blockKey{number: 1}
	for _, number := range []uint32{1, 1, 2, 2, 3, 3, 1} {
		cache.touch(number, false)
	}
	had, since := cache.again(key, cache.scans.Add(1))
	cache.extend(key, had, blockFor(2, 2, false), cache.scans.Load(), since)
	if kept := cache.keys(); !slices.Equal(kept, []uint32{1, 3}) || cache.whole.get(key).block.behind() != 4 {
		t.Errorf("%v are kept", kept)
	}
}
