package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"
	"google.golang.org/protobuf/encoding/protodelim"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Spool keeps records that are to be written later: in memory, and where they are many in a file, which goes with it, and which nobody else can
// read, since its key is in memory alone.
type Spool struct {
	memory bytes.Buffer
	// The rest is of the file; nil where there is none.
	file   *os.File
	stays  bool // it has a name until Close
	key    *age.X25519Identity
	sealed io.WriteCloser
	out    *bufio.Writer
}

// ErrSpool is the error of a spool whose file, in the folder that TMPDIR names, cannot be made, written or read.
var ErrSpool = errors.New("a file for records that wait")

// spoolMemory is how many bytes of records a spool has in memory.
const spoolMemory = 4 << 20

// Write adds a record.
func (s *Spool) Write(r *transcriptv1.ArchiveRecord) error {
	if s.file == nil && s.memory.Len() > spoolMemory {
		if err := s.begin(); err != nil {
			return fmt.Errorf("%w: %w", ErrSpool, err)
		}
	}
	if s.file == nil {
		_, err := protodelim.MarshalTo(&s.memory, r)
		return err
	}
	if _, err := protodelim.MarshalTo(s.out, r); err != nil {
		return fmt.Errorf("%w: %w", ErrSpool, err)
	}
	return nil
}

// begin makes the file, and takes what is in memory into it.
func (s *Spool) begin() (err error) {
	if s.key, err = age.GenerateX25519Identity(); err != nil {
		return err
	}
	if s.file, err = os.CreateTemp("", "transcriptd-*.spool"); err != nil {
		return err
	}
	s.stays = os.Remove(s.file.Name()) != nil // a kill leaves nothing, where the system lets an open file be removed
	if s.sealed, err = Seal(s.file, s.key.Recipient()); err != nil {
		return err
	}
	s.out = bufio.NewWriterSize(s.sealed, 1<<16)
	_, err = s.memory.WriteTo(s.out)
	return err
}

// Records gives the records to each, in their order, and takes no more.
func (s *Spool) Records(each func(*transcriptv1.ArchiveRecord) error) error {
	from, err := s.written()
	if err != nil {
		return err
	}
	for in := bufio.NewReader(from); ; {
		record := &transcriptv1.ArchiveRecord{}
		switch err := (protodelim.UnmarshalOptions{MaxSize: maxRecord}).UnmarshalFrom(in, record); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := each(record); err != nil {
			return err
		}
	}
}

// written is all that was written.
func (s *Spool) written() (io.Reader, error) {
	if s.file == nil {
		return &s.memory, nil
	}
	if err := errors.Join(s.out.Flush(), s.sealed.Close()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSpool, err)
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSpool, err)
	}
	return age.Decrypt(s.file, s.key)
}

// Close removes the file.
func (s *Spool) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.stays {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	return err
}
