package badgerdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/internal/syncdir"
)

// checkDirectory refuses a directory that holds something else. Whoever checks has the lock on it: else it may be a new store that
// somebody begins meanwhile.
func checkDirectory(dir string) error {
	head, err := readHead(filepath.Join(dir, badger.ManifestFilename), manifestHead)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return refuseStrangers(dir)
	case errors.Is(err, errNoFile):
		return refusal([]*Damage{{File: badger.ManifestFilename, Offset: -1, What: noFile}})
	case err != nil:
		return fmt.Errorf("read the store's manifest: %w", err)
	case !allZero(head) && !bytes.HasPrefix(manifestMagic(), head[:min(len(head), len(manifestMagic()))]):
		return fmt.Errorf("%w: the MANIFEST in %s is another program's", ErrFormat, dir)
	case len(head) < manifestHead || allZero(head):
		return refusal([]*Damage{{File: badger.ManifestFilename, What: "it is cut short or zeroed"}})
	}
	return nil
}

// manifestMagic is what the MANIFEST of a store begins with, before Badger's version.
func manifestMagic() []byte { return binary.BigEndian.AppendUint16([]byte("Bdgr"), externalMagic) }

// prepareDirectory creates the directory of a store.
func prepareDirectory(dir string) error {
	if err := createDirectory(filepath.Clean(dir)); err != nil {
		return fmt.Errorf("create the store's directory: %w", err)
	}
	return nil
}

// createDirectory creates a directory, and those above it, that is there after a power loss.
func createDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is a file", dir)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if err := createDirectory(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncdir.Sync(parent)
}

// errNoFile is told of a folder, a pipe, a link, and anything else that is no file.
var errNoFile = errors.New("it is no file")

// readHead reads the first n bytes of a file, or all.
func readHead(path string, n int) ([]byte, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile // to open a pipe would wait for who writes to it
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	n, err = f.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}

// refuseStrangers refuses a directory without a manifest that holds anything but what a first Open that was cut short
// leaves, or a file system's own.
func refuseStrangers(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the store's directory: %w", err)
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == badger.KeyRegistryFileName }) {
		return refusal([]*Damage{{File: badger.ManifestFilename, Offset: -1, What: "it is missing"}})
	}
	for _, e := range entries {
		switch e.Name() {
		case "LOCK", "MANIFEST-REWRITE", "lost+found":
		default:
			return fmt.Errorf("%w: %s is not empty and holds no database", ErrFormat, dir)
		}
	}
	return nil
}
