package badgerdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// A table's file is blocks, end to end, and an index of them. Both end with a checksum and its length; a block is compressed
// with its checksum, the index has its own length before it:
//
//	{compressed block} index length:4 checksum length:4
//
// Badger checks the index when it opens a table. A block that it cannot decode later has no rows, without an error.

// TableFiles are the names of the tables' files. Not to be called when Close was.
func (b *Bare) TableFiles() (files []string) {
	for _, t := range b.Tables() {
		files = append(files, table.IDToFilename(t.ID))
	}
	return files
}

// CheckTable reads the file of a table, block by block, and tells what is wrong with it; nil where it is no table's any more, since
// that was merged into others. It calls step before each block, and ends where that fails, with that error. Not to be called when
// Close was. Badger's own check ends at the first damaged block of any table, holds all blocks of a table in memory, and panics on
// one that it cannot decode.
func (b *Bare) CheckTable(file string, step func() error) (damage, err error) {
	damage, err = checkTable(filepath.Join(b.Opts().Dir, file), step)
	if damage != nil && !slices.Contains(b.TableFiles(), file) {
		damage = nil
	}
	return damage, err
}

// checkTable tells what is wrong with a file; err is step's. It reads without a map of the file: Badger cuts files that it removes,
// and to read behind their ends in memory would end the process.
func checkTable(path string, step func() error) (damage, err error) {
	f, err := os.Open(path)
	if err != nil {
		return err, nil
	}
	defer f.Close()
	index, end, err := readIndex(f)
	if err != nil {
		return fmt.Errorf("its index: %w", err), nil
	}
	c := blockCheck{f: f, end: end}
	var at fb.BlockOffset
	for i := range index.OffsetsLength() {
		if err := step(); err != nil {
			return nil, err
		}
		index.Offsets(&at, i)
		if err := c.block(&at); err != nil {
			return fmt.Errorf("block %d of %d, %d bytes from %d on: %w", i+1, index.OffsetsLength(), at.Len(), at.Offset(), err), nil
		}
	}
	if c.next != end {
		return errors.New("its index does not begin behind the last block"), nil
	}
	return nil, nil
}

// blockCheck checks blocks one after the other, in memory that they share. next is where the next one begins.
type blockCheck struct {
	f                *os.File
	next, end        int64
	packed, unpacked []byte
}

func (c *blockCheck) block(at *fb.BlockOffset) (err error) {
	begin, n := int64(at.Offset()), int64(at.Len())
	if begin != c.next || n > c.end-begin {
		return errors.New("it does not lie behind the one before")
	}
	c.packed = slices.Grow(c.packed[:0], int(n))[:n]
	if _, err := c.f.ReadAt(c.packed, begin); err != nil {
		return err
	}
	if c.unpacked, err = y.ZSTDDecompress(c.unpacked, c.packed); err != nil {
		return err
	}
	c.next += n
	return sumUp(c.unpacked)
}

// readIndex reads the index at the end of a table's file, and tells where it begins.
func readIndex(f *os.File) (index *fb.TableIndex, begin int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	sum, end, err := readSized(f, info.Size())
	if err != nil {
		return nil, 0, err
	}
	data, begin, err := readSized(f, end)
	if err == nil && (len(data) == 0 || !bytes.Equal(sum, checksum(data))) {
		err = errChecksum
	}
	if err != nil {
		return nil, 0, err
	}
	return fb.GetRootAsTableIndex(data, 0), begin, nil
}

// readSized reads what ends at a place of the file with its length in four bytes, and tells where it begins.
func readSized(f *os.File, end int64) (data []byte, begin int64, err error) {
	var length [4]byte
	if _, err := f.ReadAt(length[:], end-4); err != nil {
		return nil, 0, fmt.Errorf("the file ends too early: %w", err)
	}
	n := int64(binary.BigEndian.Uint32(length[:]))
	if begin = end - 4 - n; begin < 0 {
		return nil, 0, fmt.Errorf("a length of %d is more than the file has", n)
	}
	data = make([]byte, n)
	_, err = f.ReadAt(data, begin)
	return data, begin, err
}

var errChecksum = errors.New("its checksum is another")

// sumUp compares the checksum at the end of a block, and its length, with what comes before.
func sumUp(block []byte) error {
	end := len(block) - 4
	if end < 0 {
		return errChecksum
	}
	n := int64(binary.BigEndian.Uint32(block[end:]))
	if n > int64(end) || !bytes.Equal(block[end-int(n):end], checksum(block[:end-int(n)])) {
		return errChecksum
	}
	return nil
}

// checksum is that of data as Badger writes it: a protobuf message whose second field is the sum. The first would name another
// algorithm, of which Badger writes none.
func checksum(data []byte) []byte {
	sum := crc32.Checksum(data, y.CastagnoliCrcTable)
	if sum == 0 {
		return nil
	}
	return binary.AppendUvarint([]byte{2 << 3}, uint64(sum))
}
