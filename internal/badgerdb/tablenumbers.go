package badgerdb

import (
	"encoding/binary"
	"fmt"

	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/y"
)

// numbersIn reads all of a table, and returns the numbers of the transactions in it: ErrBeyondRepair, where a part of it cannot be
// read.
func (i *inspection) numbersIn(t *tableFile) (map[uint64]struct{}, error) {
	f, size, err := i.open(t.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := newTableReader()
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.file, r.size, r.compression = f, size, options.ZSTD
	_, blocks, err := r.readWith(i.keys, []uint64{t.keyID})
	numbers := map[uint64]struct{}{}
	for n := 0; n < len(blocks) && err == nil; n++ {
		var b []byte
		if b, err = r.readBlock(blocks[n]); err == nil && !addNumbers(numbers, b) {
			err = tableError(fmt.Sprintf("the block at byte %d cannot be read", blocks[n].offset))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBeyondRepair, t.name, err)
	}
	return numbers, nil
}

// addNumbers adds the numbers of the transactions of a block's entries; false: it is none. As Badger writes it on machines that
// put the least byte first (table/builder.go there):
//
//	block  entry... offset:4... count:4             count is big endian
//	entry  shared:2 own:2 key value                 of the block's first key so many bytes, and then so many
func addNumbers(numbers map[uint64]struct{}, b []byte) bool {
	const head = 4
	end := len(b) - 4
	count := int(binary.BigEndian.Uint32(b[end:]))
	first := end - 4*count
	if first < 0 {
		return false
	}
	var base []byte
	for n := range count {
		at := int64(binary.LittleEndian.Uint32(b[first+4*n:]))
		if at+head > int64(first) {
			return false
		}
		e := b[at:first]
		shared, own := int(binary.LittleEndian.Uint16(e)), int(binary.LittleEndian.Uint16(e[2:]))
		if head+own > len(e) || shared > len(base) {
			return false
		}
		key := append(base[:shared:shared], e[head:head+own]...)
		if n == 0 {
			base = key
		}
		numbers[y.ParseTs(key)] = struct{}{}
	}
	return true
}
