package badgerstore

import (
	"bytes"
	"slices"

	"github.com/pierrec/lz4/v4"
)

// pack keeps a block packed, unless another is kept in its place by now.
func (c *rowCache) pack(key blockKey, b *rowBlock) {
	packer := c.packers.Get().(*lz4.Compressor)
	packed := b.pack(packer)
	c.packers.Put(packer)
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

// drop keeps a block no more, unless another is kept in its place by now.
func (c *rowCache) drop(key blockKey, b *rowBlock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.blocks.peek(key); k != nil && k.block == b {
		c.blocks.drop(key)
	}
}

// pack is the block with its payloads packed, by LZ4, since of what packs to half nothing unpacks as fast; nil where that saves less than
// an eighth.
func (b *rowBlock) pack(packer *lz4.Compressor) *rowBlock {
	p := *b
	p.packed = make([]byte, len(b.payloads)/8*7)
	n, err := packer.CompressBlock(b.payloads, p.packed)
	if p.payloads, p.packed = nil, trimmed(p.packed[:n]); err != nil || n == 0 || p.size() > b.size()/8*7 {
		return nil
	}
	if again, ok := p.unpack(nil); !ok || !bytes.Equal(again, b.payloads) {
		return nil
	}
	return &p
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
