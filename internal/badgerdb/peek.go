package badgerdb

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4/y"
)

// peek finds what some keys have in the files of a store, before Badger opens them. It is for what must be known before anything is
// changed, and it may find nothing: of a value that is packed, in a file that is encrypted or damaged, and far into a table.
type peek struct {
	keys [][]byte

	mu    sync.Mutex
	found []peeked
}

// peeked is what a transaction made of a key: its value; nil, where it deleted the key, or where that cannot be told.
type peeked struct {
	key    int
	number uint64
	value  []byte
}

const (
	// peekBlocks is how far into a table peek looks.
	peekBlocks = 16
	// metaDelete marks that a key was deleted, in a log and in a table (value.go of Badger 4).
	metaDelete = 1
	// An entry of a block begins with overlap:2 rest:2, little endian. At entryKey follow rest bytes of the key, behind as many of the block's
	// first key as overlap says; then the meta data, the mark, and when the value expires, which is never: 0. At entryValue behind the key
	// follows the value (table/builder.go of Badger 4).
	entryKey   = 2 + 2
	entryValue = 1 + 1 + 1
)

// take notes a value of a key, which ends with the number of its transaction.
func (p *peek) take(key []byte, meta, mark byte, value []byte) {
	if p == nil || len(key) <= keyNumber {
		return
	}
	for n, wanted := range p.keys {
		if !bytes.Equal(wanted, key[:len(key)-keyNumber]) {
			continue
		}
		found := peeked{key: n, number: y.ParseTs(key)}
		if meta&metaDelete == 0 && mark == markPlain {
			found.value = append([]byte{}, value...)
		}
		p.mu.Lock()
		p.found = append(p.found, found)
		p.mu.Unlock()
	}
}

// values are what the keys have, nil for none, as of a transaction.
func (p *peek) values(through uint64) [][]byte {
	values, numbers := make([][]byte, len(p.keys)), make([]uint64, len(p.keys))
	for _, f := range p.found {
		if f.number <= through && f.number > numbers[f.key] {
			values[f.key], numbers[f.key] = f.value, f.number
		}
	}
	return values
}

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

// before tells whether any of the keys may follow one that ends with a number.
func (p *peek) before(key []byte) bool {
	for _, wanted := range p.keys {
		if bytes.Compare(key[:len(key)-keyNumber], wanted) <= 0 {
			return true
		}
	}
	return false
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
