package canary

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/klauspost/compress/zstd"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func key(encrypted bool) []byte {
	if encrypted {
		return bytes.Repeat([]byte("k"), 32)
	}
	return nil
}

func open(t *testing.T, dir string, encrypted bool) *badger.DB {
	t.Helper()
	db, err := badger.OpenManaged(badger.DefaultOptions(dir).WithCompression(options.ZSTD).WithBlockSize(32 << 10).WithMemTableSize(1 << 20).
		WithValueThreshold(100 << 10).WithValueLogFileSize(1 << 20).WithEncryptionKey(key(encrypted)).WithIndexCacheSize(1 << 20).WithLogger(nil))
	must(t, err)
	return db
}

func commit(t *testing.T, db *badger.DB, ts uint64, fill func(*badger.Txn) error) {
	t.Helper()
	txn := db.NewTransactionAt(ts-1, true)
	defer txn.Discard()
	must(t, fill(txn))
	must(t, txn.CommitAt(ts, nil))
}

// What a key had is found in each version, in tables and in the log, packed and encrypted; what was written over and deleted is there, with that.
func TestSearch(t *testing.T) {
	needle, other := []byte("what is looked for"), []byte("what is not there")
	z, err := zstd.NewWriter(nil)
	must(t, err)
	plain := append(bytes.Repeat([]byte("text "), 1000), needle...)
	packed := z.EncodeAll(plain, []byte{0x9a, 0x27}) // 5018 as a varint
	if len(plain) != 0x27<<7|0x1a {
		t.Fatalf("%d bytes", len(plain))
	}
	for _, encrypted := range []bool{false, true} {
		t.Run(fmt.Sprintf("encrypted %v", encrypted), func(t *testing.T) {
			dir := t.TempDir()
			db := open(t, dir, encrypted)
			commit(t, db, 1, func(txn *badger.Txn) error { return txn.Set([]byte("key"), needle) })
			commit(t, db, 2, func(txn *badger.Txn) error {
				return txn.SetEntry(badger.NewEntry([]byte("packed"), packed).WithMeta(1))
			})
			commit(t, db, 3, func(txn *badger.Txn) error { return txn.Delete([]byte("key")) })
			must(t, db.Close())
			db = open(t, dir, encrypted)
			defer db.Close()
			commit(t, db, 4, func(txn *badger.Txn) error { return txn.Set([]byte("key"), []byte("other")) })
			commit(t, db, 5, func(txn *badger.Txn) error { return txn.Set(append([]byte("in the key: "), needle...), nil) })
			must(t, os.WriteFile(filepath.Join(dir, "beside"), needle, 0o600))
			found, err := Search(dir, key(encrypted), other, needle)
			must(t, err)
			var in []string
			for _, h := range found {
				if h.Needle != 1 {
					t.Errorf("found %v", h)
				}
				in = append(in, fmt.Sprintf("%s %q %d", filepath.Ext(h.File), h.Key, h.Version))
			}
			slices.Sort(in)
			want := []string{` "" 0`, `.mem "in the key: what is looked for" 5`, `.sst "key" 1`, `.sst "packed" 2`}
			if !encrypted {
				want = append(want, `.mem "" 0`)
				slices.Sort(want)
			}
			if !slices.Equal(in, want) {
				t.Errorf("found %q, want %q", in, want)
			}
			var versions []string
			must(t, Entries(dir, key(encrypted), func(e Entry) error {
				if string(e.Key) == "key" {
					versions = append(versions, fmt.Sprint(e.Version, e.Deleted))
				}
				return nil
			}))
			slices.Sort(versions)
			if got := strings.Join(versions, ", "); got != "1 false, 3 true, 4 false" {
				t.Errorf("versions: %s", got)
			}
		})
	}
}

// A table that the MANIFEST does not name is searched; one that cannot be decoded is an error.
func TestSearchOrphans(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, folder := range []string{dir, other} {
		db := open(t, folder, false)
		commit(t, db, 1, func(txn *badger.Txn) error { return txn.Set([]byte("key"), []byte(folder)) })
		must(t, db.Close())
	}
	tables, err := filepath.Glob(filepath.Join(other, "*.sst"))
	must(t, err)
	b, err := os.ReadFile(tables[0])
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "000099.sst"), b, 0o600))
	found, err := Search(dir, nil, []byte(other))
	must(t, err)
	if len(found) != 1 || found[0].File != "000099.sst" {
		t.Errorf("found %v", found)
	}
	must(t, os.WriteFile(filepath.Join(dir, "000099.sst"), b[:len(b)-3], 0o600))
	if found, err := Search(dir, nil, []byte(other)); err == nil {
		t.Errorf("a table that is cut: found %v", found)
	}
}
