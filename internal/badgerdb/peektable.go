package badgerdb

import (
	"bytes"
	"encoding/binary"
	"slices"
)

const (
	// peekBlocks is how far into a table peek looks.
	peekBlocks = 16
	// An entry of a block begins with overlap:2 rest:2, little endian. At entryKey follow rest bytes of the key, behind as many of the block's
	// first key as overlap says; then the meta data, the mark, and when the value expires, which is never: 0. At entryValue behind the key
	// follows the value (table/builder.go of Badger 4).
	entryKey   = 2 + 2
	entryValue = 1 + 1 + 1
)

// table looks for the keys at the beginning of a table. What cannot be read there is for others to tell.
func (p *peek) table(r *tableReader, smallest []byte, blocks []block) {
	if p == nil || !p.before(smallest) {
		return
	}
	for _, at := range blocks[:min(len(blocks), peekBlocks)] {
		b, err := r.readBlock(at)
		if err != nil || !p.block(b) {
			return
		}
	}
}

// block looks for the keys in a block, and tells whether any may lie behind it.
func (p *peek) block(b []byte) bool {
	entries, ok := splitBlock(b)
	var first, key []byte
	for n, entry := range entries {
		overlap, rest := int(binary.LittleEndian.Uint16(entry)), int(binary.LittleEndian.Uint16(entry[2:]))
		if entry = entry[entryKey:]; overlap > len(first) || rest+entryValue > len(entry) || overlap+rest <= keyNumber {
			return false
		}
		key = append(append(key[:0], first[:overlap]...), entry[:rest]...)
		if n == 0 {
			first = bytes.Clone(key)
		}
		if !p.before(key) {
			return false
		}
		p.take(key, entry[rest], entry[rest+1], entry[rest+entryValue:])
	}
	return ok
}

// splitBlock returns the entries of a block; false: it has none, or is none.
func splitBlock(b []byte) (entries [][]byte, ok bool) {
	const width = 4
	end := len(b) - width
	count := int64(binary.BigEndian.Uint32(b[end:]))
	end -= int(count * width)
	if count == 0 || end < 0 {
		return nil, false
	}
	for to := end; count > 0; count-- {
		from := int64(binary.LittleEndian.Uint32(b[end+int(count-1)*width:]))
		if from+entryKey > int64(to) {
			return nil, false
		}
		entries = append(entries, b[from:to])
		to = int(from)
	}
	slices.Reverse(entries)
	return entries, true
}
