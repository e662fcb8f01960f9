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
	span := chainstore.Span{Through: 2999, Again: true}
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
			missed += g.scan(chainstore.Span{Through: 95, Again: true})
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
		if k.block.first != int(span.From) || k.block.behind() != int(span.Through)+1 {
			t.Fatalf("the rows %d to %d are not kept by themselves", span.From, span.Through)
		}
	}
}

// blockFor is a block of n rows of 12,000 bytes each, the first at a place.
func blockFor(first, n int) *rowBlock {
	b := &rowBlock{first: first}
	for range n {
		b.add(make([]byte, 12000), 11900)
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

// touch reads a block of two rows as a scan does.
func (c *rowCache) touch(number uint32) { c.touchBy(c.begin(), number) }

func (c *rowCache) touchBy(reader int64, number uint32) {
	g := gathering{cache: c, key: blockKey{number: number}, reader: reader, rows: blockFor(0, 2)}
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
		reads []uint32
		kept  []uint32
	}{
		{"read once", []uint32{1, 2, 3}, nil},
		{"read twice", []uint32{1, 1, 2, 2, 3, 3}, []uint32{1, 2, 3}},
		{"the one that was read longest ago", []uint32{1, 1, 2, 2, 3, 3, 1, 4, 4}, []uint32{1, 3, 4}},
		{"in turns", []uint32{1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5}, []uint32{1, 2, 3}},
		{"no more in turns", []uint32{1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 4, 5, 4, 5}, []uint32{3, 4, 5}},
	} {
		cache := newRowCache(80000).paced()
		for _, number := range c.reads {
			cache.touch(number)
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
				cache.touchBy(reader, number)
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
			cache.touch(number)
		}
		if i > 0 && i%10 == 0 {
			cache.touch(uint32(i))
			for number := range uint32(3) {
				cache.touch(number)
			}
			cache.touch(uint32(i))
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
	cache.touch(1)
	cache.touchBy(slow, 1)
	cache.touch(1)
	cache.touchBy(slow, 1)
	k := cache.blocks.peek(blockKey{number: 1})
	if k == nil || k.used != cache.last || k.uses.last != cache.last || k.uses.before >= cache.last {
		t.Errorf("of the block, kept are the uses of %+v", k)
	}
}

// consistent tells whether sizes add up.
func (c *rowCache) consistent(t *testing.T) {
	t.Helper()
	size := int64(0)
	for key := range c.blocks.byKey {
		size += c.blocks.peek(key).block.size()
	}
	if size != c.blocks.size.Load() {
		t.Errorf("%d bytes are counted, %d are kept", c.blocks.size.Load(), size)
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
		cache.touch(2)
	}
	last := cache.last
	for number := range uint32(5) { // and all others are dropped
		cache.touch(10 + number)
		cache.touch(10 + number)
	}
	if had, since := cache.again(blockKey{number: 2}, cache.begin()); had != nil || since != last {
		t.Errorf("%d read it before, not %d", since, last)
	}
}

// TestLateExtend: what was replaced or dropped meanwhile is not extended.
func TestLateExtend(t *testing.T) {
	cache, key := newRowCache(1<<20).paced(), blockKey{number: 1}
	extend := func(had *rowBlock, first, n int) {
		cache.extend(&gathering{cache: cache, key: key, had: had, rows: blockFor(first, n), reader: cache.begin(), since: 1})
	}
	block := func() *rowBlock {
		if k := cache.blocks.peek(key); k != nil {
			return k.block
		}
		return nil
	}
	cache.touch(1)
	cache.touch(1)
	first := block()
	extend(first, 2, 2)
	second := block()
	if second == first || second.behind() != 4 {
		t.Fatal("the block is not extended")
	}
	extend(first, 2, 1)
	extend(nil, 2, 8)
	if block() != second {
		t.Error("the block was changed by who had an older one")
	}
	cache.blocks.drop(key)
	extend(second, 4, 1)
	if block() != nil {
		t.Error("a block that is kept no more was extended")
	}
}

// TestGrowthMakesRoom: a block that grows takes the place of one that was not read since it was read before.
func TestGrowthMakesRoom(t *testing.T) {
	cache := newRowCache(80000).paced()
	for _, number := range []uint32{1, 1, 2, 2, 3, 3, 1} {
		cache.touch(number)
	}
	g := gathering{cache: cache, key: blockKey{number: 1}, reader: cache.begin(), rows: blockFor(2, 2)}
	g.had, g.since = cache.again(g.key, g.reader)
	cache.extend(&g)
	if kept := cache.keys(); !slices.Equal(kept, []uint32{1, 3}) || cache.blocks.peek(g.key).block.behind() != 4 {
		t.Errorf("%v are kept", kept)
	}
}
