package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// rowsAtOnce is how many rows a test writes in one transaction.
const rowsAtOnce = 200

// asEarlier gives a store the T rows that an earlier version has, and its number, and takes its header.
func asEarlier(tb testing.TB, s *Store, version uint64) {
	tb.Helper()
	writes := map[string]commit.Write{
		string(formatKey): {Value: layout.NumberValue(version)},
		string(headerKey): {Deleted: true},
	}
	for key := range allRows(tb, s) {
		if len(writes) == rowsAtOnce {
			writeRows(tb, s, writes)
			writes = map[string]commit.Write{}
		}
		if key[layout.KeyPrefix-1] != layout.TableMoved {
			continue
		}
		folder, name, _, err := layout.ParseMovedKey([]byte(key))
		if err != nil {
			tb.Fatal(err)
		}
		if folder != name[:max(0, strings.LastIndexByte(name, '/'))] {
			writes[key] = commit.Write{Deleted: true}
		}
	}
	writeRows(tb, s, writes)
}

func writeRows(tb testing.TB, s *Store, writes map[string]commit.Write) {
	tb.Helper()
	ts := s.source.Versions.Last() + 1
	if err := commit.WriteTo(s.source.DB, writes, ts); err != nil {
		tb.Fatal(err)
	}
	s.source.Versions.Publish(ts)
}

// indexedNames are the names in a store of an earlier version.
func indexedNames() (names []string) {
	for i := range 300 {
		names = append(names, fmt.Sprintf("a/%03d/b/c", i))
	}
	return append(names, "a", "1/2/3/4/5/6/7/8/9", "/x", "a/b")
}

// indexed asserts that a store has all its aliases in its lists by folder, and that nothing is wrong with it.
func indexed(tb testing.TB, s *Store) {
	tb.Helper()
	page, next, err := s.Aliases(context.Background(), testNamespace, chainstore.AliasQuery{ByFolder: true, Limit: 1000})
	var names []string
	for i := range page {
		names = append(names, page[i].Name)
	}
	want := indexedNames()
	slices.Sort(want)
	slices.Sort(names)
	if err != nil || next != nil || !slices.Equal(names, want) {
		tb.Errorf("the aliases are %d, want %d (%v)", len(names), len(want), err)
	}
	mustBeClean(tb, s)
}

// TestFolderIndex: a store of an earlier version has its aliases in the lists of all their folders, however often opening it was cut, and what an
// earlier version did in between.
func TestFolderIndex(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{Now: func() time.Time { return time.UnixMilli(1000) }})
	s.committer.Pause = func(context.Context) {} // a store is taken up before anybody else commits to it, and paced by one goroutine
	id := put(t, s, node(nil, "x"))[0].ID
	for _, name := range indexedNames() {
		commitAliases(t, s, setAlias(name, id, chainstore.Condition{}))
	}
	asEarlier(t, s, 1)
	stop := errors.New("cut")
	for _, commits := range []int{0, 1, 3} {
		u := s.newFolderIndex(nil)
		u.maxBytes = 1000
		u.publish = func(ts uint64) {
			s.source.Versions.Publish(ts)
			if commits--; commits < 0 {
				panic(stop)
			}
		}
		func() {
			defer func() {
				if r := recover(); r != stop {
					t.Errorf("it was not cut: %v", r)
				}
			}()
			_ = u.run()
		}()
		u.view.Discard()
	}
	// An earlier version moved an alias, and knew of one row.
	writeRows(t, s, map[string]commit.Write{
		string(layout.MovedKey(1, "", "a/000/b/c", 500)):       {Value: []byte{}},
		string(layout.MovedKey(1, "a/1", "a/1/never set", 10)): {Value: []byte{}},
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	indexed(t, s)
}

// TestFolderIndexTellsHowFarItIs: the log has a line now and then, and a store of this format is not taken up again.
func TestFolderIndexTellsHowFarItIs(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{})
	id := put(t, s, node(nil, "x"))[0].ID
	for _, name := range indexedNames() {
		commitAliases(t, s, setAlias(name, id, chainstore.Condition{}))
	}
	asEarlier(t, s, 2)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	clock := time.UnixMilli(0)
	options := Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time {
		clock = clock.Add(time.Second / 10)
		return clock
	}}
	s = openAt(t, dir, options)
	indexed(t, s)
	if lines := strings.Count(log.String(), "taken up"); lines < 2 || lines > 10 {
		t.Errorf("%d lines in the log: %s", lines, log.String())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	indexed(t, openAt(t, dir, options))
	if strings.Contains(log.String(), "taken up") {
		t.Errorf("it was taken up twice: %s", log.String())
	}
}
