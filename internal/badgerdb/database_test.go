package badgerdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

func openDatabase(t *testing.T, dir string) *DB {
	t.Helper()
	d, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A commit that returned is in the log, which was synced behind it once, and is there when the database is opened again.
func TestCommitIsSyncedOnce(t *testing.T) {
	dir := t.TempDir()
	d := openDatabase(t, dir)
	value, syncs, sync := []byte("what is to be durable"), 0, d.wal.content
	d.wal.content = func(log *os.File) error {
		if b, err := os.ReadFile(log.Name()); err != nil || !bytes.Contains(b, value) {
			t.Errorf("it is synced before the value is in it: %v", err)
		}
		syncs++
		return sync(log)
	}
	set := func(txn *badger.Txn) (int64, error) { return 3, txn.Set([]byte("key"), value) }
	if err := d.Commit(1, set); err != nil {
		t.Fatal(err)
	}
	if SyncsLog && (syncs != 1 || d.Syncs() != 1) || d.Opts().SyncWrites == SyncsLog {
		t.Errorf("%d syncs, %d counted; Badger syncs: %v", syncs, d.Syncs(), d.Opts().SyncWrites)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openDatabase(t, dir)
	if d.MaxVersion() != 1 || versions(d.DB, []byte("key")) != 1 {
		t.Errorf("opened again, it is at %d", d.MaxVersion())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// What could not be made a transaction leaves the database alone; what could not be synced is an error that does not.
func TestCommitTellsWhatItLeft(t *testing.T) {
	d := openDatabase(t, t.TempDir())
	defer d.Close()
	fault := errors.New("fault")
	err := d.Commit(1, func(txn *badger.Txn) (int64, error) { return 3, errors.Join(txn.Set([]byte("key"), nil), fault) })
	if !errors.Is(err, fault) || !IsUnwritten(err) || versions(d.DB, []byte("key")) != 0 || d.Syncs() != 0 {
		t.Errorf("%v; unwritten: %v", err, IsUnwritten(err))
	}
	if !SyncsLog {
		return
	}
	d.wal.content = func(*os.File) error { return fault }
	err = d.Commit(1, func(txn *badger.Txn) (int64, error) { return 3, txn.Set([]byte("key"), nil) })
	if !errors.Is(err, fault) || IsUnwritten(err) || d.Syncs() != 0 {
		t.Errorf("%v; unwritten: %v, %d syncs", err, IsUnwritten(err), d.Syncs())
	}
}

// Room is within what Badger takes: in keys without values, in few values as large as may be, and in ones in between, with what
// each counts besides.
func TestCommitOfAllTheRoom(t *testing.T) {
	for name, size := range map[string]int64{"writes": 0, "large values": valueThreshold - 1, "small values": 1000} {
		t.Run(name, func(t *testing.T) {
			d := openDatabase(t, t.TempDir())
			defer d.Close()
			room, writes := d.MaxCommit()
			err := d.Commit(1, func(txn *badger.Txn) (bytes int64, err error) {
				value := make([]byte, size)
				for n := int64(0); n < writes && (size == 0 || bytes < room); n++ {
					key := binary.BigEndian.AppendUint64(nil, uint64(n))
					left := room - bytes - int64(len(key)) - WriteOverhead
					v := value[:max(0, min(size, left))]
					if err := txn.Set(key, v); err != nil {
						return bytes, err
					}
					bytes += int64(len(key)+len(v)) + WriteOverhead
				}
				if size > 0 && bytes < room {
					t.Errorf("%d bytes in %d writes do not fill the room of %d", bytes, writes, room)
				}
				return bytes, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// A database for what a store is measured against has a store's options but for what is changed, and its builders are freed.
func TestOpenBare(t *testing.T) {
	dir := t.TempDir()
	change := func(o badger.Options) badger.Options { return o.WithSyncWrites(true) }
	for range 2 { // one that is closed leaves a table
		b, err := OpenBare(dir, change)
		if err != nil {
			t.Fatal(err)
		}
		if o := b.Opts(); !o.SyncWrites || o.BaseTableSize != baseTableBytes || o.ExternalMagicVersion != externalMagic {
			t.Errorf("opened with %+v", o)
		}
		if err := b.Update(func(txn *badger.Txn) error { return txn.Set([]byte("key"), nil) }); err != nil {
			t.Error(err)
		}
		buildersKeepNoMemory(t, b.DB)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// versions counts what the database has of a key.
func versions(db *badger.DB, key []byte) (n int) {
	txn := db.NewTransactionAt(db.MaxVersion(), false)
	defer txn.Discard()
	it := txn.NewKeyIterator(key, badger.IteratorOptions{AllVersions: true})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		n++
	}
	return n
}
