package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/verify"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// derivedTables are those that Rederive makes again.
const derivedTables = "IKRUVWXTPC"

// rederived runs rederive on the golden namespace and returns what it found.
func rederived(tb testing.TB, s *Store) (found []chainstore.Problem) {
	tb.Helper()
	err := s.rederive(context.Background(), chainstore.Check{Namespace: "default"}, goldenJudge, func(r chainstore.VerifyReport) error {
		found = append(found, r.Problems...)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// foundIn are the problems of the golden namespace.
func foundIn(tb testing.TB, s *Store) (all []chainstore.Problem) {
	tb.Helper()
	err := s.Verify(context.Background(), chainstore.Check{Namespace: "default"}, goldenJudge, func(r chainstore.VerifyReport) error {
		all = append(all, r.Problems...)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// differing are the keys whose rows are not the same in both.
func differing(a, b map[string][]byte) (keys []string) {
	for key, value := range a {
		if other, ok := b[key]; !ok || !bytes.Equal(value, other) {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// kindOf is the kind of a problem of a damaged row of a table.
func kindOf(table byte) chainstore.ProblemKind {
	if table == layout.TableCounters {
		return chainstore.ProblemCounters
	}
	return chainstore.ProblemIndex
}

// TestRederiveMakesEveryRowAgain loses, spoils and adds rows of every table that follows from others: each is told by its kind and put right,
// byte for byte.
func TestRederiveMakesEveryRowAgain(t *testing.T) {
	s, rows := goldenRows(t)
	for table, keys := range byTable(rows) {
		if strings.IndexByte(derivedTables, table) < 0 {
			continue
		}
		for _, key := range sample(keys, 3) {
			writes := []commit.Write{{Deleted: true}}
			for _, spoilt := range spoilings(rows[key]) {
				writes = append(writes, commit.Write{Value: spoilt})
			}
			if table == layout.TableCounters {
				writes = writes[:2] // what is behind may be the floor, and higher numbers are left out
			}
			for i, w := range writes {
				rewrite(t, s, map[string]commit.Write{key: w})
				name := fmt.Sprintf("row %c %x, damage %d", table, key, i)
				mustBeMended(t, s, rows, name, kindOf(table))
			}
		}
	}
}

// mustBeMended checks that what is damaged is told, as a problem of a kind among others, and put right.
func mustBeMended(t *testing.T, s *Store, rows map[string][]byte, name string, kind chainstore.ProblemKind) {
	t.Helper()
	if !slices.ContainsFunc(foundIn(t, s), func(p chainstore.Problem) bool { return p.Kind == kind && !p.Repaired }) {
		t.Errorf("%s: no problem of kind %s", name, kind)
	}
	for _, p := range rederived(t, s) {
		if !p.Repaired {
			t.Errorf("%s: not repaired: %s", name, p.What)
		}
	}
	if left := foundIn(t, s); left != nil {
		t.Errorf("%s: verify finds %v", name, left)
	}
	if off := differing(rows, allRows(t, s)); off != nil && off[0] != string(layout.CountersKey(1)) { // numbers may be left out
		t.Errorf("%s: %d rows are not as they were, %x", name, len(off), off[0])
	}
	restore(t, s, rows)
}

// TestRederiveTakesRowsAway adds rows that nothing accounts for, whose node or alias is there.
func TestRederiveTakesRowsAway(t *testing.T) {
	s, rows := goldenRows(t)
	const ns = 1
	root := chainstore.Place{Segment: 1}
	var name string
	var alias *layout.AliasRow
	for _, key := range byTable(rows)[layout.TableAliases] {
		if a, err := layout.ParseAlias(rows[key]); err == nil && !a.Deleted {
			name, alias = layout.ParseAliasKey([]byte(key)), a
		}
	}
	for what, row := range map[string]layout.KeyValue{
		"id":        {Key: layout.IDKey(ns, chainstore.ID{1}), Value: layout.AppendPlaceValue(nil, root)},
		"no id":     {Key: append(layout.IDKey(ns, chainstore.ID{1}), 1), Value: layout.AppendPlaceValue(nil, root)},
		"moved":     {Key: layout.MovedKey(ns, "", name, alias.MovedAt+1)},
		"head":      {Key: layout.HeadKey(ns, chainstore.Place{Segment: alias.At.Segment + 77}, name)},
		"spawned":   {Key: layout.SpawnedKey(ns, chainstore.ID{1}, 3), Value: layout.AppendPlaceValue(nil, root)},
		"by place":  {Key: layout.SpawnedAtKey(ns, root, 3), Value: layout.AppendPlaceValue(nil, root)},
		"recall":    {Key: layout.RecallKey(ns, root, derive.CallKey{1}), Value: layout.AppendRecall(nil, &derive.Recall{})},
		"tools":     {Key: append(layout.PlaceKey(ns, layout.TableTools, root), 1), Value: layout.AppendTools(nil, &chainstore.Tables{})},
		"variables": {Key: append(layout.PlaceKey(ns, layout.TableVariables, root), 1)},
	} {
		if _, there := rows[string(row.Key)]; there {
			t.Fatalf("%s: the row is there", what)
		}
		rewrite(t, s, map[string]commit.Write{string(row.Key): {Value: append([]byte{}, row.Value...)}})
		mustBeMended(t, s, rows, what, chainstore.ProblemIndex)
	}
	rewrite(t, s, map[string]commit.Write{string(layout.CountersKey(ns)) + "x": {Value: []byte{1}}})
	mustBeMended(t, s, rows, "counters", chainstore.ProblemCounters)
}

// TestRederiveMakesHeadersAgain spoils folds in headers of the golden store, one at a time and all at once.
func TestRederiveMakesHeadersAgain(t *testing.T) {
	s, rows := goldenRows(t)
	all := map[string]commit.Write{}
	for _, key := range byTable(rows)[layout.TableNodes] {
		at, chunk, err := layout.ParseNodeKey([]byte(key))
		if err != nil || chunk != 0 || len(rows[key]) == 0 {
			continue
		}
		r, _, err := layout.ParseRow(rows[key])
		if err != nil {
			t.Fatal(err)
		}
		h, err := r.Header.Decode(at.Seq)
		if err != nil {
			t.Fatal(err)
		}
		h.State.Full.Bytes++
		r.Header = chainstore.AppendHeader(nil, h)
		all[key] = commit.Write{Value: layout.AppendRow(nil, &r)}
	}
	for _, key := range sample(slices.Sorted(maps.Keys(all)), 12) {
		rewrite(t, s, map[string]commit.Write{key: all[key]})
		mustBeMended(t, s, rows, fmt.Sprintf("header %x", key), chainstore.ProblemFold)
	}
	rewrite(t, s, all)
	mustBeMended(t, s, rows, "all headers", chainstore.ProblemFold)
}

// TestRederiveLeavesWhatWasPut: nodes, aliases, their history, settings and times of puts that are damaged are told, and stay as they are;
// so do rows of indexes that tell what is lost.
func TestRederiveLeavesWhatWasPut(t *testing.T) {
	s, rows := goldenRows(t)
	kinds := map[byte][]chainstore.ProblemKind{
		layout.TableNodes:   {chainstore.ProblemNode, chainstore.ProblemContent, chainstore.ProblemIndex, chainstore.ProblemFold},
		layout.TableAliases: {chainstore.ProblemAlias, chainstore.ProblemIndex},
		layout.TableHistory: {chainstore.ProblemAlias},
		layout.TableLastPut: {chainstore.ProblemLastPut},
	}
	for table, want := range kinds {
		for _, key := range sample(byTable(rows)[table], 4) {
			for i, w := range []commit.Write{{Deleted: true}, {Value: rows[key][:len(rows[key])-1]}} {
				if table == layout.TableLastPut && i == 0 {
					continue // nothing follows from its absence
				}
				rewrite(t, s, map[string]commit.Write{key: w})
				damaged := allRows(t, s)
				before := foundIn(t, s)
				if !slices.ContainsFunc(before, func(p chainstore.Problem) bool { return slices.Contains(want, p.Kind) }) {
					t.Errorf("row %x, damage %d: %v", key, i, before)
				}
				rederived(t, s)
				for _, off := range differing(damaged, allRows(t, s)) {
					if _, was := damaged[off]; was && strings.IndexByte("CUVR", off[layout.KeyPrefix-1]) < 0 && off[layout.KeyPrefix-1] != layout.TableNodes {
						t.Errorf("row %x, damage %d: row %x is not as it was", key, i, off)
					}
				}
				if left := foundIn(t, s); left == nil {
					t.Errorf("row %x, damage %d: verify finds nothing", key, i)
				}
				restore(t, s, rows)
			}
		}
	}
}

// restore makes the rows of a store those again.
func restore(t *testing.T, s *Store, rows map[string][]byte) {
	t.Helper()
	writes := map[string]commit.Write{}
	for _, key := range differing(rows, allRows(t, s)) {
		value, there := rows[key]
		writes[key] = commit.Write{Value: value, Deleted: !there}
	}
	if len(writes) > 0 {
		rewrite(t, s, writes)
	}
}

// TestRederiveOfManyDamages damages many rows at once, at random, and ends the repair behind each of its first commits: it goes on, and in
// the end every row is as it was.
func TestRederiveOfManyDamages(t *testing.T) {
	s, rows := goldenRows(t)
	var derived []string
	for table, keys := range byTable(rows) {
		if strings.IndexByte(derivedTables, table) >= 0 && table != layout.TableSpawned {
			derived = append(derived, keys...)
		}
	}
	slices.Sort(derived)
	random := rand.New(rand.NewPCG(3, 4))
	stop := errors.New("stop")
	for round := range 12 {
		damage := map[string]commit.Write{}
		for range 1 + random.IntN(40) {
			key := derived[random.IntN(len(derived))]
			damage[key] = commit.Write{Deleted: true}
			if all := spoilings(rows[key]); random.IntN(2) == 0 && key[layout.KeyPrefix-1] != layout.TableCounters {
				damage[key] = commit.Write{Value: all[random.IntN(len(all))]}
			}
		}
		rewrite(t, s, damage)
		for commits := range 4 {
			left := commits
			v := verify.Verifier{
				Source: s.source, Now: s.now, Judge: goldenJudge, Report: func(chainstore.VerifyReport) error { return nil },
				Mend: func(rows map[string][]byte) error {
					if left--; left < 0 {
						return stop
					}
					return s.rewriteRows(t.Context(), rows)
				},
			}
			if err := v.Verify(t.Context(), chainstore.Check{Namespace: "default"}); err != nil && !errors.Is(err, stop) {
				t.Fatal(err)
			}
		}
		rederived(t, s)
		if left := foundIn(t, s); left != nil {
			t.Errorf("round %d: verify finds %v", round, left)
		}
		if off := differing(rows, allRows(t, s)); off != nil {
			t.Fatalf("round %d: %d rows are not as they were, %x", round, len(off), off[0])
		}
	}
}

// TestVerifyAgreesWithASlowModel: of rows by id that are lost, changed or too many, at random, it tells exactly those.
func TestVerifyAgreesWithASlowModel(t *testing.T) {
	s, rows := goldenRows(t)
	ids := byTable(rows)[layout.TableIDs]
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 20 {
		damage, lost, changed, added := map[string]commit.Write{}, 0, 0, 0
		for _, key := range ids {
			switch random.IntN(20) {
			case 0:
				damage[key] = commit.Write{Deleted: true}
				lost++
			case 1:
				damage[key] = commit.Write{Value: append(bytes.Clone(rows[key]), 0)}
				changed++
			case 2:
				damage[key[:len(key)-1]+"!"] = commit.Write{Value: rows[key]}
				if key[len(key)-1] != '!' {
					added++
				}
			}
		}
		if len(damage) == 0 {
			continue
		}
		rewrite(t, s, damage)
		got := map[string]int{}
		for _, p := range foundIn(t, s) {
			if strings.HasPrefix(p.What, "an entry of table I") || strings.HasPrefix(p.What, "table I has") { // some rows are read by others
				got[p.What]++
			}
		}
		want := map[string]int{"an entry of table I is missing": lost, "an entry of table I differs from what it should be": changed}
		if n := added + changed; n > 0 { // one whose place cannot be read is of no node that it names
			want[fmt.Sprintf("table I has %d entries that nothing accounts for", n)] = 1
		}
		maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
		if !maps.Equal(got, want) {
			t.Fatalf("round %d: found %v, want %v", round, got, want)
		}
		restore(t, s, rows)
	}
}

// TestRederiveOfAFolder: it opens the store itself, and refuses a cursor.
func TestRederiveOfAFolder(t *testing.T) {
	s, rows := goldenRows(t)
	rewrite(t, s, map[string]commit.Write{byTable(rows)[layout.TableIDs][0]: {Deleted: true}, string(layout.CountersKey(1)): {Deleted: true}})
	dir := s.dir
	report := func(chainstore.VerifyReport) error { return nil }
	if err := Rederive(t.Context(), dir, Options{}, chainstore.Check{WholeStore: true}, goldenJudge, report); !errors.Is(err, ErrLocked) {
		t.Errorf("beside a store that is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Rederive(t.Context(), dir, Options{}, chainstore.Check{WholeStore: true, Cursor: []byte{1}}, goldenJudge, report); !errors.Is(err, chainstore.ErrBadCursor) {
		t.Errorf("with a cursor: %v", err)
	}
	if err := Rederive(t.Context(), dir, Options{}, chainstore.Check{WholeStore: true}, goldenJudge, report); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	if off := differing(rows, allRows(t, s)); len(off) > 1 || foundIn(t, s) != nil {
		t.Errorf("%d rows are not as they were, %x", len(off), off[0])
	}
}

// TestVerifyFindsWhatARepairFinds: what is lost or changed of rows that nothing else is derived from, at random, is told by sums as it is row
// by row.
func TestVerifyFindsWhatARepairFinds(t *testing.T) {
	s, rows := goldenRows(t)
	var keys []string
	for table, all := range byTable(rows) {
		if strings.IndexByte("IKTP", table) >= 0 {
			keys = append(keys, all...)
		}
	}
	slices.Sort(keys)
	random := rand.New(rand.NewPCG(7, 8))
	told := func(problems []chainstore.Problem) (lines []string) {
		for _, p := range problems {
			if strings.HasPrefix(p.What, "an entry of table") && !strings.Contains(p.What, "table X") {
				lines = append(lines, p.Node.String()+" "+p.What)
			}
		}
		slices.Sort(lines)
		return lines
	}
	for round := range 20 {
		damage := map[string]commit.Write{}
		for range 1 + random.IntN(60) {
			key := keys[random.IntN(len(keys))]
			damage[key] = commit.Write{Deleted: true}
			if all := spoilings(rows[key]); random.IntN(2) == 0 {
				damage[key] = commit.Write{Value: all[random.IntN(len(all))]}
			}
		}
		rewrite(t, s, damage)
		bySums, byRows := told(foundIn(t, s)), told(rederived(t, s))
		if !slices.Equal(bySums, byRows) || len(bySums) != len(damage) {
			t.Fatalf("round %d: %d damages, found %q, and row by row %q", round, len(damage), bySums, byRows)
		}
		if off := differing(rows, allRows(t, s)); off != nil {
			t.Fatalf("round %d: %d rows are not as they were, %x", round, len(off), off[0])
		}
	}
}

// TestRederiveBesideADamagedFile: what the file hides is not counted, so counters stay, and no node is written.
func TestRederiveBesideADamagedFile(t *testing.T) {
	dir := storeOfOneTable(t)
	file := filepath.Join(dir, "000001.sst")
	table, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks, tried := len(table)-indexBytes(table), 0
	for i := range 8 {
		spoilt := bytes.Clone(table)
		spoilt[i*blocks/8+9] ^= 4
		if err := os.WriteFile(file, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		other := copied(t, dir)
		s, err := Open(other, Options{})
		if err != nil {
			continue
		}
		before := allRows(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		tried++
		err = Rederive(t.Context(), other, Options{}, chainstore.Check{WholeStore: true}, storetest.Simple().Judge, func(r chainstore.VerifyReport) error {
			for _, p := range r.Problems {
				if p.Repaired && p.Kind == chainstore.ProblemCounters {
					t.Errorf("flip %d: the counters are made anew", i)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s = openAt(t, other, Options{})
		after := allRows(t, s)
		for key, value := range before {
			now, there := after[key]
			if kind := key[layout.KeyPrefix-1]; strings.IndexByte("SC", kind) >= 0 && there && !bytes.Equal(value, now) {
				t.Errorf("flip %d: row %x is another", i, key)
			}
		}
	}
	if tried == 0 {
		t.Error("no store was opened")
	}
}

// TestRederiveGivesNoSegmentAgain: counters that are made anew are above the segments of nodes that are lost, too.
func TestRederiveGivesNoSegmentAgain(t *testing.T) {
	s := openStore(t, Options{})
	var last chainstore.ID
	for i := range 5 {
		last = put(t, s, node(nil, fmt.Sprint("root ", i)))[0].ID
	}
	before := storedCounters(t, s)
	rewrite(t, s, map[string]commit.Write{
		string(layout.PlaceKey(1, layout.TableNodes, chainstore.Place{Segment: before.NextSegment})): {Deleted: true}, string(layout.CountersKey(1)): {Deleted: true},
	})
	dir := s.dir
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Rederive(t.Context(), dir, Options{}, chainstore.Check{WholeStore: true}, storetest.Simple().Judge, func(chainstore.VerifyReport) error { return nil }); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, Options{})
	if c := storedCounters(t, s); c.NextSegment < before.NextSegment || c.Nodes != 4 {
		t.Errorf("the counters are %+v, and were %+v", c, before)
	}
	put(t, s, node(nil, "another"))
	if _, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: last}, nil); !errors.Is(err, chainstore.ErrCorrupt) {
		t.Errorf("of the node that is lost: %v", err)
	}
}
