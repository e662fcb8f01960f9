package badgerdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"
)

// smallStore are options with which a log is 2 MiB.
func smallStore() Options { return Options{MemtableBytes: 1 << 20} }

// killed makes a store, and returns a copy of its files as they were when use returned: as a kill leaves them.
func killed(t *testing.T, use func(*DB)) string {
	t.Helper()
	d, err := Open(t.TempDir(), smallStore())
	if err != nil {
		t.Fatal(err)
	}
	use(d)
	image := copyStore(t, d.Opts().Dir)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return image
}

func copyStore(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// commitNumbers commits transactions with numbers from first to last, each with a key that tells its number, and two more.
func commitNumbers(t *testing.T, d *DB, first, last uint64, valueBytes int) {
	t.Helper()
	for n := first; n <= last; n++ {
		value := make([]byte, valueBytes)
		randomize(value)
		err := d.Commit(n, func(txn *badger.Txn) (int64, error) {
			return 0, errors.Join(txn.Set(numberKey(n), value), txn.Set([]byte("last"), numberKey(n)),
				txn.Delete([]byte("deleted")))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func numberKey(n uint64) []byte { return fmt.Appendf(nil, "number %d", n) }

// numbersIn tells up to which number a database has all transactions of commitNumbers, and that it has no other.
func numbersIn(t *testing.T, d *DB) uint64 {
	t.Helper()
	txn := d.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	n := uint64(0)
	for {
		_, err := txn.Get(numberKey(n + 1))
		if errors.Is(err, badger.ErrKeyNotFound) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != d.MaxVersion() {
		t.Errorf("it has the transactions up to %d, and something of %d", n, d.MaxVersion())
	}
	return n
}

// mustOpenWith opens a store and finds the transactions up to one.
func mustOpenWith(t *testing.T, dir string, o Options, want uint64) {
	t.Helper()
	d, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := numbersIn(t, d); n != want {
		t.Errorf("it has the transactions up to %d, want %d", n, want)
	}
	commitNumbers(t, d, d.MaxVersion()+1, d.MaxVersion()+1, 10)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// mustRefuse opens a store that is damaged: it says in which file, and leaves all as it is.
func mustRefuse(t *testing.T, dir, file string) *Damage {
	t.Helper()
	before := contents(t, dir)
	d, err := Open(dir, smallStore())
	if err == nil {
		t.Fatalf("it opens, up to %d; close: %v", d.MaxVersion(), d.Close())
	}
	var damage *Damage
	if !errors.Is(err, ErrDamaged) || !errors.As(err, &damage) || damage.File != file {
		t.Fatalf("%v; want a damage of %s", err, file)
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("it was changed: %v, was %v", after, before)
	}
	return damage
}

// contents are the files of a directory, each by a sum of what is in it.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		found[path] = fmt.Sprintf("%d %x", len(b), crc32.Checksum(b, y.CastagnoliCrcTable))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// change writes a file anew.
func change(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

// logBytes is a log as Badger writes it, with transactions as those of commitNumbers, and where each ends.
func logBytes(first, last uint64, valueBytes int) (b []byte, ends []int) {
	b = make([]byte, logHeader)
	for n := first; n <= last; n++ {
		b = appendEntry(b, entryInTxn, y.KeyWithTs(numberKey(n), n), bytes.Repeat([]byte{byte(n)}, valueBytes))
		b = appendEntry(b, entryInTxn, y.KeyWithTs([]byte("last"), n), numberKey(n))
		b = appendEntry(b, entryEndsTxn, y.KeyWithTs([]byte(endMarkKey), n), strconv.AppendUint(nil, n, 10))
		ends = append(ends, len(b))
	}
	return append(b, make([]byte, max(0, 2<<20-len(b)))...), ends
}

func appendEntry(b []byte, meta byte, key, value []byte) []byte {
	begin := len(b)
	b = append(b, meta, 0)
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = binary.AppendUvarint(b, uint64(len(value)))
	b = append(append(append(b, 0), key...), value...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[begin:], y.CastagnoliCrcTable))
}

// logAlone is a store of which nothing but logs is left, with these contents.
func logAlone(t *testing.T, logs ...[]byte) string {
	t.Helper()
	dir := killed(t, func(*DB) {})
	for n, b := range logs {
		if err := os.WriteFile(filepath.Join(dir, logName(n+1)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// each runs a test for each of some cases, several at a time: they mostly wait for the disk.
func each[C any](t *testing.T, cases map[string]C, run func(t *testing.T, c C)) {
	t.Helper()
	names := slices.Collect(maps.Keys(cases))
	var running sync.WaitGroup
	const runners = 8
	for n := range runners {
		running.Go(func() {
			for at := n; at < len(names); at += runners {
				t.Run(names[at], func(t *testing.T) { run(t, cases[names[at]]) })
			}
		})
	}
	running.Wait()
}
