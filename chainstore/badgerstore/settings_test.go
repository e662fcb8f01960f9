package badgerstore

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

func settle(tb testing.TB, s *Store, namespace string, settings chainstore.Settings) chainstore.SettingsNow {
	tb.Helper()
	now, err := s.SetSettings(tb.Context(), namespace, chainstore.SettingsChange{Settings: settings})
	if err != nil {
		tb.Fatal(err)
	}
	return now
}

// TestAStoreTellsOfSettings from the first on, in the commit that writes them, and not before; what a later version has in the header and
// behind the settings stays.
func TestAStoreTellsOfSettings(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, "x"))
	if features := s.Info().Features; len(features) > 0 {
		t.Errorf("without settings a store has %q", features)
	}
	later := layout.StoreHeader{ID: s.Info().ID, Optional: []string{"feeds"}, Rest: []byte("later")}
	s, err := reopened(t, s, map[string]commit.Write{string(headerKey): headerRow(&later)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	last := s.source.Versions.Last()
	settle(t, s, "acme", chainstore.Settings{MaxNodes: 1})
	want := []string{"feeds", "namespace_settings"}
	header, err := layout.ParseStoreHeader(allRows(t, s)[string(headerKey)])
	if err != nil || !slices.Equal(header.Optional, want) || string(header.Rest) != "later" || !slices.Equal(s.Info().Features, want) {
		t.Errorf("with settings it has %q, its header %+v, %v", s.Info().Features, header, err)
	}
	if n := s.source.Versions.Last(); n != last+1 {
		t.Errorf("%d commits", n-last)
	}
	key := string(layout.SettingsKey(layout.FirstNamespace + 1))
	row := append(allRows(t, s)[key], "\x00later"...) // no rules of retention, and what comes behind them
	if s, err = reopened(t, s, map[string]commit.Write{key: {Value: row}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	settle(t, s, "acme", chainstore.Settings{MaxNodes: 2})
	if row := allRows(t, s)[key]; !bytes.HasSuffix(row, []byte("later")) {
		t.Error("what was behind the settings is gone")
	}
	if found, _ := verifyStore(t, s); found != nil {
		t.Errorf("verify found %q", found)
	}
}

// TestSettingsCostNothingWithoutThem: a put in a store that has no settings reads and writes as before; where others have some it reads no
// more than once which those of its namespace are.
func TestSettingsCostNothingWithoutThem(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, "warm"))
	cost := func(text string) (reads, writes uint64) {
		gets, seeks, nexts := s.Reads()
		wrote := s.Writes()
		put(t, s, node(nil, text))
		g, k, n := s.Reads()
		return g + k + n - gets - seeks - nexts, s.Writes() - wrote
	}
	reads, writes := cost("without")
	settle(t, s, "other", chainstore.Settings{MaxNodes: 1})
	cost("the first")
	if r, w := cost("with"); r != reads || w != writes {
		t.Errorf("beside settings of others a put reads %d and writes %d, else %d and %d", r, w, reads, writes)
	}
	settle(t, s, testNamespace, chainstore.Settings{MaxNodes: 1000})
	if r, w := cost("bounded"); r != reads || w != writes {
		t.Errorf("with a quota a put reads %d and writes %d, else %d and %d", r, w, reads, writes)
	}
}

// TestSettingsInABatch: what a batch does counts in its order: settings for what comes behind them, also in a namespace that the batch
// makes; of a change that is refused, or whose batch is not written, nothing stays.
func TestSettingsInABatch(t *testing.T) {
	s := openStore(t, Options{})
	entered, release := blocked(t, s)
	var wg sync.WaitGroup
	wg.Go(func() { put(t, s, node(nil, "first")) })
	<-entered
	waiting := 0
	next := func(do func()) {
		wg.Go(do)
		waiting++
		waitFor(t, func() bool { return queueLength(s) == waiting })
	}
	commitIn := func(namespace, text string) (err error) {
		_, err = s.Commit(t.Context(), namespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, text)}})
		return err
	}
	errs := make([]error, 5)
	next(func() {
		_, errs[0] = s.SetSettings(t.Context(), "new", chainstore.SettingsChange{Settings: chainstore.Settings{MaxNodes: 1}})
	})
	next(func() { errs[1] = commitIn("new", "a") })
	next(func() { errs[2] = commitIn("new", "b") })
	next(func() {
		_, errs[3] = s.SetSettings(t.Context(), "refused", chainstore.SettingsChange{Conditioned: true, Revision: 7})
	})
	next(func() { errs[4] = commitIn("another", "c") })
	release()
	wg.Wait()
	for i, want := range []error{nil, nil, chainstore.ErrQuota, chainstore.ErrSettingsChanged, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("change %d: %v, want %v", i, errs[i], want)
		}
	}
	names, err := s.Namespaces(t.Context(), chainstore.NamespaceQuery{Limit: 10})
	if err != nil || !slices.Equal(names, []string{"another", testNamespace, "new"}) && !slices.Equal(names, []string{"another", "new", testNamespace}) {
		t.Errorf("the names are %q, %v", names, err)
	}
	if found, _ := verifyStore(t, s); found != nil {
		t.Errorf("verify found %q", found)
	}
}

// TestSettingsThatAreNotWritten are not heeded, and leave no feature.
func TestSettingsThatAreNotWritten(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, "x"))
	ready := s.committer.Ready
	s.committer.Ready = func() (error, error) { return chainstore.ErrDiskFull, chainstore.ErrDiskFull }
	change := chainstore.SettingsChange{Settings: chainstore.Settings{MaxNodes: 1}}
	if _, err := s.SetSettings(t.Context(), testNamespace, change); !errors.Is(err, chainstore.ErrDiskFull) {
		t.Errorf("on a full disk: %v", err)
	}
	s.committer.Ready = ready
	put(t, s, node(nil, "y"))
	if now, err := s.Settings(t.Context(), testNamespace); err != nil || now.Revision != 0 || len(s.Info().Features) > 0 {
		t.Errorf("%+v, %v, %q", now, err, s.Info().Features)
	}
}

// TestVerifyReadsSettings: settings that cannot be read, that are none, or of which the store's header does not tell, are told.
func TestVerifyReadsSettings(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, "x"))
	key := string(layout.SettingsKey(layout.FirstNamespace))
	rewrite(t, s, map[string]commit.Write{key: {Value: []byte{1, 1, 1, 1}}})
	if problems(t, s, testNamespace, storetest.Simple().Judge) == nil {
		t.Error("nobody minds settings of which the header does not tell")
	}
	settle(t, s, "other", chainstore.Settings{})
	if found := problems(t, s, testNamespace, storetest.Simple().Judge); found != nil {
		t.Errorf("verify found %q", found)
	}
	for name, w := range map[string]struct {
		key   string
		value []byte
	}{
		"cut":      {key, []byte{1, 1, 1}},
		"revision": {key, []byte{0, 1, 1, 1}},
		"longer":   {key + "x", []byte{1, 1, 1, 1}},
	} {
		rewrite(t, s, map[string]commit.Write{w.key: {Value: w.value}})
		if problems(t, s, testNamespace, storetest.Simple().Judge) == nil {
			t.Errorf("%s: nobody minds", name)
		}
		rewrite(t, s, map[string]commit.Write{w.key: {Deleted: true}})
	}
}

// TestSettingsThatCannotBeRead keep what adds from being put: a quota that is damaged is not passed over.
func TestSettingsThatCannotBeRead(t *testing.T) {
	s := openStore(t, Options{})
	id := put(t, s, node(nil, "x"))[0].ID
	settle(t, s, "other", chainstore.Settings{})
	rewrite(t, s, map[string]commit.Write{string(layout.SettingsKey(layout.FirstNamespace)): {Value: []byte{7}}})
	_, err := s.Commit(t.Context(), testNamespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(&id, "y")}})
	if !errors.Is(err, chainstore.ErrCorrupt) {
		t.Errorf("a put: %v", err)
	}
	if _, err := s.Settings(t.Context(), testNamespace); !errors.Is(err, chainstore.ErrCorrupt) {
		t.Errorf("the settings: %v", err)
	}
	put(t, s, node(nil, "x"))
}
