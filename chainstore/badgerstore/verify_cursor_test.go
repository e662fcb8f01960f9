package badgerstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/verify"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// hurried is a clock on which it is time for a report whenever it is looked at, unless it stands still.
func hurried(still *bool) func() time.Time {
	at := time.Unix(1_700_000_000, 0)
	return func() time.Time {
		if !*still {
			at = at.Add(verify.ReportInterval)
		}
		return at
	}
}

// checkpoint is a cursor, and what was found before it.
type checkpoint struct {
	cursor []byte
	found  []string
}

// checked runs a check and returns its checkpoints, the last of which is the end.
func checked(tb testing.TB, s *Store, check chainstore.Check, judge chainstore.Judge) (all []checkpoint) {
	tb.Helper()
	var found []string
	if err := s.Verify(context.Background(), check, judge, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			found = append(found[:len(found):len(found)], p.What)
		}
		all = append(all, checkpoint{bytes.Clone(r.Cursor), found})
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return all
}

// TestVerifyGoesOnAnywhere damages rows of every table, and goes on from many rows, also in a store that was opened again: the same is
// found. Lost tables of tools and variables are left out: a check that goes on behind one cannot tell again what the nodes behind have.
func TestVerifyGoesOnAnywhere(t *testing.T) {
	dir := t.TempDir()
	unpack(t, goldenArchive(layout.FormatVersion), dir)
	still := false
	s := openAt(t, dir, Options{Now: hurried(&still)})
	rows := allRows(t, s)
	for table, keys := range byTable(rows) {
		if bytes.IndexByte([]byte(layout.OwnTables), table) >= 0 {
			continue
		}
		for i, key := range sample(keys, 3) {
			if i == 1 && table != layout.TableTools && table != layout.TableVariables {
				rewrite(t, s, map[string]commit.Write{key: {Deleted: true}})
			}
		}
		if key := keys[0]; table != layout.TableCounters && table != layout.TableNodes {
			rewrite(t, s, map[string]commit.Write{key[:len(key)-1] + "zz": {Value: rows[key]}})
		}
	}
	check := chainstore.Check{Namespace: "default"}
	whole := checked(t, s, check, goldenJudge)
	end := whole[len(whole)-1]
	if len(whole) < len(rows) || len(end.found) < 20 {
		t.Fatalf("%d reports, %q", len(whole), end.found)
	}
	still = true
	step := len(whole)/40 + 1
	for i := 0; i < len(whole)-1; i += step {
		if i/step == 20 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, dir, Options{Now: hurried(&still)})
		}
		if check.Cursor = whole[i].cursor; check.Cursor == nil {
			continue
		}
		rest := checked(t, s, check, goldenJudge)
		if found := slices.Concat(whole[i].found, rest[len(rest)-1].found); !slices.Equal(found, end.found) {
			t.Fatalf("from report %d on: found %q, want %q", i, found, end.found)
		}
	}
}

// TestVerifyLetsGoOfReads: a check amid writes goes on in new reads, so that the database may forget what it began with, and finds
// nothing.
func TestVerifyLetsGoOfReads(t *testing.T) {
	s := openStore(t, Options{Now: hurried(new(bool))})
	at := time.Duration(0)
	s.source.Clock = func() time.Duration {
		at += chainstore.RowsHold / 3
		return at
	}
	var ids []chainstore.ID
	for i := range 30 {
		ids = append(ids, put(t, s, node(nil, fmt.Sprint("root ", i)))[0].ID)
		commitAliases(t, s, setAlias(fmt.Sprint("chat/", i), ids[i], chainstore.Condition{}), setAlias("busy", ids[i], chainstore.Condition{}))
	}
	began, n := s.source.Versions.Last(), 0
	check := chainstore.Check{Namespace: testNamespace}
	if err := s.Verify(t.Context(), check, storetest.Simple().Judge, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			t.Error(p.What)
		}
		if n++; n > 120 {
			return nil
		}
		child := put(t, s, node(&ids[n%30], fmt.Sprint("child ", n)))[0].ID
		commitAliases(t, s, setAlias(fmt.Sprint("chat/", n%40), child, chainstore.Condition{}), setAlias("busy", child, chainstore.Condition{}))
		if kept := s.source.Versions.Discarded; n == 60 && kept <= began {
			t.Errorf("after %d reports and %d commits, a read as of %d is kept, where it began", n, s.source.Versions.Last()-began, kept)
		}
		return nil
	}); err != nil || n < 100 {
		t.Errorf("%d reports, %v", n, err)
	}
	mustBeClean(t, s)
}

// TestVerifyKeepsToItsRate: it takes as long as its rate says, for rows and for files, and tells meanwhile that it goes on.
func TestVerifyKeepsToItsRate(t *testing.T) {
	s := openStore(t, Options{})
	for i := range 40 {
		put(t, s, node(nil, fmt.Sprint(i, noise(5000))))
	}
	dir := s.dir
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	for _, check := range []chainstore.Check{{Namespace: testNamespace}, {WholeStore: true}} {
		check.BytesPerSecond = 400_000 // 40 nodes of 5,000 bytes of text, which lie in half as many, in one file
		began := time.Now()
		if all := checked(t, s, check, storetest.Simple().Judge); len(all[len(all)-1].found) > 0 {
			t.Error(all[len(all)-1].found)
		}
		took, least := time.Since(began), 200*time.Millisecond
		if check.WholeStore {
			least = 400 * time.Millisecond
		}
		if took < least {
			t.Errorf("%+v took %s", check, took)
		}
	}
}
