package badgerstore

import (
	"sync"
	"sync/atomic"
)

// blockRows is how many rows of a segment are kept together.
const blockRows = 16

// rowCache keeps rows that were read lately, as they lie in the database. A row is written once, so what is kept stays
// right; whatever comes to rewrite or remove rows has to drop them from here.
//
// A block takes the place of those that have not been used since it was last read itself. Where all have been, more is at work than fits:
// then blocks are packed, the one that was used longest ago first, and once all are, no more is kept. To drop what is wanted again sooner
// would find nothing where a chain larger than the cache is read again and again. So does LIRS: Jiang and Zhang, "LIRS: an efficient low
// inter-reference recency set replacement policy to improve buffer cache performance", SIGMETRICS 2002.
type rowCache struct {
	mu    sync.Mutex
	limit int64
	// whole are blocks as they are, small those that are packed or that packing would not make smaller; together they take limit at most.
	whole, small *lru[blockKey, *keptBlock]
	// once are blocks that were read lately and were not kept then, by the scan that did: a block is worth its memory when it is read again.
	once *lru[blockKey, uint64]
	// scans counts those so far: their numbers, from 1 on, are the time here.
	scans atomic.Uint64
	// hits and misses are rows; copied, the bytes of rows that were collected, and of those that were unpacked.
	hits, misses, copied atomic.Uint64
}

// keptBlock is a block, the scan that used it last, and the last one before that.
type keptBlock struct {
	key          blockKey
	block        *rowBlock
	used, before uint64
}

// blockKey names the rows of a segment from number*blockRows on, blockRows of them.
type blockKey struct {
	ns      uint32
	segment uint64
	number  uint32
}

func blockOf(ns uint32, at place) blockKey { return blockKey{ns, at.segment, at.seq / blockRows} }

// rowBlock is rows of a block that follow each other. It never changes.
type rowBlock struct {
	// first is the place in the block of the first of them.
	first int
	// heads are what lies before the payloads, end to end, and payloads the payloads: so a reader of payloads goes over memory
	// in one go, and hands on many at once.
	heads, payloads []byte
	ends            []rowEnd
	// packed is what the payloads were packed into, and then there are no payloads; dense says that packing them saves little.
	packed []byte
	dense  bool
}

// rowEnd is where a row ends in heads and in payloads.
type rowEnd struct{ head, payload int }

// behind is the place in the block behind the last row.
func (b *rowBlock) behind() int { return b.first + len(b.ends) }

// has tells whether the row at a place in the block is there.
func (b *rowBlock) has(at int) bool { return b != nil && at >= b.first && at < b.behind() }

// begin is where the nth row begins.
func (b *rowBlock) begin(n int) rowEnd {
	if n == 0 {
		return rowEnd{}
	}
	return b.ends[n-1]
}

// row is that at a place in the block, which has it; from is where its payload begins in payloads, which are the block's or what its
// packed ones unpack to. Without them it has none.
func (b *rowBlock) row(at int, payloads []byte) (r row, from int, err error) {
	begin, end := b.begin(at-b.first), b.ends[at-b.first]
	if r, _, err = parseRow(b.heads[begin.head:end.head:end.head]); payloads != nil {
		r.payload = payloads[begin.payload:end.payload:end.payload]
	}
	return r, begin.payload, err
}

// add puts a row behind the others.
func (b *rowBlock) add(value []byte, payload int) {
	b.heads = append(b.heads, value[:len(value)-payload]...)
	b.payloads = append(b.payloads, value[len(value)-payload:]...)
	b.ends = append(b.ends, rowEnd{len(b.heads), len(b.payloads)})
}

// blockOverhead is roughly what a block takes beside its rows.
const blockOverhead = 256

func (b *rowBlock) size() int64 {
	return int64(cap(b.heads)+cap(b.payloads)+cap(b.packed)+16*cap(b.ends)) + blockOverhead
}

// newRowCache keeps so many bytes; nil, which is a cache of nothing, where that is none.
func newRowCache(limit int64) *rowCache {
	if limit <= 0 {
		return nil
	}
	once := min(limit/32, maxOnce*onceBytes)
	limit -= once
	return &rowCache{
		limit: limit, whole: newLRU[blockKey, *keptBlock](limit), small: newLRU[blockKey, *keptBlock](limit), once: newLRU[blockKey, uint64](once),
	}
}

const (
	// onceBytes is what it takes to remember, of a block that was read once, that it was.
	onceBytes = 128
	// maxOnce is how many are remembered.
	maxOnce = 8 << 10
)

// again returns what is kept of a block, and the last scan before this that read it; 0 for none.
func (c *rowCache) again(key blockKey, scan uint64) (had *rowBlock, since uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.use(key, scan); k != nil {
		return k.block, k.before
	}
	since = c.once.get(key)
	c.once.put(key, scan, onceBytes)
	return nil, since
}

// get returns what is kept of a block; nil for nothing.
func (c *rowCache) get(key blockKey, scan uint64) *rowBlock {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.use(key, scan); k != nil {
		return k.block
	}
	return nil
}

// use returns what is kept of a block and makes it the one used last; nil for nothing. mu is held.
func (c *rowCache) use(key blockKey, scan uint64) *keptBlock {
	k := c.whole.get(key)
	if k == nil {
		k = c.small.get(key)
	}
	if k != nil && k.used != scan {
		k.before, k.used = k.used, scan
	}
	return k
}

// extend joins rows with what is kept of a block, provided that it is still had: they follow it, or come before it. Where a gap
// is between the two, the more rows are kept. What was used by the scan since, or later, is not dropped for it. rows becomes the cache's.
func (c *rowCache) extend(key blockKey, had, rows *rowBlock, scan, since uint64) {
	for next := c.join(key, had, rows, scan, since); next != nil; next = c.join(key, had, rows, scan, since) {
		c.pack(next)
	}
}

// join is extend, unless there is no room before a block is packed, which it returns.
func (c *rowCache) join(key blockKey, had, rows *rowBlock, scan, since uint64) *keptBlock {
	c.mu.Lock()
	defer c.mu.Unlock()
	need := rows.size()
	if k := c.use(key, scan); k == nil && had != nil || k != nil && k.block != had {
		return nil
	} else if had != nil && had.packed != nil {
		if had = had.unpacked(); had != nil {
			need += had.size() - k.block.size()
		}
	}
	if next, ok := c.room(need, since); !ok {
		return next
	}
	switch {
	case had == nil:
	case rows.first == had.behind():
		// Readers of had see nothing of what is appended to its memory, and only one extends it.
		rows = had.followed(rows, 0)
	case rows.has(had.first) || rows.behind() == had.first:
		rows = rows.followed(had, rows.behind()-had.first)
	case len(rows.ends) <= len(had.ends):
		return nil
	}
	c.put(&keptBlock{key, rows, scan, since})
	return nil
}

// room drops blocks that were last used before the scan since, until there is room for so many bytes. Where that is not enough, next is
// the one to be packed; nil for none. mu is held.
func (c *rowCache) room(need int64, since uint64) (next *keptBlock, ok bool) {
	if need > c.limit {
		return nil, false
	}
	for c.size()+need > c.limit {
		oldest := c.oldest()
		if oldest.used >= since {
			return c.whole.oldest(), false
		}
		c.forget(oldest.key)
	}
	return nil, true
}

// size is what all blocks take. mu is held.
func (c *rowCache) size() int64 { return c.whole.size.Load() + c.small.size.Load() }

// oldest is the block that has not been used for longest; nil where none is kept. mu is held.
func (c *rowCache) oldest() *keptBlock {
	a, b := c.whole.oldest(), c.small.oldest()
	if a == nil || b != nil && b.used < a.used {
		return b
	}
	return a
}

// forget keeps a block no more. mu is held.
func (c *rowCache) forget(key blockKey) {
	c.whole.drop(key)
	c.small.drop(key)
}

// put keeps a block in place of the one before; for what it takes more than there was room for, others are dropped. mu is held.
func (c *rowCache) put(k *keptBlock) {
	c.forget(k.key)
	blocks := c.whole
	if k.block.packed != nil || k.block.dense {
		blocks = c.small
	}
	blocks.put(k.key, k, k.block.size())
	for c.size() > c.limit {
		c.forget(c.oldest().key)
	}
}

// followed is b and the rows of another block from the nth on, which follow it. It uses b's memory.
func (b *rowBlock) followed(other *rowBlock, n int) *rowBlock {
	if n >= len(other.ends) {
		return b
	}
	begin := other.begin(n)
	joined := &rowBlock{
		first: b.first, heads: append(b.heads, other.heads[begin.head:]...),
		payloads: append(b.payloads, other.payloads[begin.payload:]...), ends: make([]rowEnd, 0, blockRows),
	}
	joined.ends = append(joined.ends, b.ends...)
	for _, end := range other.ends[n:] {
		joined.ends = append(joined.ends, rowEnd{
			len(b.heads) + end.head - begin.head, len(b.payloads) + end.payload - begin.payload,
		})
	}
	return joined
}

func (c *rowCache) metrics() CacheMetrics {
	if c == nil {
		return CacheMetrics{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheMetrics{
		Bytes: c.size() + c.once.size.Load(), LimitBytes: c.limit + c.once.limit,
		Hits: c.hits.Load(), Misses: c.misses.Load(),
	}
}

// gathering collects the rows of a scan, block by block, for a cache.
type gathering struct {
	cache *rowCache
	ns    uint32
	// scan is its number.
	scan uint64
	// keep says that any are collected; all, that these rows are about to be read again: not only those of blocks that were read before.
	keep, all bool
	// key is the block that the scan is in; had, what was kept of it; rows is nil where none are collected.
	key blockKey
	had *rowBlock
	// since is the scan that read the block before, or this one where it is about to be read again; 0 for none.
	since uint64
	rows  *rowBlock
	// usual is the size of the block before.
	usual rowEnd
}

func newGathering(v *view, keep, all bool) gathering {
	g := gathering{cache: v.s.rows, ns: v.ns, keep: keep, all: all}
	if g.cache != nil {
		g.scan = g.cache.scans.Add(1)
	}
	return g
}

// row collects the row at a place, as the database has it, with a payload of so many bytes at its end. It may follow the one
// before, or not.
func (g *gathering) row(at place, value []byte, payload int) {
	if g.cache == nil {
		return
	}
	g.cache.misses.Add(1)
	if !g.keep {
		return
	}
	if key := blockOf(g.ns, at); key != g.key {
		g.flush()
		g.key = key
		if g.had, g.since = g.cache.again(key, g.scan); g.all {
			g.since = g.scan
		}
	}
	in := int(at.seq % blockRows)
	if !g.wants(in) {
		return
	}
	if g.rows == nil {
		g.rows = &rowBlock{
			first: in, heads: make([]byte, 0, max(len(value)-payload, g.usual.head)),
			payloads: make([]byte, 0, max(payload, g.usual.payload)), ends: make([]rowEnd, 0, blockRows),
		}
	}
	g.rows.add(value, payload)
}

// wants tells whether the row at a place in the block is to be collected: one that follows those that are, or are kept, or
// comes before the latter, which may lie behind more rows then.
func (g *gathering) wants(in int) bool {
	switch {
	case g.since == 0:
		return false
	case g.rows != nil:
		return in == g.rows.behind()
	case g.had != nil:
		return in == g.had.behind() || in < g.had.first
	default:
		return true
	}
}

// flush hands what was collected to the cache.
func (g *gathering) flush() {
	if g.rows == nil {
		return
	}
	heads, payloads := len(g.rows.heads), len(g.rows.payloads)
	g.cache.copied.Add(uint64(heads + payloads))
	if len(g.rows.ends) == blockRows {
		g.rows.heads, g.rows.payloads = trimmed(g.rows.heads), trimmed(g.rows.payloads)
	}
	g.usual = rowEnd{heads + heads/8, payloads + payloads/8}
	g.cache.extend(g.key, g.had, g.rows, g.scan, g.since)
	g.key, g.had, g.since, g.rows = blockKey{}, nil, 0, nil
}

// trimmed is b in memory that is hardly larger.
func trimmed(b []byte) []byte {
	if cap(b)-len(b) > len(b)/16 {
		return append([]byte(nil), b...)
	}
	return b
}
