package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Reader reads an archive, and proves each block before it gives a record of it.
type Reader struct {
	from     *bufio.Reader
	unpacker *zstd.Decoder
	header   *transcriptv1.ArchiveHeader
	before   Digest // what the block that is being read stands behind
	digest   Digest
	block    int64 // the number of the block that is being read
	begins   int64 // where it begins
	offset   int64
	frame    []byte
	unpacked []byte
	records  []byte // of the block, those that are not given yet
	counts   counter
	sealed   bool
	end      *transcriptv1.ArchiveEnd
}

// NewReader reads the header of an archive. Errors: ErrNotAnArchive, ErrVersion, and those of Next.
func NewReader(from io.Reader) (*Reader, error) {
	unpacker, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, err
	}
	r := &Reader{from: bufio.NewReaderSize(from, 1<<16), unpacker: unpacker}
	if err := r.magic(); err != nil {
		return nil, err
	}
	first, err := r.next()
	if err != nil {
		return nil, err
	}
	r.header = first.GetHeader()
	if r.header == nil {
		return nil, r.broken("the first record is no header")
	}
	if needs := r.header.GetRequiredFeatures(); len(needs) > 0 { // this version knows none
		return nil, fmt.Errorf("%w: it needs %q", ErrVersion, needs)
	}
	return r, nil
}

// Header is the archive's.
func (r *Reader) Header() *transcriptv1.ArchiveHeader { return r.header }

// Encrypted tells whether the archive is encrypted for recipients of age.
func (r *Reader) Encrypted() bool { return r.sealed }

// Digest is that of the blocks read so far: of the archive up to a point, once Next has given that; of the whole archive, once Next has given
// io.EOF.
func (r *Reader) Digest() Digest { return r.digest }

// Counts are what was read so far.
func (r *Reader) Counts() Counts { return r.counts.Counts }

// Ended is the last record, once Next has given io.EOF; else nil.
func (r *Reader) Ended() *transcriptv1.ArchiveEnd { return r.end }

// Next is the next record but the header and the end. io.EOF: the archive is whole. A BlockError with ErrCut, ErrDamaged or ErrBroken, or what
// the reader beneath says.
func (r *Reader) Next() (*transcriptv1.ArchiveRecord, error) {
	if r.end != nil {
		return nil, io.EOF
	}
	record, err := r.next()
	if err != nil {
		return nil, err
	}
	switch record.GetRecord().(type) {
	case nil:
		return nil, fmt.Errorf("%w: it has a kind of record that this version does not know", ErrVersion)
	case *transcriptv1.ArchiveRecord_Header:
		return nil, r.broken("a second header")
	case *transcriptv1.ArchiveRecord_End:
		return nil, r.finish(record.GetEnd())
	case *transcriptv1.ArchiveRecord_Point:
		if len(r.records) > 0 {
			return nil, r.broken("a record behind a point, in its block")
		}
		return record, nil
	default:
		r.counts.add(record)
		return record, nil
	}
}

// finish judges the end, and that nothing comes behind it: io.EOF.
func (r *Reader) finish(end *transcriptv1.ArchiveEnd) error {
	if len(r.records) > 0 {
		return r.broken("records behind the last one")
	}
	switch _, err := r.from.ReadByte(); {
	case err == nil, errors.Is(err, errSeal), errors.Is(err, io.ErrUnexpectedEOF):
		return r.wrong(ErrDamaged, "bytes behind the last block, or an encryption that does not end with it")
	case !errors.Is(err, io.EOF):
		return err
	}
	if !bytes.Equal(end.GetDigest(), r.before[:]) {
		return r.broken("the digest in its end is not that of what stands before it")
	}
	want := r.counts.end()
	if want.Namespaces != end.Namespaces || want.Nodes != end.Nodes || want.Messages != end.Messages || want.MessageBytes != end.MessageBytes || want.Aliases != end.Aliases {
		return r.broken("it has not as many records as its end says")
	}
	r.end = end
	return io.EOF
}

func (r *Reader) magic() error {
	head, err := r.from.Peek(headLength + len(magicText))
	switch {
	case errors.Is(err, errSeal):
		return r.wrong(ErrDamaged, errSeal.Error())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return r.wrong(ErrCut, "the file ends in it")
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	want := appendSkippable(nil, []byte(magicText))
	if bytes.Equal(head, want) {
		r.digest = sha256.Sum256(head)
		r.offset = int64(len(head))
		_, err := r.from.Discard(len(head))
		return err
	}
	if len(head) == len(want) && strings.HasPrefix(string(head[headLength:]), magicStem) && binary.LittleEndian.Uint32(head) == skippable {
		return ErrVersion
	}
	if len(head) < len(want) && (bytes.HasPrefix(want, head) || strings.HasPrefix(ageIntro, string(head))) {
		return r.wrong(ErrCut, "it ends there")
	}
	return ErrNotAnArchive
}

// next is the next record, of the next block where this one is at its end.
func (r *Reader) next() (*transcriptv1.ArchiveRecord, error) {
	if len(r.records) == 0 {
		if err := r.read(); err != nil {
			return nil, err
		}
	}
	size, n := binary.Uvarint(r.records)
	if n <= 0 || size > maxRecord || size > uint64(len(r.records)-n) {
		return nil, r.broken("a record is longer than its block")
	}
	record := &transcriptv1.ArchiveRecord{}
	if !canonical.FewElements(record.ProtoReflect().Descriptor(), r.records[n:n+int(size)], maxElements) {
		return nil, r.broken("a record has too many elements")
	}
	if err := proto.Unmarshal(r.records[n:n+int(size)], record); err != nil {
		return nil, r.broken("a record does not parse")
	}
	r.records = r.records[n+int(size):]
	return record, nil
}

// read reads and proves a block.
func (r *Reader) read() error {
	r.block++
	r.begins = r.offset
	var head [blockLength]byte
	if err := r.fill(head[:]); err != nil {
		return err
	}
	length := binary.LittleEndian.Uint32(head[headLength:])
	if binary.LittleEndian.Uint32(head[:]) != skippable || binary.LittleEndian.Uint32(head[4:]) != blockLength-headLength || length == 0 || length > maxFrame {
		return r.wrong(ErrDamaged, "no block begins there")
	}
	r.frame = slices.Grow(r.frame[:0], int(min(length, 1<<20)))[:0]
	for len(r.frame) < int(length) { // a length that is wrong takes no more memory than there are bytes, twice
		from := len(r.frame)
		r.frame = append(r.frame, make([]byte, min(int(length)-from, 1<<20))...)
		if err := r.fill(r.frame[from:]); err != nil {
			return err
		}
	}
	digest := r.digest.next(r.frame)
	if !bytes.Equal(digest[:], head[headLength+4:]) {
		return r.wrong(ErrDamaged, "its digest is not that of its bytes")
	}
	return r.unpack(digest)
}

func (r *Reader) unpack(digest Digest) error {
	var frame zstd.Header
	if err := frame.Decode(r.frame); err != nil || !frame.HasFCS || frame.Skippable || frame.FrameContentSize > maxBlock {
		return r.broken("it is no frame of at most 17 MiB that tells its size")
	}
	if cap(r.unpacked) < int(frame.FrameContentSize) {
		r.unpacked = make([]byte, 0, frame.FrameContentSize)
	}
	records, err := r.unpacker.DecodeAll(r.frame, r.unpacked[:0])
	if err != nil {
		return r.broken("it does not unpack")
	}
	if len(records) == 0 {
		return r.broken("it has no record")
	}
	r.unpacked, r.records, r.before, r.digest = records, records, r.digest, digest
	return nil
}

// fill reads as many bytes as there is room for.
func (r *Reader) fill(to []byte) error {
	n, err := io.ReadFull(r.from, to)
	r.offset += int64(n)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return r.wrong(ErrCut, "the file ends in it, or before it")
	case errors.Is(err, errSeal):
		return r.wrong(ErrDamaged, errSeal.Error())
	default:
		return err
	}
}

func (r *Reader) broken(why string) error { return r.wrong(ErrBroken, why) }

func (r *Reader) wrong(err error, why string) error {
	return &BlockError{Block: max(r.block, 1), Offset: r.begins, Why: why, Err: err}
}
