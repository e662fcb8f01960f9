package cache

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

// BlockRows is how many rows of a segment are kept together.
const BlockRows = 16

// Rows keeps rows of nodes that were read lately, as an engine has them: what lies before the payload, and the payload. A row is written
// once, so what is kept stays right until it is forgotten. nil keeps nothing.
//
// A block evicts only blocks last used before its own previous use, and where there are none it is not kept: to evict what is wanted again
// sooner would find nothing where more is read again and again than fits. So does LIRS: Jiang and Zhang, "LIRS: an
// efficient low inter-reference recency set replacement policy to improve buffer cache performance", SIGMETRICS 2002.
type Rows struct {
	mu     sync.Mutex
	blocks *lru[blockKey, *keptBlock]
	// once are the blocks that were read and are not kept: a block is worth its memory when it is read again.
	once *lru[blockKey, uses]
	// now tells the time since the cache was made; last is the number of the last reader.
	now  func() time.Duration
	last int64
	// forgotten is the last commit that forgot something.
	forgotten uint64
	// hits and misses are rows; copied, the bytes of rows that were collected.
	hits, misses, copied atomic.Uint64
}

// keptBlock is a block, the reader that used it last, and its uses.
type keptBlock struct {
	key   blockKey
	block *Block
	used  int64
	uses  uses
}

// uses are the first readers of a block's last two uses; 0 for none.
type uses struct{ last, previous int64 }

// sameUse is how long a use lasts: readers who begin within it are one use of what they read (a correlated reference period: O'Neil, O'Neil
// and Weikum, "The LRU-K page replacement algorithm", SIGMOD 1993). Else the second of two readers of one chain would drop what both are
// about to read for what the first has just read.
const sameUse = time.Second

// note notes a reader. since is the use before its own; where there was none, an earlier reader of its own use; 0 for neither.
func (u *uses) note(reader int64) (since int64) {
	switch {
	case u.last == 0 || reader-u.last >= sameUse.Nanoseconds():
		u.previous, u.last = u.last, reader
		return u.previous
	case u.previous == 0 && reader > u.last:
		return u.last
	default:
		return u.previous
	}
}

// blockKey names the rows of a segment from number*BlockRows on, BlockRows of them.
type blockKey struct {
	namespace uint32
	segment   uint64
	number    uint32
}

func blockOf(namespace uint32, at chainstore.Place) blockKey {
	return blockKey{namespace, at.Segment, at.Seq / BlockRows}
}

// Block is rows of a block that follow each other. It never changes.
type Block struct {
	// first is the place in the block of the first of them.
	first int
	// heads are what lies before and behind each payload, end to end, and payloads the payloads: so a reader of payloads goes over memory
	// in one go, and hands on many at once.
	heads, payloads []byte
	ends            []rowEnd
}

// rowEnd is where a row ends in heads and in payloads.
type rowEnd struct{ head, payload int }

// behind is the place in the block behind the last row.
func (b *Block) behind() int { return b.first + len(b.ends) }

// has tells whether the row at a place in the block is there.
func (b *Block) has(at int) bool { return b != nil && at >= b.first && at < b.behind() }

// Has tells whether the row with a seq, of those that the block is for, is there; nil has none.
func (b *Block) Has(seq uint32) bool { return b.has(int(seq % BlockRows)) }

// Before is how many rows from one with a seq, of those that the block is for, the block does not have, before it has one; 0: it has
// that one, or none behind it.
func (b *Block) Before(seq uint32) int {
	if b == nil {
		return 0
	}
	return max(0, b.first-int(seq%BlockRows))
}

// begin is where the nth row begins.
func (b *Block) begin(n int) rowEnd {
	if n == 0 {
		return rowEnd{}
	}
	return b.ends[n-1]
}

// Row is the row with a seq, which the block has: what lies before and behind the payload, and where in Payloads that lies.
func (b *Block) Row(seq uint32) (head []byte, from, to int) {
	n := int(seq%BlockRows) - b.first
	begin, end := b.begin(n), b.ends[n]
	return b.heads[begin.head:end.head:end.head], begin.payload, end.payload
}

// Payloads are those of all its rows, end to end. They never change.
func (b *Block) Payloads() []byte { return b.payloads }

// add puts a row behind the others.
func (b *Block) add(value []byte, p Payload) {
	to := len(value) - p.Behind
	from := to - p.Bytes
	b.heads = append(append(b.heads, value[:from]...), value[to:]...)
	b.payloads = append(b.payloads, value[from:to]...)
	b.ends = append(b.ends, rowEnd{len(b.heads), len(b.payloads)})
}

// blockOverhead is roughly what a block takes beside its rows.
const blockOverhead = 448

func (b *Block) size() int64 {
	return int64(cap(b.heads)+cap(b.payloads)+16*cap(b.ends)) + blockOverhead
}

// newRows keeps so many bytes; nil, which is a cache of nothing, where that is none.
func newRows(limit int64, now func() time.Time) *Rows {
	if limit <= 0 {
		return nil
	}
	began, once := now(), limit/32
	c := &Rows{
		blocks: newLRU[blockKey, *keptBlock](limit - once), once: newLRU[blockKey, uses](once),
		now: func() time.Duration { return now().Sub(began) },
	}
	c.blocks.dropped = func(k *keptBlock) { c.once.put(k.key, k.uses, onceBytes) }
	return c
}

// onceBytes is what it takes to remember, of a block that is not kept, when it was read.
const onceBytes = 128

// Begin numbers a reader: by the time, in nanoseconds, and no two alike. All that it reads, it reads once.
func (c *Rows) Begin() (reader int64) {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last+1, c.now().Nanoseconds())
	return c.last
}

// again returns what is kept of a block, and the use before this reader's; 0 for none.
func (c *Rows) again(key blockKey, reader int64) (had *Block, since int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, since := c.use(key, reader); k != nil {
		return k.block, since
	}
	u := c.once.get(key)
	since = u.note(reader)
	c.once.put(key, u, onceBytes)
	return nil, since
}

// Get returns what is kept of the block of a place, for a reader, 0 for one of whom no notice is taken; nil for nothing.
func (c *Rows) Get(namespace uint32, at chainstore.Place, reader int64) *Block {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, _ := c.use(blockOf(namespace, at), reader); k != nil {
		return k.block
	}
	return nil
}

// use returns what is kept of a block, nil for nothing, which it makes the one used last, and the use before this reader's. mu is held.
func (c *Rows) use(key blockKey, reader int64) (k *keptBlock, since int64) {
	if k = c.blocks.peek(key); k == nil || reader == 0 {
		return k, 0
	}
	if k.used < reader {
		k.used = reader
		c.blocks.get(key)
	}
	return k, k.uses.note(reader)
}

// Hit counts rows that were found.
func (c *Rows) Hit(rows uint64) { c.hits.Add(rows) }

// Copied is how many bytes of rows were copied into the cache.
func (c *Rows) Copied() uint64 {
	if c == nil {
		return 0
	}
	return c.copied.Load()
}

// extend joins the rows that were gathered with what is kept of their block, provided that this is still what was had, that there is
// room and that nothing was forgotten since they were read. They become the cache's.
func (c *Rows) extend(g *RowFill) {
	joined := g.had.joined(g.rows)
	if joined == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k, _ := c.use(g.key, g.Reader)
	if g.Seen < c.forgotten || (k == nil) != (g.had == nil) || k != nil && k.block != g.had || !c.room(joined.size(), k, g.since) {
		return
	}
	if k == nil {
		k = &keptBlock{g.key, nil, g.Reader, c.once.peek(g.key)}
		c.once.drop(g.key)
	}
	k.block = joined
	c.blocks.put(g.key, k, joined.size())
}

// room drops blocks that were last used before since until there is room for so many bytes in place of those that k takes, which may be
// nil, and tells whether there is. mu is held.
func (c *Rows) room(need int64, k *keptBlock, since int64) bool {
	if need > c.blocks.limit {
		return false
	}
	if k != nil {
		need -= k.block.size()
	}
	for c.blocks.size.Load()+need > c.blocks.limit {
		oldest := c.blocks.oldest()
		if oldest == k || oldest.used >= since {
			return false
		}
		c.blocks.drop(oldest.key)
	}
	return true
}

// joined are the rows of b, which may be none, and those of another part of its block that follow them, or come before them, in memory of
// their own. Where a gap is between the two, it is those that are more; nil where that is b.
func (b *Block) joined(rows *Block) *Block {
	switch {
	case b == nil:
		return rows
	case rows.first == b.behind():
		return b.followed(rows, 0)
	case rows.has(b.first) || rows.behind() == b.first:
		return rows.followed(b, rows.behind()-b.first)
	case len(rows.ends) > len(b.ends):
		return rows
	default:
		return nil
	}
}

// followed is b and the rows of another block from the nth on, which follow it.
func (b *Block) followed(other *Block, n int) *Block {
	if n >= len(other.ends) {
		return b
	}
	begin, ends := other.begin(n), make([]rowEnd, 0, len(b.ends)+len(other.ends)-n)
	ends = append(ends, b.ends...)
	for _, end := range other.ends[n:] {
		ends = append(ends, rowEnd{len(b.heads) + end.head - begin.head, len(b.payloads) + end.payload - begin.payload})
	}
	return &Block{
		first: b.first, heads: slices.Concat(b.heads, other.heads[begin.head:]), payloads: slices.Concat(b.payloads, other.payloads[begin.payload:]),
		ends: ends,
	}
}

// Metrics are those of rows.
func (c *Rows) Metrics() Metrics {
	if c == nil {
		return Metrics{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return Metrics{
		Bytes: c.blocks.size.Load() + c.once.size.Load(), LimitBytes: c.blocks.limit + c.once.limit,
		Hits: c.hits.Load(), Misses: c.misses.Load(),
	}
}

// forget drops whole blocks.
func (c *Rows) forget(commit uint64, f *Forgotten) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten = max(c.forgotten, commit)
	is := func(key blockKey) bool {
		from, ok := f.From[key.segment]
		return key.namespace == f.Namespace && (f.All || ok && key.number >= from/BlockRows)
	}
	c.blocks.dropWhere(is)
	c.once.dropWhere(is)
	for _, at := range f.Rewritten {
		c.blocks.drop(blockOf(f.Namespace, at))
		c.once.drop(blockOf(f.Namespace, at))
	}
}

// RowFill collects the rows of a scan, block by block, for a cache.
type RowFill struct {
	// Cache is nil where nothing is kept.
	Cache     *Rows
	Namespace uint32
	// Seen is the commit that the scan's snapshot sees.
	Seen uint64
	// Reader is who scans; 0 for one for whom nothing is collected.
	Reader int64
	// All says that these rows are about to be read again: all are collected, not only those of blocks that were read before.
	All bool

	// key is the block that the scan is in; had, what was kept of it; rows is nil where none are collected.
	key blockKey
	had *Block
	// since is the use of the block before this; where there was none and it is about to be read again, what could be one; 0 for none.
	since int64
	rows  *Block
	// usual is the size of the block before.
	usual rowEnd
}

// Payload tells where a payload lies in a row: how many bytes it has, and how many lie behind it.
type Payload struct{ Bytes, Behind int }

// Row collects the row at a place, as the engine has it, with its payload. It may follow the one before, or not.
func (g *RowFill) Row(at chainstore.Place, value []byte, payload Payload) {
	if g.Cache == nil {
		return
	}
	g.Cache.misses.Add(1)
	if g.Reader == 0 {
		return
	}
	if key := blockOf(g.Namespace, at); key != g.key {
		g.Flush()
		g.key = key
		if g.had, g.since = g.Cache.again(key, g.Reader); g.since == 0 && g.All {
			g.since = max(1, g.Reader-sameUse.Nanoseconds())
		}
	}
	in := int(at.Seq % BlockRows)
	if !g.wants(in) {
		return
	}
	if g.rows == nil {
		g.rows = &Block{
			first: in, heads: make([]byte, 0, max(len(value)-payload.Bytes, g.usual.head)),
			payloads: make([]byte, 0, max(payload.Bytes, g.usual.payload)), ends: make([]rowEnd, 0, BlockRows),
		}
	}
	g.rows.add(value, payload)
}

// wants tells whether the row at a place in the block is to be collected: one that follows those that are, or are kept, or
// comes before the latter, which may lie behind more rows then.
func (g *RowFill) wants(in int) bool {
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

// Flush hands what was collected to the cache. What comes next begins anew, in the same block too.
func (g *RowFill) Flush() {
	defer func() { g.key, g.had, g.since, g.rows = blockKey{}, nil, 0, nil }()
	if g.rows == nil {
		return
	}
	heads, payloads := len(g.rows.heads), len(g.rows.payloads)
	g.Cache.copied.Add(uint64(heads + payloads))
	if len(g.rows.ends) == BlockRows {
		g.rows.heads, g.rows.payloads = trimmed(g.rows.heads), trimmed(g.rows.payloads)
	}
	g.usual = rowEnd{heads + heads/8, payloads + payloads/8}
	g.Cache.extend(g)
}

// trimmed is b in memory that is hardly larger.
func trimmed(b []byte) []byte {
	if cap(b)-len(b) > len(b)/16 {
		return append([]byte(nil), b...)
	}
	return b
}
