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

// ErrOrder is the error of an archive that does not go on from the one before it.
var ErrOrder = errors.New("the archive does not go on from the one before it")

// ErrBundle is the error of an archive that should be a backup.
var ErrBundle = errors.New("this is a bundle, and no backup")

// NewChain begins to read archives in their order. Errors, with the name of the archive that does not fit: ErrBundle, ErrOrder; those of NewChecker.
func NewChain(files ...File) (*Chain, error) {
	for i, f := range files {
		h := f.Header()
		switch {
		case h.GetKind() != transcriptv1.ArchiveKind_ARCHIVE_KIND_BACKUP:
			return nil, fmt.Errorf("%s: %w", f.Name, ErrBundle)
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

// Begun is the archive that the one being read begins with, from 0: that itself, or the one that was cut and whose rest it is. What stands before
// it is whole.
func (c *Chain) Begun() int {
	at := c.at
	for at > 0 && len(c.files[at].Header().GetContinues()) > 0 {
		at--
	}
	return at
}

// Files are the archives, in their order.
func (c *Chain) Files() []File { return c.files }

// Next is the next record of nodes and aliases, judged, and the node if it is one. io.EOF: all archives were read, and are whole. Errors are those
// of Reader.Next and Checker.Check with the name of the archive, and ErrOrder with the name of the one that does not go on from it.
func (c *Chain) Next() (*transcriptv1.ArchiveRecord, *canonical.Stored, error) {
	for {
		f := &c.files[c.at]
		record, err := f.Next()
		switch {
		case errors.Is(err, io.EOF) && c.at == len(c.files)-1:
			return nil, nil, err
		case errors.Is(err, io.EOF):
			if err := c.follows(f); err != nil {
				return nil, nil, err
			}
			c.goOn(false)
			continue
		case err == nil && record.GetPoint() != nil:
			if c.at < len(c.files)-1 && bytes.Equal(c.files[c.at+1].Header().GetContinues(), digestBytes(f)) {
				c.goOn(true)
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

// goOn goes on to the next archive, behind one that is whole, or was cut.
func (c *Chain) goOn(cut bool) {
	c.at++
	c.checker.another(cut)
}

// Within is the namespace that the last record is of, or names. One that was deleted, as a later archive tells by naming it no more or with another
// number, is another one than that of the same name there.
func (c *Chain) Within() Namespace { return c.checker.now.Namespace }

// Namespaces are those that are there by the time of the last archive, by name, once Next has returned io.EOF. What archives have of others was deleted.
func (c *Chain) Namespaces() map[string]Namespace {
	there := map[string]Namespace{}
	for name, n := range c.checker.namespaces {
		if n.listed {
			there[name] = n.Namespace
		}
	}
	return there
}

func digestBytes(f *File) []byte {
	d := f.Digest()
	return d[:]
}

// leftOut asks what may be wrong with the order of archives.
const leftOut = "is one left out, or are they in another order?"

// follows judges the archive behind one that has ended.
func (c *Chain) follows(f *File) error {
	next := &c.files[c.at+1]
	h := next.Header()
	switch {
	case len(h.GetContinues()) > 0:
		return fmt.Errorf("%s: %w: it is the rest of an archive that was cut at the point %s, and %s, before it, has no such point: %s",
			next.Name, ErrOrder, hex.EncodeToString(h.GetContinues()), f.Name, leftOut)
	case !bytes.Equal(h.GetSince(), digestBytes(f)):
		return fmt.Errorf("%s: %w: it goes on from a backup with the digest %s, and %s, before it, has %s: %s",
			next.Name, ErrOrder, hex.EncodeToString(h.GetSince()), f.Name, f.Digest(), leftOut)
	default:
		return nil
	}
}

// Last is the last archive.
func (c *Chain) Last() *Reader { return c.files[len(c.files)-1].Reader }
