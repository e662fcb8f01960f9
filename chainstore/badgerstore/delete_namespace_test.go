package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// whole fills a namespace with canaries in all that it can have: nodes, some erased and some put again, names and labels of aliases and of deleted ones,
// and settings.
func whole(tb testing.TB, s *Store) (ids []chainstore.ID) {
	tb.Helper()
	ids = singing(tb, s, "chat ")
	for _, name := range []string{"x", canaryText + "in a name", canaryText + "in a name that goes"} {
		for _, id := range []chainstore.ID{ids[5], ids[3]} {
			changeAlias(tb, s, chainstore.AliasChange{
				Name: name, Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: id}}, SetLabels: true, Labels: map[string]string{"k": canaryText + "in a label"},
			})
		}
	}
	changeAlias(tb, s, chainstore.AliasChange{Name: canaryText + "in a name that goes", Target: chainstore.Target{Kind: chainstore.TargetNone}})
	if _, err := s.SetSettings(tb.Context(), testNamespace, chainstore.SettingsChange{Settings: chainstore.Settings{Retention: canaryText + "in settings"}}); err != nil {
		tb.Fatal(err)
	}
	return ids
}

func changeAlias(tb testing.TB, s *Store, change chainstore.AliasChange) {
	tb.Helper()
	if _, err := s.Commit(tb.Context(), testNamespace, &chainstore.Change{Aliases: []chainstore.AliasChange{change}}); err != nil {
		tb.Fatal(err)
	}
}

func deleteWhole(tb testing.TB, s *Store) {
	tb.Helper()
	if deleted, err := s.DeleteNamespace(tb.Context(), testNamespace, nil); err != nil || !deleted {
		tb.Fatal(deleted, err)
	}
}

// left are the rows of a number.
func left(tb testing.TB, s *Store, number uint32) (keys []string) {
	tb.Helper()
	for key := range allRows(tb, s) {
		if layout.NamespaceOf(key) == number {
			keys = append(keys, key)
		}
	}
	return keys
}

func waitPurged(tb testing.TB, s *Store) {
	tb.Helper()
	waitFor(tb, func() bool {
		sum, err := s.Purging(context.Background())
		return err == nil && sum == chainstore.Purging{}
	})
}

// TestDeletedNamespaceLeavesTheFiles: of a namespace that was deleted no row and no version stays, and others have all that they had, also where the
// same name was begun anew at once.
func TestDeletedNamespaceLeavesTheFiles(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"plain":     func(*Options) {},
		"encrypted": func(o *Options) { o.EncryptionKey = testKey(1) },
		"alone":     func(o *Options) { o.onlyPublic = true },
	} {
		t.Run(name, func(t *testing.T) {
			dir, o := t.TempDir(), promptly()
			change(&o)
			s := openAt(t, dir, o)
			ids := whole(t, s)
			erase(t, s, ids[1])
			if err := putIn(s, "other", node(nil, "what stays", noise(5000))); err != nil {
				t.Fatal(err)
			}
			if len(sung(t, s, o.EncryptionKey)) == 0 {
				t.Fatal("no canary was found before")
			}
			deleteWhole(t, s)
			anew := put(t, s, node(nil, "anew"))[0].ID
			waitPurged(t, s)
			mustBeSilent(t, s, o.EncryptionKey)
			if rows := left(t, s, 1); len(rows) > 0 {
				t.Errorf("%d rows are left, one is %q", len(rows), rows[0])
			}
			for range 2 {
				stats, err := s.Stats(t.Context(), "other")
				if err != nil || stats.Nodes != 1 {
					t.Errorf("the other namespace has %+v, %v", stats, err)
				}
				foundNode(t, s, anew)
				soundAll(t, s)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = openAt(t, dir, o)
				mustBeSilent(t, s, o.EncryptionKey)
			}
		})
	}
}

// TestDeletedNamespaceBeforeItsPurge: while its rows are there yet a check of the store finds nothing wrong, and a repair leaves them; the next start
// purges them.
func TestDeletedNamespaceBeforeItsPurge(t *testing.T) {
	dir, o := t.TempDir(), promptly()
	o.noPurges = true
	s := openAt(t, dir, o)
	whole(t, s)
	deleteWhole(t, s)
	rows := len(left(t, s, 1))
	if rows == 0 {
		t.Fatal("no rows are left to purge")
	}
	soundAll(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err := Rederive(t.Context(), dir, o, chainstore.Check{WholeStore: true}, storetest.Simple().Judge, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			t.Errorf("a repair finds %+v", p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, o)
	if now := len(left(t, s, 1)); now != rows {
		t.Errorf("%d rows are left of %d", now, rows)
	}
	if sum, err := s.Purging(t.Context()); err != nil || sum.Namespaces != 1 || sum.Since == 0 {
		t.Errorf("%+v is to leave, %v", sum, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.noPurges = false
	s = openAt(t, dir, o)
	waitPurged(t, s)
	mustBeSilent(t, s, nil)
	soundAll(t, s)
}

// TestDeletedNamespaceBesideAnOpenRead: a read that began before sees what it began with, and what was deleted leaves the files once it has ended.
func TestDeletedNamespaceBesideAnOpenRead(t *testing.T) {
	s := openAt(t, t.TempDir(), promptly())
	ids := whole(t, s)
	c, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: ids[5]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	err = c.Rows(t.Context(), []chainstore.Span{{Through: 5}}, func(row *chainstore.Row) error {
		if read++; read == 1 {
			deleteWhole(t, s)
		}
		return nil
	})
	if err != nil || read != 6 {
		t.Errorf("%d rows were read, %v", read, err)
	}
	waitPurged(t, s)
	mustBeSilent(t, s, nil)
}

// TestOlderReadsDoNotTeachNames: what a read of before a deletion finds is not remembered for those behind it.
func TestOlderReadsDoNotTeachNames(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, "x"))
	before, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	deleteWhole(t, s)
	if number, found, err := before.NumberOf(testNamespace); number != 1 || !found || err != nil {
		t.Errorf("a read of before finds number %d, %v, %v", number, found, err)
	}
	after, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	if _, found, err := after.NumberOf(testNamespace); found || err != nil {
		t.Errorf("a read of behind it finds the name: %v, %v", found, err)
	}
	put(t, s, node(nil, "x"))
	if _, found, err := before.NumberOf(testNamespace); !found || err != nil {
		t.Errorf("a read of before finds no name: %v, %v", found, err)
	}
	stats, err := s.Stats(t.Context(), testNamespace)
	if err != nil || stats.Nodes != 1 {
		t.Errorf("the namespace that was begun anew has %+v, %v", stats, err)
	}
}

// TestCompactionBesideADeletion: what was prepared of a compaction node before the namespace was deleted and begun anew is not taken for what lies at the
// same places by then.
func TestCompactionBesideADeletion(t *testing.T) {
	s := openStore(t, Options{})
	held, release := holdCommits(s)
	ids := conversation(t, s, "chat", 5)
	<-held
	anew := &chainstore.Change{Aliases: []chainstore.AliasChange{move("chat", 10, chainstore.Condition{})}}
	anew.Nodes = append(anew.Nodes, under(chainstore.Parent{}, said(runloop.System, "chat")),
		under(previous(), said(runloop.User, "question 0")), under(previous(), said(runloop.Assistant, "answer 0")))
	for len(anew.Nodes) < 11 {
		anew.Nodes = append(anew.Nodes, under(previous(), said(runloop.User, "another")))
	}
	compacted := &chainstore.Change{
		Nodes: []chainstore.NewNode{compacting(byAlias("chat"), ids[2], said(runloop.User, "summed up"))}, Aliases: []chainstore.AliasChange{move("chat", 0, chainstore.Condition{})},
	}
	did := make(chan error)
	for i, f := range []func() error{
		func() error { _, err := s.DeleteNamespace(context.Background(), testNamespace, nil); return err },
		func() error { _, err := s.Commit(context.Background(), testNamespace, anew); return err },
		func() error { _, err := s.Commit(context.Background(), testNamespace, compacted); return err },
	} {
		go func() { did <- f() }()
		waitFor(t, func() bool { return queuedChanges(s) == i+1 })
	}
	close(release)
	for range 3 {
		if err := <-did; err != nil {
			t.Error(err)
		}
	}
	mustBeCleanIn(t, s, testNamespace, 12)
	soundAll(t, s)
}

// holdCommits keeps the committer of a store that commits nothing yet from what comes behind its next commit, until release is closed.
func holdCommits(s *Store) (held, release chan struct{}) {
	pause := s.committer.Pause
	held, release = make(chan struct{}), make(chan struct{})
	first := true
	s.committer.Pause = func(ctx context.Context) {
		if first {
			first = false
			close(held)
			<-release
		}
		pause(ctx)
	}
	return held, release
}

// TestRestoreBesideADeletion: what a Restore found before the namespace was deleted and begun anew is looked for again.
func TestRestoreBesideADeletion(t *testing.T) {
	s := openStore(t, Options{})
	held, release := holdCommits(s)
	id := put(t, s, node(nil, "x"))[0].ID
	restored := &chainstore.Restored{Aliases: []chainstore.ExportedAlias{{Name: "x", Revision: 1, States: []chainstore.AliasState{{Revision: 1, Node: id, At: 1}}}}}
	<-held
	did := make(chan error)
	go func() {
		_, err := s.DeleteNamespace(context.Background(), testNamespace, nil)
		did <- err
	}()
	waitFor(t, func() bool { return queuedChanges(s) == 1 })
	go func() {
		did <- putIn(s, testNamespace, node(nil, "anew"))
	}()
	waitFor(t, func() bool { return queuedChanges(s) == 2 })
	go func() {
		_, err := s.Restore(context.Background(), testNamespace, restored)
		did <- err
	}()
	waitFor(t, func() bool { return queuedChanges(s) == 3 })
	close(release)
	var errs []error
	for range 3 {
		errs = append(errs, <-did)
	}
	if n := len(slices.DeleteFunc(errs, func(err error) bool { return !errors.Is(err, chainstore.ErrNodeNotFound) })); n != 1 {
		t.Errorf("the errors are %v", errs)
	}
	soundAll(t, s)
}

func queuedChanges(s *Store) int {
	s.committer.Waiting.Mu.Lock()
	defer s.committer.Waiting.Mu.Unlock()
	return s.committer.Waiting.Requests.Len()
}

// TestVerifyKnowsDeletedNamespaces: a row of a deletion that cannot be read is a problem.
func TestVerifyKnowsDeletedNamespaces(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, "x"))
	deleteWhole(t, s)
	soundAll(t, s)
	rewrite(t, s, map[string]commit.Write{string(layout.GoneKey(1)): {Value: []byte{0xff}}})
	var found []string
	err := s.Verify(t.Context(), chainstore.Check{WholeStore: true}, storetest.Simple().Judge, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			found = append(found, p.What)
		}
		return nil
	})
	if err != nil || len(found) != 1 || !strings.Contains(found[0], "table M") {
		t.Errorf("%v, %v", found, err)
	}
}

// TestDeletedNamespaceIsForgotten: nothing of it is kept in memory for reads.
func TestDeletedNamespaceIsForgotten(t *testing.T) {
	s := openStore(t, Options{})
	for range 3 {
		ids := whole(t, s)
		for range 3 {
			c, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{Alias: "x"}, nil)
			if err == nil {
				err = c.Rows(t.Context(), []chainstore.Span{{Through: uint32(len(ids) - 3), WillReread: true}}, func(*chainstore.Row) error { return nil })
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if s.source.Caches.Rows.Metrics().Bytes == 0 {
			t.Fatal("no rows are kept")
		}
		deleteWhole(t, s)
		for name, bytes := range map[string]int64{
			"rows": s.source.Caches.Rows.Metrics().Bytes, "nodes": s.source.Caches.Nodes.Metrics().Bytes, "aliases": s.source.Caches.Aliases.Metrics().Bytes,
		} {
			if bytes > 0 {
				t.Errorf("%d bytes of %s are kept", bytes, name)
			}
		}
	}
}

// TestNumbersAreNotGivenAgain: the number of a deleted namespace is not given again, also not once the store was opened again.
func TestNumbersAreNotGivenAgain(t *testing.T) {
	s := openStore(t, Options{})
	for i := range 5 {
		if err := putIn(s, fmt.Sprint("n", i), node(nil, "x")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.DeleteNamespace(t.Context(), fmt.Sprint("n", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	s, err := reopened(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.source.Names.Given != 5 {
		t.Errorf("the last number given is %d", s.source.Names.Given)
	}
	put(t, s, node(nil, "x"))
	if rows := left(t, s, 6); len(rows) == 0 {
		t.Error("the next number is another")
	}
}
