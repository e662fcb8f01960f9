package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Writer writes an archive. It counts what it writes, and checks nothing of the order of records: see Checker. After an error it writes
// nothing more.
type Writer struct {
	to      io.Writer
	packer  *zstd.Encoder
	records []byte // of the block that is not written yet
	out     []byte
	digest  Digest
	counts  counter
	err     error
}

// Counts are what an archive has.
type Counts struct {
	Namespaces, Nodes, Messages, MessageBytes, Aliases int64
}

// NewWriter begins an archive with its header.
func NewWriter(to io.Writer, header *transcriptv1.ArchiveHeader) (*Writer, error) {
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(true))
	if err != nil {
		return nil, err
	}
	w := &Writer{to: to, packer: packer}
	w.out = appendSkippable(nil, []byte(magicText))
	w.digest = sha256.Sum256(w.out)
	if err := w.flushOut(); err != nil {
		return nil, err
	}
	return w, w.Write(&transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Header{Header: header}})
}

// Write adds a record.
func (w *Writer) Write(r *transcriptv1.ArchiveRecord) error {
	if w.err != nil {
		return w.err
	}
	size := proto.Size(r)
	if size > maxRecord {
		return w.fail(fmt.Errorf("a record of %d bytes is larger than the %d bytes that a record may have", size, maxRecord))
	}
	w.records = binary.AppendUvarint(w.records, uint64(size))
	var err error
	if w.records, err = (proto.MarshalOptions{Deterministic: true, UseCachedSize: true}).MarshalAppend(w.records, r); err != nil {
		return w.fail(err)
	}
	w.counts.add(r)
	if len(w.records) >= blockBytes {
		return w.flush()
	}
	return nil
}

// Point writes everything so far, and at last how another archive can go on from there.
func (w *Writer) Point(cursor []byte) error {
	err := w.Write(&transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Point{Point: &transcriptv1.ArchivePoint{Cursor: cursor}}})
	return errors.Join(err, w.flush())
}

// End writes the last record, and returns the digest of the whole archive.
func (w *Writer) End(cursor []byte) (Digest, Counts, error) {
	if err := w.flush(); err != nil {
		return Digest{}, Counts{}, err
	}
	end := w.counts.end()
	end.Digest, end.Cursor = w.digest[:], cursor
	if err := w.Write(&transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_End{End: end}}); err != nil {
		return Digest{}, Counts{}, err
	}
	if err := w.flush(); err != nil {
		return Digest{}, Counts{}, err
	}
	w.err = errors.New("the archive has ended")
	return w.digest, w.counts.Counts, nil
}

// Counts are what was written so far.
func (w *Writer) Counts() Counts { return w.counts.Counts }

func (w *Writer) flush() error {
	if w.err != nil || len(w.records) == 0 {
		return w.err
	}
	head := w.out[:0]
	for len(head) < blockLength {
		head = append(head, 0)
	}
	w.out = w.packer.EncodeAll(w.records, head)
	frame := w.out[blockLength:]
	w.digest = w.digest.next(frame)
	appendSkippable(w.out[:0], binary.LittleEndian.AppendUint32(nil, uint32(len(frame))), w.digest[:])
	w.records = w.records[:0]
	return w.flushOut()
}

func (w *Writer) flushOut() error {
	if _, err := w.to.Write(w.out); err != nil {
		return w.fail(err)
	}
	return nil
}

func (w *Writer) fail(err error) error {
	w.err = err
	return err
}

// counter counts records. A namespace counts once, however often its record comes.
type counter struct {
	Counts
	names map[string]bool
}

func (c *counter) add(r *transcriptv1.ArchiveRecord) {
	switch r := r.GetRecord().(type) {
	case *transcriptv1.ArchiveRecord_Namespace:
		if name := r.Namespace.GetName(); !c.names[name] {
			if c.names == nil {
				c.names = map[string]bool{}
			}
			c.names[name] = true
			c.Namespaces++
		}
	case *transcriptv1.ArchiveRecord_Node:
		c.Nodes++
		c.MessageBytes += int64(len(r.Node.GetPayload()))
		c.Messages += messages(r.Node.GetPayload())
	case *transcriptv1.ArchiveRecord_Alias:
		c.Aliases++
	default:
	}
}

func (c *Counts) end() *transcriptv1.ArchiveEnd {
	return &transcriptv1.ArchiveEnd{
		Namespaces: c.Namespaces, Nodes: c.Nodes, Messages: c.Messages, MessageBytes: c.MessageBytes, Aliases: c.Aliases,
	}
}

// messages counts the messages of a payload, which it does not decode: the fields of Payload, which has no other.
func messages(payload []byte) (n int64) {
	for len(payload) > 0 {
		_, _, length := protowire.ConsumeField(payload)
		if length < 0 {
			return n
		}
		payload = payload[length:]
		n++
	}
	return n
}
