package cache

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

func testRows(limit int64) *Rows { return newRows(limit, time.Now) }

// paced lets each reader begin ten seconds after the one before.
func (c *Rows) paced() *Rows {
	var now time.Duration
	c.now = func() time.Duration {
		now += 10 * time.Second
		return now
	}
	return c
}

// blockFor is a block of n rows of 12,000 bytes each, the first at a place.
func blockFor(first, n int) *Block {
	b := &Block{first: first}
	for range n {
		b.add(make([]byte, 12000), Payload{Bytes: 11900})
	}
	b.heads, b.payloads = bytes.Clone(b.heads), bytes.Clone(b.payloads)
	return b
}

// keys are the blocks that are kept.
func (c *Rows) keys() (keys []uint32) {
	for key := range c.blocks.byKey {
		keys = append(keys, key.number)
	}
	slices.Sort(keys)
	return keys
}

// touch reads a block of two rows as a scan does.
func (c *Rows) touch(number uint32) { c.touchBy(c.Begin(), number) }

func (c *Rows) touchBy(reader int64, number uint32) {
	g := RowFill{Cache: c, key: blockKey{number: number}, Reader: reader, rows: blockFor(0, 2)}
	if c.Get(0, chainstore.Place{Seq: number * BlockRows}, g.Reader) != nil {
		return
	}
	if g.had, g.since = c.again(g.key, g.Reader); g.since > 0 {
		c.extend(&g)
	}
}

// TestWhatMakesRoom: see Rows.
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
		cache := testRows(80000).paced()
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
	cache, now := testRows(80000), time.Duration(0)
	cache.now = func() time.Duration { return now }
	for _, order := range [][]uint32{{3, 4, 5, 0, 1, 2}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}} {
		now += 10 * time.Second
		var readers [3]int64
		for i := range readers {
			readers[i] = cache.Begin()
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
	cache, now := testRows(80000), 10*time.Second
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
	cache := testRows(80000).paced()
	slow := cache.Begin()
	cache.touch(1)
	cache.touchBy(slow, 1)
	cache.touch(1)
	cache.touchBy(slow, 1)
	k := cache.blocks.peek(blockKey{number: 1})
	if k == nil || k.used != cache.last || k.uses.last != cache.last || k.uses.previous >= cache.last {
		t.Errorf("of the block, kept are the uses of %+v", k)
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
	cache := testRows(80000).paced()
	for range 5 {
		cache.touch(2)
	}
	last := cache.last
	for number := range uint32(5) { // and all others are dropped
		cache.touch(10 + number)
		cache.touch(10 + number)
	}
	if had, since := cache.again(blockKey{number: 2}, cache.Begin()); had != nil || since != last {
		t.Errorf("%d read it before, not %d", since, last)
	}
}

// TestLateExtend: what was replaced or dropped meanwhile is not extended.
func TestLateExtend(t *testing.T) {
	cache, key := testRows(1<<20).paced(), blockKey{number: 1}
	extend := func(had *Block, first, n int) {
		cache.extend(&RowFill{Cache: cache, key: key, had: had, rows: blockFor(first, n), Reader: cache.Begin(), since: 1})
	}
	block := func() *Block {
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
	cache := testRows(80000).paced()
	for _, number := range []uint32{1, 1, 2, 2, 3, 3, 1} {
		cache.touch(number)
	}
	g := RowFill{Cache: cache, key: blockKey{number: 1}, Reader: cache.Begin(), rows: blockFor(2, 2)}
	g.had, g.since = cache.again(g.key, g.Reader)
	cache.extend(&g)
	if kept := cache.keys(); !slices.Equal(kept, []uint32{1, 3}) || cache.blocks.peek(g.key).block.behind() != 4 {
		t.Errorf("%v are kept", kept)
	}
}
