package archive

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// File is an archive of a Chain.
type File struct {
	// Name is what errors call it.
	Name string
	*Reader
}

// Chain reads archives that go on from each other as one: a backup, the rest of one that was cut, what changed since. Every record is judged
// as a Checker does, across the archives. What stands in a cut archive behind the point from which the next one goes on is passed over.
type Chain struct {
	files   []File
	at      int
	checker *Checker
}

// ErrOrder is the error of an archive that is no backup, or does not go on from the one before it.
var ErrOrder = errors.New("the archive does not go on from the one before it")

// NewChain begins to read archives in their order. Errors: ErrOrder; those of NewChecker.
func NewChain(files ...File) (*Chain, error) {
	for i, f := range files {
		h := f.Header()
		switch {
		case h.GetKind() != transcriptv1.ArchiveKind_ARCHIVE_KIND_BACKUP:
			return nil, fmt.Errorf("%s: %w: it is no backup", f.Name, ErrOrder)
		case i == 0 && len(h.GetContinues()) > 0:
			return nil, fmt.Errorf("%s: %w: it is the rest of one that was cut, which must stand before it", f.Name, ErrOrder)
		case i == 0:
		case h.GetStoreId() != files[0].Header().GetStoreId():
			return nil, fmt.Errorf("%s: %w: it is of another store", f.Name, ErrOrder)
		case len(h.GetContinues()) > 0 && !bytes.Equal(h.GetSince(), files[i-1].Header().GetSince()):
			return nil, fmt.Errorf("%s: %w: it is the rest of another archive", f.Name, ErrOrder)
		case len(h.GetContinues()) == 0 && len(h.GetSince()) == 0:
			return nil, fmt.Errorf("%s: %w: it has everything, and must be the first one", f.Name, ErrOrder)
		}
	}
	checker, err := NewChecker(files[0].Header())
	return &Chain{files: files, checker: checker}, err
}

// Partial tells whether the first archive has only what changed since another one, which is not here.
func (c *Chain) Partial() bool { return len(c.files[0].Header().GetSince()) > 0 }

// At is the archive that is being read, from 0.
func (c *Chain) At() int { return c.at }

// Next is the next record of nodes and aliases, judged, and the node if it is one. io.EOF: all archives were read, and are whole. Errors are those
// of Reader.Next and Checker.Check, and ErrOrder, with the name of the archive.
func (c *Chain) Next() (*transcriptv1.ArchiveRecord, *canonical.Stored, error) {
	for {
		f := &c.files[c.at]
		record, err := f.Next()
		switch {
		case errors.Is(err, io.EOF) && c.at == len(c.files)-1:
			return nil, nil, err
		case errors.Is(err, io.EOF):
			if err = c.follows(f); err == nil {
				c.at++
				continue
			}
		case err == nil && record.GetPoint() != nil:
			if c.at < len(c.files)-1 && bytes.Equal(c.files[c.at+1].Header().GetContinues(), digestBytes(f)) {
				c.at++
			}
			continue
		}
		var node *canonical.Stored
		if err == nil {
			node, err = c.checker.Check(record)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		return record, node, nil
	}
}

func digestBytes(f *File) []byte {
	d := f.Digest()
	return d[:]
}

// follows judges the archive behind one that has ended.
func (c *Chain) follows(f *File) error {
	next := &c.files[c.at+1]
	h := next.Header()
	switch {
	case len(h.GetContinues()) > 0:
		return fmt.Errorf("%w: no point of it is the one from which %s goes on, %s", ErrOrder, next.Name, hex.EncodeToString(h.GetContinues()))
	case !bytes.Equal(h.GetSince(), digestBytes(f)):
		return fmt.Errorf("%w: %s goes on from %s, and this is %s", ErrOrder, next.Name, hex.EncodeToString(h.GetSince()), f.Digest())
	default:
		return nil
	}
}

// Last is the last archive.
func (c *Chain) Last() *Reader { return c.files[len(c.files)-1].Reader }
