package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// What a commit writes is in the newest log when that is synced, once for each commit, also where it is a new one; and it
// is not published before.
func TestTheLogIsSyncedBehindTheWrites(t *testing.T) {
	if !badgerdb.SyncsLog {
		t.Skip("the database syncs its log here")
	}
	var s *Store
	var text string
	syncs, logs := 0, map[string]bool{}
	s = openStore(t, Options{MemtableBytes: 1 << 20, syncLog: func(log *os.File) error {
		if s == nil { // it is being opened
			return log.Sync()
		}
		b, err := os.ReadFile(log.Name())
		if err != nil || !bytes.Contains(b, []byte(text)) {
			t.Errorf("%s does not have %.10q yet: %v", filepath.Base(log.Name()), text, err)
		}
		if next := s.source.Versions.Last(); next != uint64(syncs+1) {
			t.Errorf("%d is published before the sync of commit %d", next, syncs+2)
		}
		syncs, logs[log.Name()] = syncs+1, true
		return log.Sync()
	}})
	for i := range 30 {
		text = fmt.Sprintf("(%d) ", i) + noise(100_000)
		put(t, s, node(nil, text))
	}
	if syncs != 30 || len(logs) < 3 {
		t.Errorf("%d syncs of %d logs for 30 commits of 3 MB", syncs, len(logs))
	}
	mustBeClean(t, s)
}

// Where the log cannot be synced, readers do not see what was committed, and no more writes are taken.
func TestFailedSyncOfTheLog(t *testing.T) {
	if !badgerdb.SyncsLog {
		t.Skip("the database syncs its log here")
	}
	broken, fails := errors.New("input/output error"), false
	s := openStore(t, Options{syncLog: func(log *os.File) error {
		if fails {
			return broken
		}
		return log.Sync()
	}})
	id := put(t, s, node(nil, "before"))[0].ID
	fails = true
	for _, text := range []string{"lost", "later"} {
		_, err := s.Commit(context.Background(), testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(&id, text)}})
		if !errors.Is(err, chainstore.ErrFailed) || errors.Is(err, broken) != (text == "lost") {
			t.Errorf("%s: error is %v", text, err)
		}
	}
	if st := nodeStats(t, s); st.Nodes != 1 {
		t.Errorf("readers see %d nodes", st.Nodes)
	}
	mustBeClean(t, s)
}

// From its opening on, before anything is committed, the database may throw away what no read can see.
func TestDiscardFollowsTheOpening(t *testing.T) {
	s := openStore(t, Options{})
	for i := range 5 {
		put(t, s, node(nil, fmt.Sprint(i)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, s.dir, Options{})
	if s.source.Versions.Discarded == 0 || s.source.Versions.Discarded != s.source.Versions.Published {
		t.Errorf("discarded up to %d, published %d", s.source.Versions.Discarded, s.source.Versions.Published)
	}
	key := layout.CountersKey(layout.FirstNamespace)
	if n := versions(s.source.DB.DB, key); n != 5 {
		t.Fatalf("%d versions of a row that was written 5 times", n)
	}
	compacting := s.source.DB.Opts().WithCompactL0OnClose(true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := badger.OpenManaged(compacting)
	if err != nil {
		t.Fatal(err)
	}
	snapshot.NewVersions(db.SetDiscardTs, db.MaxVersion())
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n := versions(openAt(t, s.dir, Options{}).source.DB.DB, key); n != 1 {
		t.Errorf("a compaction left %d versions", n)
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
