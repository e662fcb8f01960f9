// Package canary reads the files of a database, of an open one too, and tells where in them certain bytes are: in which version of which key, in
// which table or log. Tables are compressed, and both may be encrypted, so their bytes tell nothing. It decodes them by itself, or as Badger does,
// and by nothing that the database is checked with before it is opened. It is for tests.
package canary

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// Entry is a version of a key, as a table or a log has it. It is borrowed.
type Entry struct {
	// File is the name of the table or the log.
	File    string
	Key     []byte
	Version uint64
	// Value is as it was before the database packed it.
	Value []byte
	// Deleted says that the key is not there as of this version, Expired that it is not any more.
	Deleted, Expired bool
}

// Hit is where a needle is.
type Hit struct {
	Needle int
	File   string
	// Key, Version, Deleted and Expired are those of the entry that has it; Key is nil where it lies in the bytes of a file that is neither table
	// nor log, or in a log but in no whole entry.
	Key              []byte
	Version          uint64
	Deleted, Expired bool
}

func (h Hit) String() string {
	if h.Key == nil {
		return fmt.Sprintf("needle %d in the bytes of %s", h.Needle, h.File)
	}
	return fmt.Sprintf("needle %d in %s, in key %q as of commit %d (deleted: %v)", h.Needle, h.File, h.Key, h.Version, h.Deleted)
}

// Search tells where in the files of a database some needles are: in keys and values of all entries of tables, of those too that the MANIFEST does
// not name, and of logs, and in the bytes of all other files. key is what the database is encrypted with; nil: it is not. Files that are made
// meanwhile are searched too; what is written meanwhile into a log may not be. A table that cannot be decoded is an error, unless it is gone by
// then.
func Search(dir string, key []byte, needles ...[]byte) ([]Hit, error) {
	var hits []Hit
	err := Entries(dir, key, func(e Entry) error {
		for n, needle := range needles {
			if bytes.Contains(e.Key, needle) || bytes.Contains(e.Value, needle) {
				hits = append(hits, Hit{n, e.File, bytes.Clone(e.Key), e.Version, e.Deleted, e.Expired})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	others, err := searchOthers(dir, needles)
	return append(hits, others...), err
}

// searchOthers searches the bytes of what is no table.
func searchOthers(dir string, needles [][]byte) (hits []Hit, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || isTable(path) {
			return ignoreGone(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return ignoreGone(err)
		}
		name, err := filepath.Rel(dir, path)
		for n, needle := range needles {
			if bytes.Contains(b, needle) {
				hits = append(hits, Hit{Needle: n, File: name})
			}
		}
		return err
	})
	return hits, err
}

// Entries calls f with each entry of the tables and the logs of a database, as Search reads them.
func Entries(dir string, key []byte, f func(Entry) error) error {
	keys, err := dataKeys(dir, key)
	if err != nil {
		return err
	}
	r, err := newReader(keys)
	if err != nil {
		return err
	}
	defer r.close()
	seen := map[string]bool{}
	for found := true; found; { // what is merged meanwhile lies in new tables
		found = false
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if seen[e.Name()] || !isTable(e.Name()) && !isLog(e.Name()) {
				continue
			}
			seen[e.Name()], found = true, true
			if err := r.file(filepath.Join(dir, e.Name()), f); err != nil {
				return fmt.Errorf("%s: %w", e.Name(), err)
			}
		}
	}
	return nil
}

func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }
func isLog(name string) bool   { return strings.HasSuffix(name, ".mem") }

// ignoreGone is nil for the error that a file is not there.
func ignoreGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// dataKeys are those of a database; nil: it is not encrypted.
func dataKeys(dir string, key []byte) (*badger.KeyRegistry, error) {
	if len(key) == 0 {
		return nil, nil
	}
	keys, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: dir, ReadOnly: true, EncryptionKey: key})
	if err != nil {
		return nil, fmt.Errorf("read the data keys: %w", err)
	}
	return keys, nil
}
