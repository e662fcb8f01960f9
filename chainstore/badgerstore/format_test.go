package badgerstore

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

func headerRow(h *layout.StoreHeader) commit.Write {
	return commit.Write{Value: layout.AppendStoreHeader(nil, h)}
}

// reopened is a store whose rows were changed and that was closed.
func reopened(t *testing.T, s *Store, writes map[string]commit.Write) (*Store, error) {
	t.Helper()
	rewrite(t, s, writes)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return Open(s.dir, Options{})
}

// TestAStoreKeepsItsID: made at the first start, in the commit of the format, which has its number alone: a version that knows no header reads
// that and refuses the store.
func TestAStoreKeepsItsID(t *testing.T) {
	s := openStore(t, Options{})
	id, rows := s.Info().ID, allRows(t, s)
	if len(rows) != 2 || !bytes.Equal(rows[string(formatKey)], []byte{2}) || s.source.Versions.Last() != 1 {
		t.Errorf("a new store has %x, as of commit %d", rows, s.source.Versions.Last())
	}
	if other := openStore(t, Options{}).Info().ID; id == other || id == (chainstore.StoreID{}) || len(id.String()) != 32 {
		t.Errorf("the ids of two stores are %s and %s", id, other)
	}
	put(t, s, node(nil, "x"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, s.dir, Options{})
	if got := again.Info().ID; got != id || again.source.Versions.Last() != s.source.Versions.Last() {
		t.Errorf("opened again it is %s, was %s; the last commit %d, was %d", got, id, again.source.Versions.Last(), s.source.Versions.Last())
	}
}

// TestAStoreWithoutAHeaderGetsOne, of this format as of an earlier one; nothing else is written.
func TestAStoreWithoutAHeaderGetsOne(t *testing.T) {
	for format := uint64(layout.FirstFormatVersion); format <= layout.FormatVersion; format++ {
		s := openStore(t, Options{})
		put(t, s, node(nil, "x"))
		before := allRows(t, s)
		s, err := reopened(t, s, map[string]commit.Write{string(formatKey): number(format), string(headerKey): gone})
		if err != nil {
			t.Fatal(err)
		}
		after := allRows(t, s)
		if id := s.Info().ID; id == (chainstore.StoreID{}) || !bytes.HasPrefix(after[string(headerKey)], id[:]) {
			t.Errorf("format %d: the id is %s, the row %x", format, id, after[string(headerKey)])
		}
		delete(before, string(headerKey))
		delete(after, string(headerKey))
		if found, _ := verifyStore(t, s); found != nil || !sameRows(before, after) {
			t.Errorf("format %d: verify found %q, and the rows are %x, were %x", format, found, after, before)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func sameRows(a, b map[string][]byte) bool {
	for key, value := range a {
		if !bytes.Equal(b[key], value) {
			return false
		}
	}
	return len(a) == len(b)
}

// TestAnUnknownFeature that is required is refused and named; one that is not is kept, with whatever a later version has behind, and
// the rows that come with it are no problem.
func TestAnUnknownFeature(t *testing.T) {
	s := openStore(t, Options{})
	put(t, s, node(nil, "x"))
	later := layout.StoreHeader{ID: s.Info().ID, Optional: []string{"feeds"}, Rest: []byte("later")}
	rows := map[string]commit.Write{string(headerKey): headerRow(&later)}
	for _, ns := range []uint32{layout.OwnNamespace, layout.FirstNamespace} {
		rows[string(layout.TableKey(ns, 'q'))+"x"] = commit.Write{Value: []byte("later")}
	}
	s, err := reopened(t, s, rows)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, node(nil, "y"))
	if found, _ := verifyStore(t, s); found != nil || len(s.Info().Features) != 1 || s.Info().Features[0] != "feeds" {
		t.Errorf("verify found %q, the store says %+v", found, s.Info())
	}
	for key, w := range rows {
		if got := allRows(t, s)[key]; !bytes.Equal(got, w.Value) {
			t.Errorf("the row %x is %x, was %x", key, got, w.Value)
		}
	}
	later.Required = []string{"receipts", "quotas"}
	_, err = reopened(t, s, map[string]commit.Write{string(headerKey): headerRow(&later)})
	if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), `["receipts" "quotas"]: open it with the version that wrote it`) {
		t.Errorf("error is %v", err)
	}
}

// TestANewerStoreIsLeftAlone: a store of a later format, or with a feature that is required, is refused, and no byte of its files changes,
// whether it was closed or killed, and whole or damaged: it is neither opened nor repaired.
func TestANewerStoreIsLeftAlone(t *testing.T) {
	later := &layout.StoreHeader{ID: chainstore.StoreID{1}, Required: []string{"receipts"}}
	for name, c := range map[string]struct {
		rows map[string]commit.Write
		want string
	}{
		"format":  {map[string]commit.Write{string(formatKey): number(3), string(headerKey): {Value: []byte("of format 3")}}, "has format 3, this version reads 1 to 2"},
		"feature": {map[string]commit.Write{string(headerKey): headerRow(later)}, `features that this version does not know: ["receipts"]`},
	} {
		dir := t.TempDir()
		unpack(t, goldenArchive(layout.FormatVersion), dir)
		s := openAt(t, dir, Options{MemtableBytes: 1 << 20})
		rewrite(t, s, c.rows)
		killed := copied(t, dir)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		damaged := copied(t, killed)
		if err := os.WriteFile(filepath.Join(damaged, "7.mem"), nil, 0o600); err != nil { // no log has this name: a repair would set it aside
			t.Fatal(err)
		}
		for state, dir := range map[string]string{"killed": killed, "closed": dir, "damaged": damaged} {
			before := filesIn(t, dir)
			_, err := Open(dir, Options{})
			for what, err := range map[string]error{"open": err, "repair": Repair(dir, Options{}, false, func(string) {})} {
				if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s, %s: the error of %s is %v", name, state, what, err)
				}
			}
			if after := filesIn(t, dir); !maps.Equal(before, after) {
				t.Errorf("%s, %s: the files were %v, are %v", name, state, before, after)
			}
		}
	}
}

// filesIn are the files of a directory, by a hash of what is in them.
func filesIn(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][sha256.Size]byte{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = sha256.Sum256(b)
	}
	return files
}

func TestAHeaderOfNonsense(t *testing.T) {
	for name, value := range map[string][]byte{
		"empty": nil, "no id": make([]byte, 18), "cut short": append(bytes.Repeat([]byte{1}, 16), 0), "an empty name": append(bytes.Repeat([]byte{1}, 16), 1, 0, 0),
	} {
		_, err := reopened(t, openStore(t, Options{}), map[string]commit.Write{string(headerKey): {Value: value}})
		if !errors.Is(err, chainstore.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVerifyNamesVersions: a row of a version to come is one problem that says so, and no crash; other nodes are checked.
func TestVerifyNamesVersions(t *testing.T) {
	s, rows := goldenRows(t)
	tables := byTable(rows)
	for name, c := range map[string]struct {
		table byte
		later func(value []byte) []byte
		want  string
	}{
		"alias":     {layout.TableAliases, func(b []byte) []byte { b[0]++; return b }, "a row of table A is of version 3"},
		"history":   {layout.TableHistory, func(b []byte) []byte { b[0]++; return b }, "a row of table H is of version 3"},
		"tools":     {layout.TableTools, func(b []byte) []byte { b[1]++; return b }, "a row of table U is of version 3"},
		"variables": {layout.TableVariables, func(b []byte) []byte { b[1] += 2; return b }, "a row of table V is of version 4"},
		"kind":      {layout.TableNodes, func(b []byte) []byte { b[0] = 65; return b }, "a row of table S is of kind 65"},
		"header": {layout.TableNodes, func(b []byte) []byte {
			r, _, err := layout.ParseRow(b)
			if err != nil {
				t.Fatal(err)
			}
			r.Header[0] = 3
			return layout.AppendRow(nil, &r)
		}, "a header of version 3"},
	} {
		key := sample(tables[c.table], 1)[0]
		rewrite(t, s, map[string]commit.Write{key: {Value: c.later(bytes.Clone(rows[key]))}})
		found := problems(t, s, "default", goldenJudge)
		if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, c.want+", which this program does not know") }) {
			t.Errorf("%s: verify found %q, want %q", name, found, c.want)
		}
		rewrite(t, s, map[string]commit.Write{key: {Value: rows[key]}})
	}
}

// TestWhatALaterProgramKeeps: what it adds to a node's header, to an alias and to the counters changes nothing that this one tells, is no
// problem, and is there when the rows are written again.
func TestWhatALaterProgramKeeps(t *testing.T) {
	s := openStore(t, Options{})
	id := put(t, s, node(nil, "x"))[0].ID
	commitAliases(t, s, setAlias("a", id, chainstore.Condition{}))
	before, rows := storedHeader(t, s, id), allRows(t, s)
	nodeKey := string(layout.PlaceKey(1, layout.TableNodes, chainstore.Place{Segment: 1}))
	aliasKey, countersKey := string(layout.AliasKey(1, "a")), string(layout.CountersKey(1))
	r, _, err := layout.ParseRow(rows[nodeKey])
	if err != nil {
		t.Fatal(err)
	}
	later := *before
	later.Extension = "\x01\x01\x07" + "\xc8\x01\x05later"
	r.Header = chainstore.AppendHeader(nil, &later)
	counters, err := layout.ParseCounters(rows[countersKey])
	if err != nil {
		t.Fatal(err)
	}
	counters.Rest = "later"
	s, err = reopened(t, s, map[string]commit.Write{
		nodeKey:     {Value: layout.AppendRow(nil, &r)},
		aliasKey:    {Value: append(bytes.Clone(rows[aliasKey]), "later"...)},
		countersKey: {Value: layout.AppendCounters(nil, &counters)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustBeClean(t, s)
	next := put(t, s, node(&id, "y"))[0].ID
	commitAliases(t, s, setAlias("a", next, chainstore.Condition{}))
	mustBeClean(t, s)
	after := *storedHeader(t, s, id)
	if after.Extension != later.Extension {
		t.Errorf("the extension is %q", after.Extension)
	}
	if after.Extension = ""; !reflect.DeepEqual(&after, before) {
		t.Errorf("the header is %+v, was %+v", &after, before)
	}
	if child := storedHeader(t, s, next); child.Extension != "" {
		t.Errorf("a child has %q", child.Extension)
	}
	rows = allRows(t, s)
	if counters, err = layout.ParseCounters(rows[countersKey]); err != nil || counters.Rest != "later" || counters.Nodes != 2 {
		t.Errorf("the counters are %+v, %v", counters, err)
	}
	if a, err := layout.ParseAlias(rows[aliasKey]); err != nil || string(a.Rest) != "later" || a.States != 2 {
		t.Errorf("the alias is %+v, %v", a, err)
	}
}

func storedHeader(t *testing.T, s *Store, id chainstore.ID) *chainstore.Header {
	t.Helper()
	c, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: id}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Head()
}
