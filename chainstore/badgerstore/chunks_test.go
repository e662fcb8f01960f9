package badgerstore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// A payload with a missing or misplaced piece is never read as another payload: ErrCorrupt, and Verify tells.
func TestMissingPiecesOfAPayload(t *testing.T) {
	s := openStore(t, Options{})
	large := put(t, s, node(nil, strings.Repeat("x", 2*layout.MaxChunk+100)))[0].ID // the last row of the namespace so far
	at, ns := chainstore.Place{Segment: 1, Seq: 0}, uint32(layout.FirstNamespace)
	whole := allRows(t, s)
	key := func(i int) string { return string(layout.ChunkKey(ns, at, i)) }
	for i := 1; i <= 3; i++ {
		if len(whole[key(i)]) == 0 {
			t.Fatalf("piece %d is not where the test expects it", i)
		}
	}
	spoilAll := func(heads ...chainstore.ID) {
		for name, spoilt := range map[string]map[string]commit.Write{
			"the first is missing":   {key(1): {Deleted: true}},
			"one between is missing": {key(2): {Deleted: true}},
			"the last is missing":    {key(3): {Deleted: true}},
			"all are missing":        {key(1): {Deleted: true}, key(2): {Deleted: true}, key(3): {Deleted: true}},
			"the last is renumbered": {key(3): {Deleted: true}, key(4): {Value: whole[key(3)]}},
			"the first is renumbered": {
				key(1): {Value: whole[key(2)]}, key(2): {Value: whole[key(3)]}, key(3): {Deleted: true}, key(9): {Value: whole[key(1)]},
			},
		} {
			rewrite(t, s, spoilt)
			for _, head := range heads {
				if rows, err := rowsOf(s, head); !errors.Is(err, chainstore.ErrCorrupt) || rows != 0 {
					t.Errorf("%s: %d rows, %v", name, rows, err)
				}
			}
			if problems(t, s, testNamespace, storetest.Simple().Judge) == nil {
				t.Errorf("%s: verify found nothing", name)
			}
			back := map[string]commit.Write{}
			for k := range spoilt {
				back[k] = commit.Write{Value: whole[k], Deleted: whole[k] == nil}
			}
			rewrite(t, s, back)
		}
	}
	spoilAll(large)
	child := put(t, s, node(&large, "child"))[0].ID
	fork := put(t, s, node(&large, "fork"))[0].ID
	spoilAll(large, child, fork)
	mustBeClean(t, s)
	if rows, err := rowsOf(s, fork); rows != 2 || err != nil {
		t.Errorf("%d rows after all was put back, %v", rows, err)
	}
}

// rowsOf counts the rows that are yielded of a chain.
func rowsOf(s *Store, head chainstore.ID) (rows int, err error) {
	c, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: head}, nil)
	if err != nil {
		return 0, err
	}
	err = c.Rows(context.Background(), []chainstore.Span{{Through: c.Head().Seq}}, func(*chainstore.Row) error {
		rows++
		return nil
	})
	return rows, err
}
