package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// numbered are lines in which only zstd finds an order.
func numbered(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%07d\n", i)
	}
	return b.String()[:n]
}

// packedValues are the values of a store that lie packed, as the database has them, by key; plain counts the others.
func packedValues(tb testing.TB, s *Store) (packed map[string][]byte, plain int) {
	tb.Helper()
	packed = map[string][]byte{}
	txn := s.source.DB.NewTransactionAt(s.source.DB.MaxVersion(), false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		switch item := it.Item(); item.UserMeta() {
		case 0:
			plain++
		case markPacked:
			held, err := item.ValueCopy(nil)
			if err != nil {
				tb.Fatal(err)
			}
			packed[string(item.Key())] = held
		}
	}
	return packed, plain
}

// markPacked is the byte beside a value that lies packed. Part of the storage format.
const markPacked = 1

// packedRows is a store with packed values in the rows of nodes, of pieces of payloads, of variables and of aliases; its head, and the
// payloads of its nodes.
func packedRows(tb testing.TB) (s *Store, head chainstore.ID, payloads []string) {
	tb.Helper()
	s = openStore(tb, Options{RowCacheBytes: -1}) // so that reads ask the database
	var end *chainstore.ID
	for i, size := range []int{2_000, 60_000, layout.MaxChunk + 10, 2_000_000} {
		for _, text := range []string{strings.Repeat("word ", size/5), numbered(size)} {
			n := node(end, fmt.Sprint(i), text)
			payloads = append(payloads, string(n.Payload))
			id := put(tb, s, n)[0].ID
			end = &id
		}
	}
	naming := storetest.Node{Parent: chainstore.Parent{Kind: chainstore.ParentID, ID: *end}}
	for i := range 50 {
		naming.Metadata = append(naming.Metadata, storetest.Entry{Key: fmt.Sprint("var/", strings.Repeat("name ", 20), i), Value: "1"})
	}
	n := storetest.Simple().Make(naming)
	payloads = append(payloads, string(n.Payload))
	id := put(tb, s, n)[0].ID
	end = &id
	alias := setAlias("alias", *end, chainstore.Condition{})
	alias.Labels, alias.SetLabels = map[string]string{"label": strings.Repeat("x", 60_000)}, true
	commitAliases(tb, s, alias)
	return s, *end, payloads
}

// What the database gets of values is what it has of them on disk; they are read as they were put, also from its tables.
func TestPackedRows(t *testing.T) {
	s, head, payloads := packedRows(t)
	if n := s.Metrics().WrittenBytes; n > 4_700_000/8 {
		t.Errorf("the database gets %d bytes of 4.7 MB", n)
	}
	check := func(s *Store) {
		t.Helper()
		if packed, plain := packedValues(t, s); len(packed) < 20 || plain == 0 || plain+len(packed) != len(allRows(t, s)) {
			t.Errorf("%d values are packed, %d are not", len(packed), plain)
		}
		if got, err := payloadsOf(s, head); err != nil || !slices.Equal(got, payloads) {
			t.Errorf("%d nodes come back of %d, or others: %v", len(got), len(payloads), err)
		}
		mustBeClean(t, s)
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(openAt(t, s.dir, Options{}))
}

func payloadsOf(s *Store, head chainstore.ID) (payloads []string, err error) {
	c, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: head}, nil)
	if err != nil {
		return nil, err
	}
	err = c.Rows(context.Background(), []chainstore.Span{{Through: c.Head().Seq}}, func(r *chainstore.Row) error {
		payloads = append(payloads, string(r.Payload))
		return nil
	})
	return payloads, err
}

// A packed row that is damaged is never read as another: ErrCorrupt to readers, and Verify goes on behind it.
func TestDamagedPackedRows(t *testing.T) {
	s, head, _ := packedRows(t)
	rows, tables := allRows(t, s), map[byte]int{}
	packed, _ := packedValues(t, s)
	for key, held := range packed {
		tables[key[layout.KeyPrefix-1]]++
		for name, e := range map[string]*badger.Entry{
			"cut":          badger.NewEntry([]byte(key), held[:len(held)-9]).WithMeta(markPacked),
			"empty":        badger.NewEntry([]byte(key), nil).WithMeta(markPacked),
			"unknown mark": badger.NewEntry([]byte(key), held).WithMeta(markPacked + 1),
		} {
			setEntry(t, s, e)
			if _, err := payloadsOf(s, head); key[layout.KeyPrefix-1] == layout.TableNodes && !errors.Is(err, chainstore.ErrCorrupt) {
				t.Errorf("%x %s: %v", key, name, err)
			}
			if _, err := s.Alias(t.Context(), testNamespace, "alias"); key[layout.KeyPrefix-1] == layout.TableAliases && !errors.Is(err, chainstore.ErrCorrupt) {
				t.Errorf("%x %s: %v", key, name, err)
			}
			if problems(t, s, testNamespace, storetest.Simple().Judge) == nil {
				t.Errorf("%x %s: verify found nothing", key, name)
			}
		}
		rewrite(t, s, map[string]commit.Write{key: {Value: rows[key]}})
	}
	if tables[layout.TableNodes] < 20 || tables[layout.TableAliases] != 1 || tables[layout.TableVariables] != 1 {
		t.Errorf("the packed values lie in the tables %v", tables)
	}
	mustBeClean(t, s)
}

// setEntry writes what the database is to have, behind the committer's back.
func setEntry(tb testing.TB, s *Store, e *badger.Entry) {
	tb.Helper()
	ts := s.source.Versions.Last() + 1
	if err := s.source.DB.Commit(ts, func(txn *badger.Txn) (int64, error) { return 0, txn.SetEntry(e) }); err != nil {
		tb.Fatal(err)
	}
	s.source.Versions.Publish(ts)
}
