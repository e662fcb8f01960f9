package badgerstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

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

// paced lets each reader begin ten seconds after the one before.
func (c *rowCache) paced() *rowCache {
	var now time.Duration
	c.now = func() time.Duration {
		now += 10 * time.Second
		return now
	}
	return c
}

// openPaced opens a store whose readers are paced, with 1 MiB for rows, heads and aliases.
func openPaced(t *testing.T) *Store {
	s := openStore(t, Options{RowCacheBytes: 1 << 20})
	s.rows.paced()
	return s
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
	before := g.s.rows.metrics()
	next, kept := 0, map[int][]byte{}
	err := chainOf(g.t, g.s, g.head).Rows(g.t.Context(), span, func(r *chainstore.Row) error {
		if !bytes.Equal(r.Payload, g.payloads[next]) {
			return fmt.Errorf("the payload of row %d is another", next)
		}
		if r.Kept != nil {
			kept[next] = r.Kept[r.KeptFrom:][:len(r.Payload)]
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
		packs               bool
	}{
		{"fits", 500, 160, 160, false},
		{"fits packed", 500, 450, 450, true},
		{"fits in part", 500, 3000, 700, true},
		{"does not pack", 4 << 10, 450, 170, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newGrowing(t, openPaced(t), c.again)
			g.grow(c.nodes)
			g.read()
			g.read()
			if missed := g.read(); c.nodes-missed < c.least {
				t.Errorf("of %d rows, %d are in the cache, not %d", c.nodes, c.nodes-missed, c.least)
			}
			if packed := g.s.rows.countPacked(); (packed > 0) != c.packs {
				t.Errorf("%d blocks are packed", packed)
			}
		})
	}
}

// TestColdRowsMakeRoom: what is read no more is dropped for what is, which is not packed for it.
func TestColdRowsMakeRoom(t *testing.T) {
	s := openPaced(t)
	for again := 500; again < 505; again++ { // one after the other, of a size of which one fits
		g := newGrowing(t, s, again)
		g.grow(150)
		g.read()
		g.read()
		if missed := g.read(); missed > 0 || s.rows.countPacked() > 0 {
			t.Errorf("%d rows of the chain that is read are not in the cache, %d blocks are packed", missed, s.rows.countPacked())
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
	span := chainstore.Span{Through: 2999, Again: true}
	g.scan(span)
	if missed := g.scan(span); missed > 2300 {
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
			missed += g.scan(chainstore.Span{Through: 95, Again: true})
		}
	}
	if missed > 150 {
		t.Errorf("%d of 288 rows are not in the cache", missed)
	}
}

// TestGrownChainIsPacked: a chain that outgrows the cache is packed as it is read, and what was kept of it stays.
func TestGrownChainIsPacked(t *testing.T) {
	g := newGrowing(t, openPaced(t), 500)
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
	g := newGrowing(t, openPaced(t), 500)
	g.grow(450)
	for range 3 {
		g.read()
	}
	spoilt := 0
	for key := range g.s.rows.blocks.byKey {
		if b := g.s.rows.blocks.peek(key).block; b.packed != nil {
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
	s := openPaced(t)
	g := newGrowing(t, s, 500)
	g.grow(blockRows)
	var key blockKey
	for _, span := range []chainstore.Span{
		{From: 8, Through: 10}, {From: 8, Through: 10}, {From: 4, Through: 10}, {From: 4, Through: 13}, {From: 0, Through: 13}, {From: 0, Through: 15},
	} {
		c := chainOf(t, s, g.head).(*chain)
		key = blockKey{ns: c.ns, segment: c.Runs(1)[0].Key}
		err := c.Rows(t.Context(), span, func(r *chainstore.Row) error {
			if !bytes.Equal(r.Payload, g.payloads[r.Seq]) {
				return fmt.Errorf("the payload of row %d is another", r.Seq)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		k := s.rows.blocks.peek(key)
		if k == nil {
			continue // read once
		}
		s.rows.pack(key, k.block)
		if k.block.packed == nil || k.block.first != int(span.From) || k.block.behind() != int(span.Through)+1 {
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
	for key := range c.blocks.byKey {
		keys = append(keys, key.number)
	}
	slices.Sort(keys)
	return keys
}

// countPacked counts the blocks that are packed.
func (c *rowCache) countPacked() (n int) {
	for key := range c.blocks.byKey {
		if c.blocks.peek(key).block.packed != nil {
			n++
		}
	}
	return n
}

// touch reads a block of two rows as a scan does.
func (c *rowCache) touch(number uint32, packs bool) { c.touchBy(c.begin(), number, packs) }

func (c *rowCache) touchBy(reader int64, number uint32, packs bool) {
	g := gathering{cache: c, key: blockKey{number: number}, reader: reader, rows: blockFor(0, 2, packs)}
	if c.get(g.key, g.reader) != nil {
		return
	}
	if g.had, g.since = c.again(g.key, g.reader); g.since > 0 {
		c.extend(&g)
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
		cache := newRowCache(80000).paced()
		for _, number := range c.reads {
			cache.touch(number, c.packs)
		}
		if kept := cache.keys(); !slices.Equal(kept, c.kept) {
			t.Errorf("%s: after %v, %v are kept, not %v", c.name, c.reads, kept, c.kept)
		}
	}
}

// TestReadersSideBySide: of what is read in turns, more than fits, several readers at once find what one finds.
func TestReadersSideBySide(t *testing.T) {
	cache, now := newRowCache(80000), time.Duration(0)
	cache.now = func() time.Duration { return now }
	for _, order := range [][]uint32{{3, 4, 5, 0, 1, 2}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}} {
		now += 10 * time.Second
		var readers [3]int64
		for i := range readers {
			readers[i] = cache.begin()
		}
		for _, number := range order {
			for _, reader := range readers {
				cache.touchBy(reader, number, false)
			}
		}
		if kept := cache.keys(); !slices.Equal(kept, []uint32{3, 4, 5}) {
			t.Errorf("%v are kept", kept)
		}
	}
}

// TestUsedJustNow: what is read all the time makes no room for what was read twice, though both are in the same use.
func TestUsedJustNow(t *testing.T) {
	cache, now := newRowCache(80000), 10*time.Second
	cache.now = func() time.Duration {
		now += time.Millisecond
		return now
	}
	for i := range 50 {
		for number := range uint32(3) {
			cache.touch(number, false)
		}
		if i > 0 && i%10 == 0 {
			cache.touch(uint32(i), false)
			for number := range uint32(3) {
				cache.touch(number, false)
			}
			cache.touch(uint32(i), false)
		}
	}
	if kept := cache.keys(); !slices.Equal(kept, []uint32{0, 1, 2}) {
		t.Errorf("%v are kept", kept)
	}
}

// TestLateReader: a reader with an older number makes a block no older.
func TestLateReader(t *testing.T) {
	cache := newRowCache(80000).paced()
	slow := cache.begin()
	cache.touch(1, false)
	cache.touchBy(slow, 1, false)
	cache.touch(1, false)
	cache.touchBy(slow, 1, false)
	k := cache.blocks.peek(blockKey{number: 1})
	if k == nil || k.used != cache.last || k.uses.last != cache.last || k.uses.before >= cache.last {
		t.Errorf("of the block, kept are the uses of %+v", k)
	}
}

// consistent tells whether what may be packed is what is kept and not packed, or was tried, and whether sizes add up.
func (c *rowCache) consistent(t *testing.T) {
	t.Helper()
	size := int64(0)
	for key := range c.blocks.byKey {
		size += c.blocks.peek(key).block.size()
	}
	if size != c.blocks.size.Load() {
		t.Errorf("%d bytes are counted, %d are kept", c.blocks.size.Load(), size)
	}
	for key := range c.whole.byKey {
		if k := c.whole.peek(key); k != c.blocks.peek(key) || k.block.packed != nil {
			t.Errorf("block %v may be packed, but is not kept, or is packed", key)
		}
	}
}

// TestUses: who reads within a second reads in the same use, and what one reader reads twice was read once.
func TestUses(t *testing.T) {
	const second = int64(time.Second)
	var u uses
	for i, c := range []struct{ reader, since int64 }{
		{1, 0}, {1, 0}, {2, 1}, {second, 1}, {second + 1, 1}, {second + 1, 1}, {second + 9, 1}, {9 * second, second + 1}, {9*second + 1, second + 1}, {8 * second, second + 1},
	} {
		if since := u.note(c.reader); since != c.since {
			t.Errorf("%d: reader %d comes after the use of %d, not %d", i, c.reader, since, c.since)
		}
	}
}

// TestDroppedAndReadAgain: of a block that is dropped, it stays known when it was used.
func TestDroppedAndReadAgain(t *testing.T) {
	cache := newRowCache(80000).paced()
	for range 5 {
		cache.touch(2, false)
	}
	last := cache.last
	for number := range uint32(5) { // and all others are dropped
		cache.touch(10+number, false)
		cache.touch(10+number, false)
	}
	if had, since := cache.again(blockKey{number: 2}, cache.begin()); had != nil || since != last {
		t.Errorf("%d read it before, not %d", since, last)
	}
}

// TestPackingIsBounded: one reader does not pack all that is kept to find out that it does not pack.
func TestPackingIsBounded(t *testing.T) {
	cache := newRowCache(1 << 20).paced()
	cache.touch(99, false)
	for range 2 {
		for number := range uint32(41) {
			cache.touch(number, false)
		}
	}
	before := len(cache.whole.byKey)
	cache.touch(99, false)
	if tried := before - len(cache.whole.byKey); before < 36 || tried < 1 || tried > 5 {
		t.Errorf("of %d blocks %d were packed in vain for one", before, tried)
	}
}

// TestWhatIsPacked: the block that was used longest ago is packed first, and none that packing makes little smaller.
func TestWhatIsPacked(t *testing.T) {
	cache := newRowCache(80000).paced()
	for _, number := range []uint32{1, 2, 3, 4, 1, 2, 3, 1, 4} {
		cache.touch(number, true)
	}
	if kept := cache.keys(); !slices.Equal(kept, []uint32{1, 2, 3, 4}) {
		t.Fatalf("%v are kept", kept)
	}
	for _, number := range cache.keys() {
		if packed := cache.blocks.peek(blockKey{number: number}).block.packed != nil; packed != (number == 2) {
			t.Errorf("block %d: packed %v", number, packed)
		}
	}
	small := &rowBlock{}
	small.add(make([]byte, 1100), 100)
	if b := cache.packed(small); b != nil {
		t.Errorf("%d bytes were packed into %d", small.size(), b.size())
	}
}

// TestLateExtend: what was replaced meanwhile is neither extended nor packed, and to extend a packed block drops nothing that is read as often.
func TestLateExtend(t *testing.T) {
	cache := newRowCache(80000).paced()
	for range 2 {
		for number := range uint32(8) {
			cache.touch(number, true)
		}
	}
	kept, key := cache.keys(), blockKey{number: 1}
	extend := func(had *rowBlock, first, n int) {
		cache.extend(&gathering{cache: cache, key: key, had: had, rows: blockFor(first, n, true), reader: cache.begin(), since: 1})
	}
	block := func() *rowBlock {
		if k := cache.blocks.peek(key); k != nil {
			return k.block
		}
		return nil
	}
	if len(kept) != 8 || block().packed == nil {
		t.Fatal("the block is not packed")
	}
	extend(block(), 2, 2)
	if now := cache.keys(); !slices.Equal(now, kept) || block().behind() != 4 {
		t.Errorf("%v are kept, not %v", now, kept)
	}

	cache = newRowCache(1 << 20).paced()
	cache.touch(1, true)
	cache.touch(1, true)
	first := block()
	extend(first, 2, 2)
	second := block()
	if second == first || second.behind() != 4 {
		t.Fatal("the block is not extended")
	}
	extend(first, 2, 1)
	extend(nil, 2, 8)
	cache.pack(key, first)
	cache.drop(key, first)
	if block() != second {
		t.Error("the block was changed by who had an older one")
	}
	cache.drop(key, second)
	extend(second, 4, 1)
	if block() != nil {
		t.Error("a block that is kept no more was extended")
	}
}

// TestGrowthMakesRoom: a block that grows takes the place of one that was not read since it was read before.
func TestGrowthMakesRoom(t *testing.T) {
	cache := newRowCache(80000).paced()
	for _, number := range []uint32{1, 1, 2, 2, 3, 3, 1} {
		cache.touch(number, false)
	}
	g := gathering{cache: cache, key: blockKey{number: 1}, reader: cache.begin(), rows: blockFor(2, 2, false)}
	g.had, g.since = cache.again(g.key, g.reader)
	cache.extend(&g)
	if kept := cache.keys(); !slices.Equal(kept, []uint32{1, 3}) || cache.blocks.peek(g.key).block.behind() != 4 {
		t.Errorf("%v are kept", kept)
	}
}
