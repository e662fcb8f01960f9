package badgerstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/verify"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// verifyStore is what VerifyStore finds, as namespace and problem, and its last report.
func verifyStore(tb testing.TB, s *Store) (found []string, last chainstore.VerifyReport) {
	tb.Helper()
	err := s.Verify(context.Background(), chainstore.Check{WholeStore: true}, storetest.Simple().Judge, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			found = append(found, p.Namespace+": "+p.What)
		}
		last = r
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found, last
}

// TestVerifyStoreFinds damages rows of the store's own, and of namespaces: each is one problem, or as many as are told.
func TestVerifyStoreFinds(t *testing.T) {
	row := commit.Write{Value: []byte{1}}
	rowsOf := func(numbers ...uint32) map[string]commit.Write {
		writes := map[string]commit.Write{}
		for _, n := range numbers {
			for i := range 50 {
				writes[string(layout.PlaceKey(n, layout.TableNodes, chainstore.Place{Segment: uint64(i), Seq: 0}))] = row
			}
		}
		return writes
	}
	for name, c := range map[string]struct {
		writes map[string]commit.Write
		found  []string
	}{
		"a name is lost": {map[string]commit.Write{nameRow(2): gone}, []string{": namespace number 2 has rows and no name"}},
		"names are lost": {map[string]commit.Write{nameRow(1): gone, nameRow(3): gone}, []string{
			": namespace number 1 has rows and no name", ": namespace number 3 has rows and no name",
		}},
		"rows above the last": {rowsOf(4, 9), []string{": namespace number 4 has rows and no name", ": namespace number 9 has rows and no name"}},
		"numbers of nothing":  {map[string]commit.Write{numbersKey: number(1_000_000)}, []string{": numbers 4 to 1000000 given to a namespace, with neither"}},
		"rows among them": {merged(rowsOf(6), map[string]commit.Write{numbersKey: number(7)}), []string{
			": numbers 4 to 5 given to a namespace, with neither", ": namespace number 6 has rows and no name", ": number 7 given",
		}},
		"a number twice": {map[string]commit.Write{nameRow(3): number(2)}, []string{
			": the names of namespaces do not agree with their numbers: number 2 has two", ": namespace number 3 has rows and no name",
		}},
		"an older last number": {map[string]commit.Write{numbersKey: number(2)}, []string{": the names of namespaces do not agree with their numbers: the last number"}},
		"no last number":       {map[string]commit.Write{numbersKey: gone}, []string{": the names of namespaces do not agree with their numbers: the last number"}},
		"a last number of nonsense": {map[string]commit.Write{numbersKey: {Value: []byte{0xff}}}, []string{
			": the names of namespaces do not agree with their numbers: the last number given cannot", ": the names of namespaces do not agree with their numbers: the last number",
		}},
		"a last number more":   {map[string]commit.Write{numbersKey + "x": row}, []string{": table Z has 1 entries that nothing"}},
		"no format":            {map[string]commit.Write{string(formatKey): gone}, []string{": the format version is missing"}},
		"another format":       {map[string]commit.Write{string(formatKey): number(3)}, []string{": the store has format 3, which this program does not know"}},
		"a format of nonsense": {map[string]commit.Write{string(formatKey): {Value: []byte{0xff}}}, []string{": the format version is missing, or cannot be read"}},
		"no header":            {map[string]commit.Write{string(headerKey): gone}, []string{": the store's header is missing, or is another's"}},
		"another's header": {map[string]commit.Write{string(headerKey): headerRow(&layout.StoreHeader{ID: chainstore.StoreID{1}})}, []string{
			": the store's header is missing, or is another's",
		}},
		"a header of nonsense": {map[string]commit.Write{string(headerKey): row}, []string{": the store's header is missing, or is another's"}},
		"a header more":        {map[string]commit.Write{string(headerKey) + "x": row}, []string{": table D has 1 entries that nothing"}},
		"a table of its own":   {map[string]commit.Write{string(layout.TableKey(0, 'Q')): row, string(layout.TableKey(0, 'Q')) + "x": row}, []string{": there are rows of table 'Q', which there is not"}},
		"a table of another":   {map[string]commit.Write{string(layout.TableKey(0, layout.TableNodes)): row}, []string{": there are rows of table 'S'"}},
		"a table in a namespace": {map[string]commit.Write{string(layout.TableKey(2, 'a')): row, string(layout.TableKey(2, 'a')) + "x": row, string(layout.TableKey(2, 0)): row, string(layout.TableKey(2, 255)): row}, []string{
			"secret-2: there are rows of table '\\x00'", "secret-2: there are rows of table 'a'", "secret-2: there are rows of table 'ÿ'",
		}},
		"no table":           {map[string]commit.Write{string(layout.TableKey(2, 0)[:4]): row}, []string{"secret-2: a key ends before its table"}},
		"token keys of none": {map[string]commit.Write{string(layout.TokenKeysKey()): {Value: []byte{0}}}, []string{": the keys of page tokens cannot be read"}},
		"token keys cut short": {map[string]commit.Write{string(layout.TokenKeysKey()): {Value: layout.AppendTokenKeys(nil, &layout.TokenKeys{
			TokenKeys: chainstore.TokenKeys{Current: chainstore.TokenKey{Version: 1}},
		})[:20]}}, []string{": the keys of page tokens cannot be read"}},
		"token keys twice": {map[string]commit.Write{string(layout.TokenKeysKey()) + "x": row}, []string{": table Y has 1 entries that nothing"}},
		"counters twice":   {map[string]commit.Write{string(layout.CountersKey(2)) + "x": row}, []string{"secret-2: table C has 1 entries that nothing"}},
		"counters lost":    {map[string]commit.Write{string(layout.CountersKey(2)): gone}, []string{"secret-2: stored bytes are corrupt: a namespace has no row in table C"}},
		"a whole namespace": {map[string]commit.Write{
			string(layout.CountersKey(2)): gone, string(layout.PlaceKey(2, layout.TableNodes, chainstore.Place{Segment: 1, Seq: 0})): gone, string(layout.IDKey(2, storedID)): gone,
		}, []string{"secret-2: stored bytes are corrupt: a namespace has no row in table C"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := threeNamespaces(t)
			if found, last := verifyStore(t, s); found != nil || last.Namespaces != 3 || last.Nodes != 3 || last.Namespace != "" {
				t.Fatalf("before anything was done: %q, %+v", found, last)
			}
			rewrite(t, s, c.writes)
			found, _ := verifyStore(t, s)
			for i := range max(len(found), len(c.found)) {
				if i >= len(found) || i >= len(c.found) || !strings.HasPrefix(found[i], c.found[i]) {
					t.Fatalf("found %q, want %q", found, c.found)
				}
			}
		})
	}
}

// storedID is that of the node in each of threeNamespaces.
var storedID = func() chainstore.ID { n := node(nil, "x"); return n.Identify(nil) }()

func merged(all ...map[string]commit.Write) map[string]commit.Write {
	out := map[string]commit.Write{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// TestVerifyStoreGoesOn: problems of one namespace do not keep others from being checked, and each names its namespace.
func TestVerifyStoreGoesOn(t *testing.T) {
	s, _ := threeNamespaces(t)
	for _, ns := range []uint32{1, 3} {
		rewrite(t, s, map[string]commit.Write{string(layout.IDKey(ns, storedID)): gone})
	}
	found, last := verifyStore(t, s)
	want := []string{"secret-1: an entry of table I is missing", "secret-3: an entry of table I is missing"}
	if !slices.Equal(found, want) || last.Namespaces != 3 || last.Nodes != 3 {
		t.Errorf("found %q, %+v", found, last)
	}
}

// TestVerifyStoreReports by the store's clock, for each namespace and for pages of names.
func TestVerifyStoreReports(t *testing.T) {
	const names = 2*verify.NamesAtOnce + 10
	at := time.Unix(1_700_000_000, 0)
	s := openStore(t, Options{Now: func() time.Time { at = at.Add(verify.ReportInterval); return at }})
	writes := map[string]commit.Write{numbersKey: number(names)}
	for i := uint64(1); i <= names; i++ {
		writes[string(layout.NameKey(fmt.Sprint("tenant-", i)))] = number(i)
		writes[string(layout.CountersKey(uint32(i)))] = commit.Write{Value: layout.AppendCounters(nil, &layout.Counters{})}
	}
	rewrite(t, s, writes)
	seen := map[string]bool{}
	err := s.Verify(t.Context(), chainstore.Check{WholeStore: true}, storetest.Simple().Judge, func(r chainstore.VerifyReport) error {
		seen[r.Namespace] = true
		if len(r.Problems) > 0 {
			t.Fatalf("%+v", r)
		}
		return nil
	})
	if err != nil || len(seen) != names+1 {
		t.Errorf("%d namespaces were told, %v", len(seen), err)
	}
	stop := errors.New("stop")
	if err := s.Verify(t.Context(), chainstore.Check{WholeStore: true}, storetest.Simple().Judge, func(chainstore.VerifyReport) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error is %v", err)
	}
}

// TestAFlippedBitIsNoticed flips a bit in many places of the blocks of a store's table: either the store does not open, or Verify of
// the store tells.
func TestAFlippedBitIsNoticed(t *testing.T) {
	dir := storeOfOneTable(t)
	file := filepath.Join(dir, "000001.sst")
	table, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks := len(table) - indexBytes(table)
	refused, told := 0, 0
	const flips = 24
	for i := range flips {
		at := i*blocks/flips + i%7
		spoilt := bytes.Clone(table)
		spoilt[at] ^= 1 << (i % 8)
		if err := os.WriteFile(file, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(copied(t, dir), Options{})
		if err != nil {
			refused++
			continue
		}
		found, _ := verifyStore(t, s)
		if slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, "000001.sst is damaged: block ") }) {
			told++
		} else {
			t.Errorf("nobody minds bit %d of byte %d: %q", i%8, at, found)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d flips in %d bytes of blocks: %d refused when the store is opened, %d told by Verify", flips, blocks, refused, told)
	if told < flips/2 {
		t.Errorf("%d refused, %d told", refused, told)
	}
}

// storeOfOneTable is the directory of a closed store whose table has some blocks.
func storeOfOneTable(t *testing.T) (dir string) {
	t.Helper()
	s := openStore(t, Options{})
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		text := make([]byte, 5000)
		for k := range text {
			text[k] = byte('a' + random.IntN(26))
		}
		if err := putIn(s, fmt.Sprint("secret-", i%4), node(nil, string(text))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.dir
}

// indexBytes is what follows the blocks in a table's file.
func indexBytes(table []byte) int {
	end := len(table)
	for range 2 {
		end -= 4 + int(binary.BigEndian.Uint32(table[end-4:]))
	}
	return len(table) - end
}

func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
