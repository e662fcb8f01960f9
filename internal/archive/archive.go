// Package archive reads and writes archives: backups and bundles of nodes and aliases, in blocks that are proved one after the other. What
// stands in an archive and in which order is in docs/archive.md; the records are those of proto/transcript/v1/archive.proto.
package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// An archive is a row of zstd frames, so that zstd -d gives its records:
//
//	archive = magic { block }
//	magic   = a skippable frame whose content is "transcriptd archive 1\n"
//	block   = a skippable frame: length of the frame behind it (4 bytes, little-endian), digest (32 bytes);
//	          a zstd frame with its content size: { length (varint) ArchiveRecord }
//	digest  = SHA-256(the digest before ‖ the zstd frame); before the first block, SHA-256(magic)
//
// Of a block all records are whole. The record that ends the archive is alone in the last one.
const (
	skippable = 0x184D2A57
	magicText = "transcriptd archive 1\n"
	magicStem = "transcriptd archive "

	headLength  = 8                            // of a skippable frame
	blockLength = headLength + 4 + sha256.Size // of what stands before a zstd frame

	// blockBytes is how many bytes of records a block has at least, but for those before a point and the end.
	blockBytes = 1 << 20
	// maxRecord bounds a record: a node has 4 MiB at most of each of its parts, and 64 KiB of notes. maxBlock bounds what a block unpacks to, and
	// maxFrame what it is packed in, so that a reader is not made to take more memory.
	maxRecord = 16 << 20
	// maxElements is how many elements a record has: a header names heads, and an alias states, so 32 bytes or more stand for each.
	maxElements = maxRecord / 32
	maxBlock    = blockBytes + maxRecord + binary.MaxVarintLen64
	maxFrame    = maxBlock + 1<<20
)

// Digest proves an archive up to a block.
type Digest [sha256.Size]byte

// String is the digest as 64 lower-case hex digits.
func (d Digest) String() string { return fmt.Sprintf("%x", d[:]) }

var (
	// ErrNotAnArchive: the file does not begin as one.
	ErrNotAnArchive = errors.New("this is no archive of transcriptd")
	// ErrVersion: a later version of the program made it.
	ErrVersion = errors.New("a later version of transcriptd made this archive")
	// ErrCut: the archive ends before its last record.
	ErrCut = errors.New("the archive was cut")
	// ErrDamaged: its bytes are not those that were written.
	ErrDamaged = errors.New("the archive is damaged")
	// ErrBroken: its bytes are those that were written, and break the rules of an archive.
	ErrBroken = errors.New("the archive breaks the rules of an archive")
	// ErrEncrypted: it is encrypted, and no key was given, or none that opens it.
	ErrEncrypted = errors.New("the archive is encrypted")
)

// BlockError is what is wrong with an archive, and where: ErrCut, ErrDamaged or ErrBroken.
type BlockError struct {
	// Block is the number of the block, from 1, and Offset where it begins, in bytes of the archive before encryption.
	Block, Offset int64
	Why           string
	Err           error
}

// Error tells where.
func (e *BlockError) Error() string {
	return fmt.Sprintf("%v: block %d, at byte %d: %s", e.Err, e.Block, e.Offset, e.Why)
}

// Unwrap is what is wrong.
func (e *BlockError) Unwrap() error { return e.Err }

// appendSkippable appends a skippable frame.
func appendSkippable(b []byte, content ...[]byte) []byte {
	length := 0
	for _, c := range content {
		length += len(c)
	}
	b = binary.LittleEndian.AppendUint32(b, skippable)
	b = binary.LittleEndian.AppendUint32(b, uint32(length))
	for _, c := range content {
		b = append(b, c...)
	}
	return b
}

// next is the digest behind a frame.
func (d Digest) next(frame []byte) (n Digest) {
	h := sha256.New()
	h.Write(d[:])
	h.Write(frame)
	h.Sum(n[:0])
	return n
}
