package badgerstore

import (
	"bytes"
	"slices"

	"github.com/pierrec/lz4/v4"
)

// packer packs blocks, in memory that serves the next as well.
type packer struct {
	lz4         lz4.Compressor
	out, unpack []byte
}

// pack keeps a block packed, unless another is kept in its place by now.
func (c *rowCache) pack(key blockKey, b *rowBlock) {
	packed := c.packed(b)
	if packed == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.blocks.peek(key); k != nil && k.block == b {
		k.block = packed
		c.blocks.shrink(key, packed.size())
	}
}

// packed is a block with its payloads packed, by LZ4, since of what packs to half nothing unpacks as fast; nil where that saves less than
// an eighth.
func (c *rowCache) packed(b *rowBlock) *rowBlock {
	p := c.packers.Get().(*packer)
	defer c.packers.Put(p)
	p.out = slices.Grow(p.out[:0], len(b.payloads)/8*7)[:len(b.payloads)/8*7]
	n, err := p.lz4.CompressBlock(b.payloads, p.out)
	if err != nil || n == 0 {
		return nil
	}
	packed := *b
	packed.payloads, packed.packed = nil, bytes.Clone(p.out[:n])
	if packed.size() > b.size()/8*7 {
		return nil
	}
	var ok bool
	if p.unpack, ok = packed.unpack(p.unpack); !ok || !bytes.Equal(p.unpack, b.payloads) {
		return nil
	}
	return &packed
}

// drop keeps a block no more, unless another is kept in its place by now.
func (c *rowCache) drop(key blockKey, b *rowBlock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.blocks.peek(key); k != nil && k.block == b {
		c.blocks.drop(key)
	}
}

// unpack returns the payloads of a block that is packed, in the memory of into where they fit.
func (b *rowBlock) unpack(into []byte) (payloads []byte, ok bool) {
	size := b.ends[len(b.ends)-1].payload
	payloads = slices.Grow(into[:0], size)[:size]
	n, err := lz4.UncompressBlock(b.packed, payloads)
	return payloads, err == nil && n == size
}

// unpacked is a block that is packed as it was; nil where that fails.
func (b *rowBlock) unpacked() *rowBlock {
	payloads, ok := b.unpack(nil)
	if !ok {
		return nil
	}
	u := *b
	u.packed, u.payloads = nil, payloads
	return &u
}
