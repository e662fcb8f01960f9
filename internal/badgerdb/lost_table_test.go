package badgerdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// Badger 4.9.6 loses, without an error, what was to be in a table that a merge cannot create: the error is dropped, and the tables
// that were merged are deleted. So a merge must never run out of disk, descriptors or maps, see room. A version of Badger that
// keeps the keys fails here: then this test can go, and decision 0045 is to be read again.
func TestBadgerLosesATableItCannotCreate(t *testing.T) {
	dir, _ := filled(t, 3)
	o := Options{MemtableBytes: 1 << 20}.complete()
	db, err := badger.OpenManaged(badgerOptions(dir, &o, 0).WithCompactL0OnClose(true))
	if err != nil {
		t.Fatal(err)
	}
	before := countKeys(db)
	waitUntil(t, func() bool { return len(db.Tables()) >= 4 }) // the log, too
	next := uint64(0)
	for _, info := range db.Tables() {
		next = max(next, info.ID+1)
	}
	for id := next; id < next+20; id++ { // names that a merge would create
		file, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%06d.sst", id)), os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) { // a table that is still being written, which must not be cut
			continue
		}
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = badger.OpenManaged(badgerOptions(dir, &o, 0)); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if after := countKeys(db); after == before {
		t.Errorf("all %d keys are there: Badger does not lose them any more", after)
	}
}

func countKeys(db *badger.DB) (n int) {
	txn := db.NewTransactionAt(db.MaxVersion(), false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		n++
	}
	return n
}
