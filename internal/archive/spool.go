package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"
	"google.golang.org/protobuf/encoding/protodelim"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Spool keeps records that are to be written later: in a file, which goes with it, and which nobody else can read, since its key is in memory
// alone.
type Spool struct {
	file   *os.File
	key    *age.X25519Identity
	sealed io.WriteCloser
	out    *bufio.Writer
}

// NewSpool makes one that is empty.
func NewSpool() (*Spool, error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "transcriptd-*.spool")
	if err != nil {
		return nil, fmt.Errorf("a file for records that wait: %w", err)
	}
	s := &Spool{file: file, key: key}
	if s.sealed, err = Seal(file, key.Recipient()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.out = bufio.NewWriterSize(s.sealed, 1<<16)
	return s, nil
}

// Write adds a record.
func (s *Spool) Write(r *transcriptv1.ArchiveRecord) error {
	_, err := protodelim.MarshalTo(s.out, r)
	return err
}

// Records gives the records to each, in their order, and takes no more.
func (s *Spool) Records(each func(*transcriptv1.ArchiveRecord) error) error {
	if err := errors.Join(s.out.Flush(), s.sealed.Close()); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	plain, err := age.Decrypt(s.file, s.key)
	if err != nil {
		return err
	}
	for in := bufio.NewReader(plain); ; {
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

// Close removes the file.
func (s *Spool) Close() error { return errors.Join(s.file.Close(), os.Remove(s.file.Name())) }
