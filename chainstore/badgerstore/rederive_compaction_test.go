package badgerstore

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// TestRederiveBehindCompactions loses and spoils what follows from nodes of a store with compaction nodes, headers among it: all of it comes
// again, byte for byte, one damage at a time and all at once.
func TestRederiveBehindCompactions(t *testing.T) {
	s, rows := goldenCompactionRows(t)
	mustMend := func(name string, damage map[string]commit.Write) {
		t.Helper()
		rewrite(t, s, damage)
		err := s.rederive(t.Context(), chainstore.Check{Namespace: "default"}, goldenCompactionJudge, func(r chainstore.VerifyReport) error {
			for _, p := range r.Problems {
				if !p.Repaired {
					t.Errorf("%s: not repaired: %s", name, p.What)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if left := problems(t, s, "default", goldenCompactionJudge); left != nil {
			t.Errorf("%s: verify finds %q", name, left)
		}
		if off := differing(rows, allRows(t, s)); off != nil {
			t.Errorf("%s: %d rows are not as they were, %x", name, len(off), off[0])
		}
		restore(t, s, rows)
	}
	all := map[string]commit.Write{}
	for table, keys := range byTable(rows) {
		for i, key := range keys {
			switch {
			case table == layout.TableNodes:
				if spoilt := spoiltHeader(t, key, rows[key]); spoilt != nil {
					all[key] = commit.Write{Value: spoilt}
				}
			case strings.IndexByte("IKRUVTP", table) >= 0 && i%2 == 0:
				all[key] = commit.Write{Deleted: true}
			case strings.IndexByte("IKRUV", table) >= 0:
				all[key] = commit.Write{Value: append(bytes.Clone(rows[key]), 1)}
			}
		}
	}
	for _, key := range sample(slices.Sorted(maps.Keys(all)), 25) {
		mustMend(fmt.Sprintf("row %x", key), map[string]commit.Write{key: all[key]})
	}
	mustMend("all", all)
}

// spoiltHeader is a node's row with a header whose fold is another; nil for a piece of a payload, or an empty row.
func spoiltHeader(t *testing.T, key string, value []byte) []byte {
	t.Helper()
	at, chunk, err := layout.ParseNodeKey([]byte(key))
	if err != nil || chunk != 0 || len(value) == 0 {
		return nil
	}
	r, _, err := layout.ParseRow(value)
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.Header.Decode(at.Seq)
	if err != nil {
		t.Fatal(err)
	}
	h.State.Effective.Bytes++
	r.Header = chainstore.AppendHeader(nil, h)
	return layout.AppendRow(nil, &r)
}
