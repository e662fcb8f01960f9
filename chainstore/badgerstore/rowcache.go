package badgerstore

import (
	"sync"
	"sync/atomic"

	"github.com/transcriptd/transcriptd/chainstore"
)

// blockRows is how many rows of a segment are kept together.
const blockRows = 16

// rowCache keeps rows that were read lately, as they lie in the database. A row is written once, so what is kept stays
// right; whatever comes to rewrite or remove rows has to drop them from here.
type rowCache struct {
	mu     sync.Mutex
	blocks *lru[blockKey, *rowBlock]
	// once are the blocks that were read lately and are not kept: a block is worth its memory when it is read again.
	once *lru[blockKey, struct{}]
	// hits and misses are rows; copied, the bytes of rows that were collected.
	hits, misses, copied atomic.Uint64
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

// row is that at a place in the block, which has it; from is where its payload begins in payloads.
func (b *rowBlock) row(at int) (r row, from int, err error) {
	begin, end := b.begin(at-b.first), b.ends[at-b.first]
	r, _, err = parseRow(b.heads[begin.head:end.head:end.head])
	r.payload = b.payloads[begin.payload:end.payload:end.payload]
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
	return int64(cap(b.heads)+cap(b.payloads)+16*cap(b.ends)) + blockOverhead
}

// newRowCache keeps so many bytes; nil, which is a cache of nothing, where that is none.
func newRowCache(limit int64) *rowCache {
	if limit <= 0 {
		return nil
	}
	once := min(limit/32, maxOnce*onceBytes)
	return &rowCache{blocks: newLRU[blockKey, *rowBlock](limit - once), once: newLRU[blockKey, struct{}](once)}
}

const (
	// onceBytes is what it takes to remember, of a block that was read once, that it was.
	onceBytes = 128
	// maxOnce is how many are remembered.
	maxOnce = 8 << 10
)

// again tells whether a block, of which had is kept, was read before.
func (c *rowCache) again(key blockKey) (had *rowBlock, yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if had = c.blocks.get(key); had != nil || c.once.has(key) {
		return had, true
	}
	c.once.put(key, struct{}{}, onceBytes)
	return nil, false
}

// get returns what is kept of a block; nil for nothing.
func (c *rowCache) get(key blockKey) *rowBlock {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocks.get(key)
}

// extend joins rows with what is kept of a block, provided that it is still had: they follow it, or come before it. Where a gap
// is between the two, the more rows are kept. rows becomes the cache's.
func (c *rowCache) extend(key blockKey, had, rows *rowBlock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blocks.get(key) != had {
		return
	}
	switch {
	case had == nil:
	case rows.first == had.behind():
		// Readers of had see nothing of what is appended to its memory, and only one extends it.
		rows = had.followed(rows, 0)
	case rows.has(had.first) || rows.behind() == had.first:
		rows = rows.followed(had, rows.behind()-had.first)
	case len(rows.ends) <= len(had.ends):
		return
	}
	c.blocks.put(key, rows, rows.size())
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
		Bytes: c.blocks.size.Load() + c.once.size.Load(), LimitBytes: c.blocks.limit + c.once.limit,
		Hits: c.hits.Load(), Misses: c.misses.Load(),
	}
}

// worth is the first row of a chain that is worth keeping. Of a chain that is larger than the cache the end is, as much as
// surely fits: of one row more, reading it again and again would find nothing.
func (c *rowCache) worth(h *chainstore.Header) (seq uint32) {
	if c == nil {
		return 0
	}
	full := h.State.Full.Totals
	usual := full.Bytes/max(1, full.Nodes) + blockOverhead
	if n := c.blocks.limit / 8 * 7 / usual; n < int64(h.Seq) {
		seq = h.Seq - uint32(n)
	}
	return seq
}

// gathering collects the rows of a scan, block by block, for a cache.
type gathering struct {
	cache *rowCache
	ns    uint32
	// from is the first row that is worth keeping.
	from uint32
	// all says that these rows are about to be read again: all are collected, not only those of blocks that were read before.
	all bool
	// key is the block that the scan is in; had, what was kept of it; rows is nil where none are collected.
	key blockKey
	had *rowBlock
	// again says that the block was read before, or is about to be.
	again bool
	rows  *rowBlock
	// usual is the size of the block before.
	usual rowEnd
}

// row collects the row at a place, as the database has it, with a payload of so many bytes at its end. It may follow the one
// before, or not.
func (g *gathering) row(at place, value []byte, payload int) {
	if g.cache == nil {
		return
	}
	g.cache.misses.Add(1)
	if at.seq < g.from {
		return
	}
	if key := blockOf(g.ns, at); key != g.key {
		g.flush()
		g.key = key
		g.had, g.again = g.cache.again(key)
		g.again = g.again || g.all
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
	case !g.again:
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
	g.cache.extend(g.key, g.had, g.rows)
	g.key, g.had, g.again, g.rows = blockKey{}, nil, false, nil
}

// trimmed is b in memory that is hardly larger.
func trimmed(b []byte) []byte {
	if cap(b)-len(b) > len(b)/16 {
		return append([]byte(nil), b...)
	}
	return b
}
