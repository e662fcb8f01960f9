package badgerdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// A store that was killed again and again before its first merge opens without waiting for one.
func TestOpenWithManyTables(t *testing.T) {
	const tables = 2 * stalledTables
	dir := t.TempDir()
	o := Options{}.complete()
	unmerged := badgerOptions(dir, &o, 0).WithNumCompactors(0).WithNumLevelZeroTablesStall(tables + 1)
	for level0Tables(t, dir) < tables {
		db, err := badger.OpenManaged(unmerged)
		if err != nil {
			t.Fatal(err)
		}
		txn := db.NewTransactionAt(db.MaxVersion(), true)
		if err := errors.Join(txn.Set([]byte("k"), nil), txn.CommitAt(db.MaxVersion()+1, nil), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	d := openDatabase(t, dir)
	defer d.Close()
	if stalled := d.Opts().NumLevelZeroTablesStall; stalled < tables+memtables+2 {
		t.Errorf("with %d tables and the memtables of a killed store, opening waits for a merge: it does from %d on", tables, stalled)
	}
	if d.MaxVersion() != tables {
		t.Errorf("after opening it is at %d", d.MaxVersion())
	}
}

// A directory in which another process begins a store is in use, whatever lies in it at that moment.
func TestANewStoreIsLocked(t *testing.T) {
	if !locksDirectory {
		t.Skip("the lock on the directory is Badger's")
	}
	dir := t.TempDir()
	lock, err := lockDirectory(dir)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, valueLogName(1)), nil, 0o600))
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("error is %v", err)
	}
	must(t, lock.Close())
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrFormat) {
		t.Errorf("error is %v", err)
	}
}

func TestNamesOfLogsAreMadeDurable(t *testing.T) {
	d, err := Open(t.TempDir(), Options{MemtableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if d.wal.last != 1 {
		t.Fatalf("the first log has number %d", d.wal.last)
	}
	for i := range 40 {
		commit(t, d, fmt.Sprint(i), make([]byte, 50<<10))
	}
	if d.wal.last < 2 {
		t.Errorf("a new log went unnoticed: the last is %d", d.wal.last)
	}
	d.wal = &wal{dir: "\x00", last: d.wal.last} // a name that no file has, and that cannot be looked for
	if err := d.Commit(d.MaxVersion()+1, set("k", nil)); err == nil || IsUnwritten(err) {
		t.Errorf("a directory that cannot be synced: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// set sets a key.
func set(key string, value []byte) func(*badger.Txn) (int64, error) {
	return func(txn *badger.Txn) (int64, error) { return int64(len(key) + len(value)), txn.Set([]byte(key), value) }
}

// commit sets a key in a transaction of its own.
func commit(tb testing.TB, d *DB, key string, value []byte) {
	tb.Helper()
	if err := d.Commit(d.MaxVersion()+1, set(key, value)); err != nil {
		tb.Fatal(err)
	}
}

func level0Tables(t *testing.T, dir string) int {
	t.Helper()
	i, err := inspect(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return i.level0()
}
