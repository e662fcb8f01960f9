package badgerdb

import (
	"crypto/aes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/y"
)

// A table as Badger 4 writes it (table/builder.go there):
//
//	table  block... index sealed(index)         lengths are big endian, and follow what they are the lengths of
//	block  entry... offset:4... count:4 sealed(all before)
//	sealed length:4 checksum length:4           for an index, which tells its length; for a block without the first length
//
// A checksum is a pb.Checksum. The index has the offset, the length and the first key of each block, in order. Blocks are
// compressed with their checksum, and then encrypted; of the index what is stored is summed. What is encrypted ends with the
// counter that its encryption began with.
const (
	maxChecksum = 64
	// maxBlock is more than a block has before compression: it is closed when it is full, and the largest value lies in one.
	maxBlock = 16 << 20
)

// tableFile is what a table's index tells of it.
type tableFile struct {
	id    uint64
	name  string
	level uint8
	// size is that of the file, raw what its blocks have before compression, and its index.
	size, raw int64
	// maxVersion is the highest number of a transaction in it.
	maxVersion uint64
	// smallest is its first key, lastBlock the first of its last block.
	smallest, lastBlock []byte
	// sum is the checksum of its index.
	sum uint64
	// keyID is that of the data key that it is encrypted with; 0: it is not.
	keyID uint64
}

// tableError is what is wrong with a table.
type tableError string

func (e tableError) Error() string { return string(e) }

// tableReader reads tables, one at a time.
type tableReader struct {
	blocks *zstd.Decoder
	index  []byte // of the table before

	file        io.ReaderAt
	size        int64
	key         *pb.DataKey // nil: it is not encrypted
	compression options.CompressionType
}

func newTableReader() (*tableReader, error) {
	blocks, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		return nil, fmt.Errorf("decompress tables: %w", err)
	}
	return &tableReader{blocks: blocks}, nil
}

func (r *tableReader) close() { r.blocks.Close() }

// read reads the table's index, and where its blocks lie, one behind the other and all of the file before it. It returns a tableError, or an
// error of the file.
func (r *tableReader) read() (*tableFile, []block, error) {
	index, start, sum, err := r.readIndex()
	if err != nil {
		return nil, nil, err
	}
	if index, err = r.decrypt(index); err != nil {
		return nil, nil, err
	}
	t, blocks, err := describeTable(index, start)
	if err != nil {
		return nil, nil, err
	}
	t.size, t.sum = r.size, sum
	return t, blocks, nil
}

// readWith reads a table, as read does, that is encrypted with one of some data keys: that with which its index makes sense.
func (r *tableReader) readWith(keys keyring, ids []uint64) (t *tableFile, blocks []block, err error) {
	for _, id := range ids {
		r.key = keys[id]
		if t, blocks, err = r.read(); err == nil {
			t.keyID = id
			return t, blocks, nil
		}
		if what := tableError(""); !errors.As(err, &what) {
			return nil, nil, err
		}
	}
	return nil, nil, err
}

// readIndex finds the index from the end of the file, and tells where it begins.
func (r *tableReader) readIndex() (index []byte, start int64, sum uint64, err error) {
	const cut = tableError("its end is not that of a table: it is cut, or was written over, or something was appended")
	tail := make([]byte, min(r.size, 4+maxChecksum+4))
	if _, err := r.file.ReadAt(tail, r.size-int64(len(tail))); err != nil {
		return nil, 0, 0, fmt.Errorf("read a table: %w", err)
	}
	tail, checksum, ok := takeSealed(tail)
	if !ok || len(tail) < 4 {
		return nil, 0, 0, cut
	}
	length := int64(binary.BigEndian.Uint32(tail[len(tail)-4:]))
	start = r.size - 4 - int64(proto.Size(checksum)) - 4 - length
	if start < 0 {
		return nil, 0, 0, cut
	}
	if int64(cap(r.index)) < length {
		r.index = make([]byte, length)
	}
	index = r.index[:length]
	if _, err := r.file.ReadAt(index, start); err != nil {
		return nil, 0, 0, fmt.Errorf("read a table: %w", err)
	}
	if y.VerifyChecksum(index, checksum) != nil {
		return nil, 0, 0, tableError("its index does not match its checksum")
	}
	return index, start, checksum.GetSum(), nil
}

// takeSealed takes a checksum and its length from the end of b.
func takeSealed(b []byte) (rest []byte, checksum *pb.Checksum, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	length := uint64(binary.BigEndian.Uint32(b[len(b)-4:]))
	b = b[:len(b)-4]
	if length > maxChecksum || length > uint64(len(b)) {
		return nil, nil, false
	}
	rest, sum := b[:uint64(len(b))-length], b[uint64(len(b))-length:]
	checksum = &pb.Checksum{}
	if proto.Unmarshal(sum, checksum) != nil || proto.Size(checksum) != len(sum) {
		return nil, nil, false
	}
	algo := checksum.GetAlgo()
	return rest, checksum, algo == pb.Checksum_CRC32C || algo == pb.Checksum_XXHash64
}

// block is where a block lies.
type block struct{ offset, length int64 }

// describeTable reads an index; the blocks lie before start.
func describeTable(index []byte, start int64) (t *tableFile, blocks []block, err error) {
	// The index is what was summed, but its decoder trusts every offset in it: it panics where there is none, as in a file of zeros, and
	// where another data key encrypted it.
	defer func() {
		if recover() != nil {
			err = tableError("its index cannot be read")
		}
	}()
	root := fb.GetRootAsTableIndex(index, 0)
	if root.OffsetsLength() > len(index) {
		return nil, nil, tableError("its index has more blocks than bytes")
	}
	t = &tableFile{maxVersion: root.MaxVersion(), raw: int64(root.UncompressedSize()) + int64(len(index))}
	blocks = make([]block, root.OffsetsLength())
	var b fb.BlockOffset
	end := int64(0)
	for n := range blocks {
		if !root.Offsets(&b, n) || int64(b.Offset()) != end {
			break
		}
		blocks[n] = block{end, int64(b.Len())}
		end += blocks[n].length
		if n == 0 {
			t.smallest = y.Copy(b.KeyBytes())
		}
	}
	if end == 0 || end != start {
		return nil, nil, tableError("its blocks do not lie where its index says")
	}
	t.lastBlock = y.Copy(b.KeyBytes())
	if len(t.smallest) <= keyNumber || len(t.lastBlock) <= keyNumber {
		return nil, nil, tableError("its index has a key that no table has")
	}
	return t, blocks, nil
}

// readBlock returns the entries of a block, their offsets and their count: a tableError, where it does not match its checksum.
func (r *tableReader) readBlock(at block) ([]byte, error) {
	damaged := tableError(fmt.Sprintf("the block at byte %d is damaged", at.offset))
	b := make([]byte, at.length)
	if _, err := r.file.ReadAt(b, at.offset); err != nil {
		return nil, fmt.Errorf("read a table: %w", err)
	}
	b, err := r.decrypt(b)
	if err != nil {
		return nil, err
	}
	switch r.compression {
	case options.None:
	case options.ZSTD:
		if b, err = r.blocks.DecodeAll(b, nil); err != nil {
			return nil, damaged
		}
	default:
		return nil, tableError(fmt.Sprintf("it is compressed in a way, %d, that no table of a store is", r.compression))
	}
	data, checksum, ok := takeSealed(b)
	if !ok || len(data) < 4 || y.VerifyChecksum(data, checksum) != nil {
		return nil, damaged
	}
	return data, nil
}

// decrypt returns what was encrypted; b, where the table is not.
func (r *tableReader) decrypt(b []byte) ([]byte, error) {
	if r.key == nil {
		return b, nil
	}
	if len(b) < aes.BlockSize {
		return nil, tableError("it is not encrypted as it should be")
	}
	end := len(b) - aes.BlockSize
	plain, err := y.XORBlockAllocate(b[:end], r.key.GetData(), b[end:])
	if err != nil {
		return nil, errors.Join(tableError("its data key is of no use"), err)
	}
	return plain, nil
}
