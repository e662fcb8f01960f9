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
)

// maxOfOneRow is how many problems one damaged row may be: its own, that of the node or alias that it belongs to, and for each of
// the tables and counters that follow from it that they have more or less than they should. What lies behind it does not count.
const maxOfOneRow = 9

// longStore has long stretches of everything that is counted: nodes of a segment and of a fork, states of aliases, pieces of
// a payload, spawned nodes, calls.
func longStore(tb testing.TB) *Store {
	tb.Helper()
	const long = 30
	s := openStore(tb, Options{})
	root := put(tb, s, node(nil, "root"))[0].ID
	first := root
	for _, text := range []string{"trunk", "fork", "another"} {
		var nodes []chainstore.NewNode
		for i := range long {
			n := node(nil, fmt.Sprint(text, i))
			if n.Parent = (chainstore.Parent{Kind: chainstore.ParentPrevious}); i == 0 {
				n.Parent = chainstore.Parent{Kind: chainstore.ParentID, ID: first}
			}
			nodes = append(nodes, n)
		}
		first = put(tb, s, nodes...)[0].ID
	}
	at := [2]chainstore.ID{root, put(tb, s, node(&root, "long", strings.Repeat("x", 5*layout.MaxChunk)))[0].ID}
	for i := range long {
		commitAliases(tb, s, setAlias("a", at[i%2], chainstore.Condition{}), setAlias(fmt.Sprint("to/", i), root, chainstore.Condition{}))
		put(tb, s, spawnedNode(fmt.Sprint("spawned ", i), root), spawnedNode(fmt.Sprint("awaits ", i), chainstore.ID{9}))
	}
	mustBeClean(tb, s)
	return s
}

// TestADamagedRowIsAFewProblems: Verify ends, and what it finds of one damaged row does not grow with what lies behind it or with
// what the row says.
func TestADamagedRowIsAFewProblems(t *testing.T) {
	s := longStore(t)
	rows := allRows(t, s)
	for table, keys := range byTable(rows) {
		if table == layout.TableFormat || table == layout.TableHeader || table == layout.TableNames || table == layout.TableNumbers {
			continue
		}
		slices.SortFunc(keys, func(a, b string) int { return len(rows[b]) - len(rows[a]) }) // long ones have more to spoil
		for _, key := range append(sample(keys, 1), slices.Min(keys)) {
			writes := map[string]commit.Write{"lost": {Deleted: true}, "empty": {Value: []byte{}}}
			for i, spoilt := range spoilings(rows[key]) {
				if i%2 == 0 {
					writes[fmt.Sprint("spoilt ", i)] = commit.Write{Value: spoilt}
				}
			}
			for name, w := range writes {
				rewrite(t, s, map[string]commit.Write{key: w})
				if found := problems(t, s, testNamespace, storetest.Simple().Judge); len(found) > maxOfOneRow {
					t.Errorf("row %x %s: %d problems, among them %q", key, name, len(found), found[:3])
				}
			}
			rewrite(t, s, map[string]commit.Write{key: {Value: rows[key]}})
		}
	}
	mustBeClean(t, s)
}

// TestImpossibleCounts: counts that no row can have are corrupt to every reader, and one problem to Verify, which does not count so far.
func TestImpossibleCounts(t *testing.T) {
	ctx := context.Background()
	history := func(s *Store) error { _, err := s.AliasHistory(ctx, testNamespace, "a"); return err }
	alias := func(s *Store) error { _, err := s.Alias(ctx, testNamespace, "a"); return err }
	move := func(s *Store) error {
		_, err := s.Commit(ctx, testNamespace, &chainstore.Change{Aliases: []chainstore.AliasChange{{Name: "a", Target: chainstore.Target{Kind: chainstore.TargetNone}}}})
		return err
	}
	all := []func(*Store) error{alias, history, move}
	for name, c := range map[string]struct {
		key   func(ns uint32) []byte
		value []byte
		fail  []func(*Store) error
	}{
		"no states":                     {key: func(ns uint32) []byte { return layout.AliasKey(ns, "a") }, value: layout.AppendAlias(nil, &layout.AliasRow{At: chainstore.Place{Segment: 1, Seq: 0}, Revision: 4, Began: 4}), fail: all},
		"deleted at once":               {key: func(ns uint32) []byte { return layout.AliasKey(ns, "a") }, value: layout.AppendAlias(nil, &layout.AliasRow{Deleted: true, States: 1, Revision: 4, Began: 4}), fail: all},
		"deleted, points":               {key: func(ns uint32) []byte { return layout.AliasKey(ns, "a") }, value: layout.AppendAlias(nil, &layout.AliasRow{Deleted: true, States: 2, Revision: 4, Began: 4, At: chainstore.Place{Segment: 1, Seq: 0}}), fail: all},
		"state 0":                       {key: func(ns uint32) []byte { return layout.HistoryKey(ns, "a", 1) }, value: layout.AppendPastState(nil, &layout.PastState{Revision: 1, At: chainstore.Place{Segment: 1, Seq: 0}}), fail: all[1:2]},
		"state 1, deleted":              {key: func(ns uint32) []byte { return layout.HistoryKey(ns, "a", 1) }, value: layout.AppendPastState(nil, &layout.PastState{Number: 1, Revision: 1, Deleted: true}), fail: all[1:2]},
		"a state to come":               {key: func(ns uint32) []byte { return layout.HistoryKey(ns, "a", 1) }, value: layout.AppendPastState(nil, &layout.PastState{Number: 201, Revision: 201, At: chainstore.Place{Segment: 1, Seq: 0}}), fail: all[1:2]},
		"a state twice":                 {key: func(ns uint32) []byte { return layout.HistoryKey(ns, "a", 1) }, value: layout.AppendPastState(nil, &layout.PastState{Number: 2, Revision: 2, At: chainstore.Place{Segment: 1, Seq: 0}}), fail: all[1:2]},
		"a revision of a state to come": {key: func(ns uint32) []byte { return layout.HistoryKey(ns, "a", 1) }, value: layout.AppendPastState(nil, &layout.PastState{Number: 1, Revision: 2, At: chainstore.Place{Segment: 1, Seq: 0}})},
		"a revision below the states":   {key: func(ns uint32) []byte { return layout.AliasKey(ns, "a") }, value: layout.AppendAlias(nil, &layout.AliasRow{At: chainstore.Place{Segment: 1, Seq: 0}, States: 4, Revision: 3, Began: 3}), fail: all},
		"states without end":            {key: func(ns uint32) []byte { return layout.AliasKey(ns, "a") }, value: layout.AppendAlias(nil, &layout.AliasRow{At: chainstore.Place{Segment: 1, Seq: 0}, States: 1 << 62, Revision: 1 << 62, Began: 1 << 62})},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{})
			ids := put(t, s, node(nil, "x"), node(nil, "y"))
			for i := range 4 {
				commitAliases(t, s, setAlias("a", ids[i%2].ID, chainstore.Condition{}))
			}
			rewrite(t, s, map[string]commit.Write{string(c.key(1)): {Value: c.value}})
			for i, f := range c.fail {
				if err := f(s); !errors.Is(err, chainstore.ErrCorrupt) {
					t.Errorf("reader %d: %v", i, err)
				}
			}
			if found := problems(t, s, testNamespace, storetest.Simple().Judge); len(found) == 0 || len(found) > maxOfOneRow {
				t.Errorf("%d problems: %q", len(found), found)
			}
		})
	}
}
