package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"maps"
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
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// goldenRows opens a copy of the golden store and returns its rows.
func goldenRows(tb testing.TB) (*Store, map[string][]byte) {
	tb.Helper()
	dir := tb.TempDir()
	unpack(tb, goldenArchive(layout.FormatVersion), dir)
	s := openAt(tb, dir, Options{})
	return s, allRows(tb, s)
}

// isOfTheStore tells whether a table is of namespace 0.
func isOfTheStore(table byte) bool { return strings.IndexByte(layout.OwnTables, table) >= 0 }

// TestVerifyFindsEveryLoss deletes rows of every table, one at a time.
func TestVerifyFindsEveryLoss(t *testing.T) {
	s, rows := goldenRows(t)
	if found := problems(t, s, "default", goldenJudge); found != nil {
		t.Fatalf("verify found %q before anything was done", found)
	}
	for table, keys := range byTable(rows) {
		if isOfTheStore(table) || table == layout.TableLastPut {
			continue // not the namespace's, or nothing follows from its absence
		}
		for _, key := range sample(keys, 6) {
			rewrite(t, s, map[string]commit.Write{key: {Deleted: true}})
			if problems(t, s, "default", goldenJudge) == nil {
				t.Errorf("nobody misses row %x", key)
			}
			rewrite(t, s, map[string]commit.Write{key: {Value: rows[key]}})
		}
	}
	if found := problems(t, s, "default", goldenJudge); found != nil {
		t.Fatalf("verify found %q after all was put back", found)
	}
}

func TestVerifyFindsSpoiltValues(t *testing.T) {
	s, rows := goldenRows(t)
	for table, keys := range byTable(rows) {
		if isOfTheStore(table) || table == layout.TableLastPut {
			continue
		}
		for _, key := range sample(keys, 3) {
			all := spoilings(rows[key])
			if table == layout.TableAliases || table == layout.TableHistory {
				all = all[:1] // where an alias pointed, and when, follows from nothing else, and a later version may add to the value
			}
			if table == layout.TableCounters {
				all = append(all[:1], spoiltCounters(t, rows[key])...) // what is behind may be the floor
			}
			for _, spoilt := range all {
				rewrite(t, s, map[string]commit.Write{key: {Value: spoilt}})
				if problems(t, s, "default", goldenJudge) == nil {
					t.Errorf("row %x may be %.100x instead of %.100x", key, spoilt, rows[key])
				}
			}
			rewrite(t, s, map[string]commit.Write{key: {Value: rows[key]}})
		}
	}
}

// spoiltCounters are counters of which one is lower. The first two may be higher: then numbers are left out.
func spoiltCounters(tb testing.TB, value []byte) (all [][]byte) {
	c, err := layout.ParseCounters(value)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range c.Fields() {
		lower := c
		*lower.Fields()[i]--
		all = append(all, layout.AppendCounters(nil, &lower))
	}
	return all
}

// spoilings are a value cut short, with something behind it, and with bytes changed near its start and its end.
func spoilings(value []byte) (all [][]byte) {
	if len(value) > 0 {
		all = append(all, value[:len(value)-1])
	}
	all = append(all, append(bytes.Clone(value), 1))
	for _, i := range []int{0, 1, len(value) / 2, len(value) - 1} {
		if i >= 0 && i < len(value) {
			changed := bytes.Clone(value)
			changed[i] ^= 1
			all = append(all, changed)
		}
	}
	return all
}

// TestVerifyFindsRowsTooMany adds a row that nothing accounts for to each table.
func TestVerifyFindsRowsTooMany(t *testing.T) {
	s, rows := goldenRows(t)
	ns := uint32(1)
	free, at := chainstore.Place{Segment: 9999, Seq: 3}, chainstore.Place{Segment: 1, Seq: 1}
	someRow := rows[string(layout.PlaceKey(ns, layout.TableNodes, at))]
	for name, w := range map[string]layout.KeyValue{
		"node":      {Key: layout.PlaceKey(ns, layout.TableNodes, free), Value: someRow},
		"twin":      {Key: layout.PlaceKey(ns, layout.TableNodes, chainstore.Place{Segment: 9999, Seq: 0}), Value: someRow},
		"chunk":     {Key: layout.ChunkKey(ns, at, 1), Value: []byte("x")},
		"id":        {Key: layout.IDKey(ns, chainstore.ID{1}), Value: layout.AppendPlaceValue(nil, at)},
		"alias":     {Key: layout.AliasKey(ns, "loose"), Value: layout.AppendAlias(nil, &layout.AliasRow{At: at, States: 1, Revision: 1, Began: 1})},
		"dangling":  {Key: layout.AliasKey(ns, "loose"), Value: layout.AppendAlias(nil, &layout.AliasRow{At: free, States: 1, Revision: 1, Began: 1})},
		"history":   {Key: layout.HistoryKey(ns, "loose", 1), Value: layout.AppendPastState(nil, &layout.PastState{Number: 1, Revision: 1, At: at})},
		"moved":     {Key: layout.MovedKey(ns, "chat", "chat/loose", 5), Value: nil},
		"head":      {Key: layout.HeadKey(ns, at, "chat/loose"), Value: nil},
		"fork":      {Key: layout.ForkKey(ns, at, 9999), Value: nil},
		"spawned":   {Key: layout.SpawnedKey(ns, chainstore.ID{1}, 3), Value: layout.AppendPlaceValue(nil, at)},
		"by place":  {Key: layout.SpawnedAtKey(ns, at, 3), Value: layout.AppendPlaceValue(nil, at)},
		"recall":    {Key: layout.RecallKey(ns, at, derive.CallKey{1}), Value: layout.AppendRecall(nil, &derive.Recall{})},
		"tools":     {Key: layout.PlaceKey(ns, layout.TableTools, at), Value: layout.AppendTools(nil, &chainstore.Tables{})},
		"variables": {Key: layout.PlaceKey(ns, layout.TableVariables, at), Value: nil},
		"last put":  {Key: layout.PlaceKey(ns, layout.TableLastPut, free), Value: layout.NumberValue(1)},
	} {
		if _, there := rows[string(w.Key)]; there {
			t.Fatalf("%s: the row is there", name)
		}
		rewrite(t, s, map[string]commit.Write{string(w.Key): {Value: append([]byte{}, w.Value...)}})
		if problems(t, s, "default", goldenJudge) == nil {
			t.Errorf("%s: nobody minds a row too many", name)
		}
		rewrite(t, s, map[string]commit.Write{string(w.Key): {Deleted: true}})
	}
	if found := problems(t, s, "default", goldenJudge); found != nil {
		t.Fatalf("verify found %q after all was put back", found)
	}
}

// Readers of spoilt rows fail with ErrCorrupt, and with nothing worse.
func TestReadersOfSpoiltRows(t *testing.T) {
	s, rows := goldenRows(t)
	ctx := context.Background()
	for _, key := range sample(byTable(rows)[layout.TableNodes], 30) {
		for _, spoilt := range [][]byte{{}, {0xff}, rows[key][:len(rows[key])/2], {layout.RowNode, 40}} {
			rewrite(t, s, map[string]commit.Write{key: {Value: spoilt}})
		}
	}
	ids, err := s.Find(ctx, "default", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	corrupt := 0
	for _, id := range ids {
		c, err := s.Chain(ctx, "default", chainstore.Ref{ID: id}, nil)
		if err == nil {
			err = c.Rows(ctx, []chainstore.Span{{Through: c.Head().Seq}}, func(*chainstore.Row) error { return nil })
		}
		if err == nil {
			continue
		}
		if corrupt++; !errors.Is(err, chainstore.ErrCorrupt) {
			t.Errorf("error is %v", err)
		}
	}
	if corrupt == 0 {
		t.Error("nothing was found corrupt")
	}
}

// TestVerifyFindsASpoiltDisk changes a byte in each tenth of the golden store's table. The database takes what it cannot
// read for absent: either it does not open, or Verify misses rows, or the byte did not matter.
func TestVerifyFindsASpoiltDisk(t *testing.T) {
	_, whole := goldenRows(t)
	for tenth := range 10 {
		dir := t.TempDir()
		unpack(t, goldenArchive(layout.FormatVersion), dir)
		tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
		if err != nil || len(tables) != 1 {
			t.Fatalf("%d tables, %v", len(tables), err)
		}
		table, err := os.ReadFile(tables[0])
		if err != nil {
			t.Fatal(err)
		}
		table[tenth*len(table)/10+17] ^= 0x10
		if err := os.WriteFile(tables[0], table, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, Options{})
		if err != nil {
			continue
		}
		found := problems(t, s, "default", goldenJudge)
		if rows := allRows(t, s); found == nil && !maps.EqualFunc(rows, whole, bytes.Equal) {
			t.Errorf("nobody misses the byte at %d tenths", tenth)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestVerifyReportsInPortions(t *testing.T) {
	s, _ := goldenRows(t)
	stray := map[string]commit.Write{}
	for i := range 2*chainstore.MaxProblems + 10 {
		stray[string(layout.ChunkKey(1, chainstore.Place{Segment: 10_000 + uint64(i), Seq: 0}, 1))] = commit.Write{Value: []byte{}}
	}
	rewrite(t, s, stray)
	reports, total := 0, 0
	err := s.Verify(context.Background(), chainstore.Check{Namespace: "default"}, goldenJudge, func(r chainstore.VerifyReport) error {
		if reports++; len(r.Problems) > chainstore.MaxProblems+10 {
			t.Errorf("%d problems in a report", len(r.Problems))
		}
		total += len(r.Problems)
		return nil
	})
	if err != nil || reports < 3 || total < 2*chainstore.MaxProblems {
		t.Errorf("%d problems in %d reports, %v", total, reports, err)
	}
}

// byTable sorts the keys of namespace 1 and of the store by table.
func byTable(rows map[string][]byte) map[byte][]string {
	out := map[byte][]string{}
	for key := range rows {
		if key[3] <= 1 {
			out[key[layout.KeyPrefix-1]] = append(out[key[layout.KeyPrefix-1]], key)
		}
	}
	for _, keys := range out {
		slices.Sort(keys)
	}
	return out
}

// sample takes n of keys, evenly.
func sample(keys []string, n int) (some []string) {
	for i := range min(n, len(keys)) {
		some = append(some, keys[i*len(keys)/min(n, len(keys))])
	}
	return some
}

// TestVerifyReportsByTheStoresClock: while the clock stands still there is one report, however long that takes; one that
// jumps makes a report of each row.
func TestVerifyReportsByTheStoresClock(t *testing.T) {
	at, step := time.Unix(1_700_000_000, 0), time.Duration(0)
	s := openStore(t, Options{Now: func() time.Time {
		at = at.Add(step)
		return at
	}})
	put(t, s, node(nil, "root"), node(nil, "another"))
	reports := func() (n int) {
		if err := s.Verify(t.Context(), chainstore.Check{Namespace: testNamespace}, storetest.Simple().Judge, func(chainstore.VerifyReport) error {
			n++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := reports(); n != 1 {
		t.Errorf("%d reports where no time passes", n)
	}
	step = verify.ReportInterval
	if n := reports(); n < 3 {
		t.Errorf("%d reports where time passes with every row", n)
	}
}
