package badgerstore

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// Putting a node again is noted only where it was last noted more than twelve hours ago; nothing else changes by it.
func TestRepeatsAreNotedNowAndThen(t *testing.T) {
	start := time.UnixMilli(1_700_000_000_000)
	now := start
	s := openStore(t, Options{Now: func() time.Time { return now }})
	n := node(nil, "x")
	id := put(t, s, n)[0].ID
	headerBefore, statsBefore := headerOf(t, s, id), nodeStats(t, s)
	var noted time.Duration
	for _, step := range []struct {
		at   time.Duration
		sets uint64
	}{
		{11 * time.Hour, 0}, {12 * time.Hour, 0}, {13 * time.Hour, 1}, {20 * time.Hour, 0}, {25 * time.Hour, 0},
		{26 * time.Hour, 1},
	} {
		now = start.Add(step.at)
		if step.sets > 0 {
			noted = step.at
		}
		c := s.cost(func() {
			if put(t, s, n)[0].Created {
				t.Errorf("at %s: the repeat created the node", step.at)
			}
		})
		if c.sets != step.sets {
			t.Errorf("at %s: the repeat wrote %d rows, want %d", step.at, c.sets, step.sets)
		}
		if got := lastPut(t, s, id); noted > 0 && got != start.Add(noted).UnixMilli() || noted == 0 && got != 0 {
			t.Errorf("at %s: the last put is %d", step.at, got)
		}
	}
	if h := headerOf(t, s, id); !reflect.DeepEqual(h, headerBefore) {
		t.Errorf("the header is %+v, was %+v", h, headerBefore)
	}
	if st := nodeStats(t, s); st != statsBefore {
		t.Errorf("the counts are %+v, were %+v", st, statsBefore)
	}
	mustBeClean(t, s)
}

// lastPut is the time that the node's L row tells; 0 without one.
func lastPut(t *testing.T, s *Store, id chainstore.ID) (at int64) {
	t.Helper()
	inTestNamespace(t, s, func(v *snapshot.Snapshot) error {
		p, _, err := v.PlaceOf(id)
		if err != nil {
			return err
		}
		value, found, err := v.Get(layout.PlaceKey(v.Namespace, layout.TableLastPut, p))
		if err != nil || !found {
			return err
		}
		n, err := layout.ParseNumber(value, layout.TableLastPut)
		at = int64(n)
		return err
	})
	return at
}

// nodeStats are the test namespace's counts but for the disk's.
func nodeStats(t *testing.T, s *Store) chainstore.Stats {
	t.Helper()
	st, err := s.Stats(context.Background(), testNamespace)
	if err != nil {
		t.Fatal(err)
	}
	return st
}
