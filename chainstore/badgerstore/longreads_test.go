package badgerstore

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

// slowRead reads a forked chain of a store for a caller who takes a second a row and puts a node beside each, and fails the test where
// rows are lost or doubled, or the database could throw away nothing of what was written more than a hold, and a few rows, ago.
func slowRead(t *testing.T, s *Store, spans []chainstore.Span, warm bool) {
	now := time.Duration(0)
	s.source.Clock = func() time.Duration { return now }
	ids := growForked(t, s, 120)
	c, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: ids[119]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if warm {
		for range 2 {
			if err := c.Rows(t.Context(), []chainstore.Span{{Through: 119, WillReread: true}}, func(*chainstore.Row) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	var want, got []uint32
	for _, span := range spans {
		for seq := span.From; seq <= span.Through; seq++ {
			want = append(want, seq)
		}
	}
	began := s.source.Versions.Last()
	var seen []uint64 // the newest commit, before each row
	err = c.Rows(t.Context(), spans, func(r *chainstore.Row) error {
		if r.Raw.ID() != ids[r.Seq] {
			return fmt.Errorf("row %d is that of another node", r.Seq)
		}
		got, seen = append(got, r.Seq), append(seen, s.source.Versions.Last())
		now += time.Second
		put(t, s, node(nil, fmt.Sprint("beside ", len(got), warm)))
		if behind := len(got) - 10 - 17; behind > 0 && s.source.Versions.Discarded < seen[behind] {
			return fmt.Errorf("at row %d, %d is held of commits from %d through %d", len(got), s.source.Versions.Discarded, began, s.source.Versions.Last())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the rows are %v, want %v", got, want)
	}
	if d := s.source.Versions.Discarded; d != s.source.Versions.Last() {
		t.Errorf("%d is held after the read, the last commit is %d", d, s.source.Versions.Last())
	}
}

// growForked makes a chain of n nodes with a fork in the middle.
func growForked(t *testing.T, s *Store, n int) (ids []chainstore.ID) {
	var parent *chainstore.ID
	for i := range n {
		ids = append(ids, put(t, s, node(parent, fmt.Sprint("row ", i), noise(300)))[0].ID)
		parent = &ids[i]
		if i == n/2 {
			put(t, s, node(parent, "the first child"))
		}
	}
	return ids
}

// A reader who takes its time does not hold what was written meanwhile: Rows goes on in new reads, from the database, from memory, and
// over forks and several spans, and loses no row.
func TestSlowReadersHoldLittle(t *testing.T) {
	whole := []chainstore.Span{{Through: 119}}
	several := []chainstore.Span{{From: 70, Through: 119, HeadersOnly: true}, {From: 3, Through: 3}, {From: 10, Through: 100}}
	for name, spans := range map[string][]chainstore.Span{"whole": whole, "several": several} {
		t.Run(name+" from the database", func(t *testing.T) { slowRead(t, openStore(t, Options{RowCacheBytes: -1}), spans, false) })
		t.Run(name+" from memory", func(t *testing.T) { slowRead(t, openStore(t, Options{}), spans, true) })
		t.Run(name+" into memory", func(t *testing.T) { slowRead(t, openStore(t, Options{}), spans, false) })
	}
}

// A quick reader sees one state of the store, whatever is written beside it.
func TestQuickReadersHoldOneState(t *testing.T) {
	s := openStore(t, Options{RowCacheBytes: -1})
	s.source.Clock = func() time.Duration { return 0 }
	ids := growForked(t, s, 20)
	c, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: ids[19]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	began := s.source.Versions.Last()
	err = c.Rows(t.Context(), []chainstore.Span{{Through: 19}}, func(r *chainstore.Row) error {
		put(t, s, node(nil, fmt.Sprint("beside ", r.Seq)))
		if s.source.Versions.Discarded != began {
			return errors.New("the state that is read may be thrown away")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A store that is closed ends a slow read where it would go on in a new one, and Close waits for no longer.
func TestSlowReadersEndWithTheStore(t *testing.T) {
	s := openStore(t, Options{})
	now := time.Duration(0)
	s.source.Clock = func() time.Duration { return now }
	ids := growForked(t, s, 20)
	c, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: ids[19]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	err = c.Rows(t.Context(), []chainstore.Span{{Through: 19}}, func(r *chainstore.Row) error {
		if r.Seq == 5 {
			go func() { closed <- s.Close() }()
			for !s.source.Versions.IsShut() {
				runtime.Gosched()
			}
			now += time.Minute
		}
		return nil
	})
	if !errors.Is(err, chainstore.ErrClosed) {
		t.Errorf("error is %v, want %v", err, chainstore.ErrClosed)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
