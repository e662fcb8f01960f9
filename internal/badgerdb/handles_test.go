package badgerdb

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
)

// counted are handles of which so many are in use as the test says.
func counted(log *slog.Logger, descriptors, maps *Usage) *handles {
	told := func(u *Usage) *tally { return newTally(func() (Usage, bool) { return *u, true }, 0) }
	h := newHandles(log)
	h.descriptors.tally, h.maps.tally = told(descriptors), told(maps)
	return h
}

// refresh lets the next look measure anew.
func (h *handles) refresh() {
	for _, t := range []*tally{h.descriptors.tally, h.maps.tally} {
		t.next = t.next.AddDate(-1, 0, 0)
	}
}

// Writes leave what a merge may take, and 200 or a quarter of a small limit; a store is opened with less.
func TestHandlesAreKept(t *testing.T) {
	levels := []badger.LevelInfo{{Size: 90 << 20}, {}, {IsBaseLevel: true, NumTables: 160, TargetFileSize: 1 << 20}}
	for _, c := range []struct {
		used, limit int64
		levels      []badger.LevelInfo
		refused     bool
	}{
		{99_800, 100_000, nil, false},
		{99_801, 100_000, nil, true},
		{99_520, 100_000, levels, false}, // 200, 90 MiB in tables of nine tenths of a MiB, and the others with an eighth more
		{99_521, 100_000, levels, true},
		{75, 100, nil, false}, // of few, a quarter
		{76, 100, nil, true},
		{10, 100, levels, true},
	} {
		for _, short := range []string{"file descriptors", "memory maps"} {
			of, plenty := Usage{Used: c.used, Limit: c.limit}, Usage{Limit: 1 << 20}
			h := counted(nil, &of, &plenty)
			if short == "memory maps" {
				h = counted(nil, &plenty, &of)
			}
			h.levels = func() []badger.LevelInfo { return c.levels }
			err := h.check()
			if errors.Is(err, chainstore.ErrTooManyFiles) != c.refused || err != nil && !strings.Contains(err.Error(), short) {
				t.Errorf("%d of %d %s: %v", c.used, c.limit, short, err)
			}
		}
	}
}

func TestHandlesToOpen(t *testing.T) {
	descriptors, maps := Usage{Used: 20, Limit: 1024}, Usage{Used: 100, Limit: 1000}
	h := counted(nil, &descriptors, &maps)
	for tables, want := range map[int]string{0: "", 836: "", 837: "vm.max_map_count", 941: "ulimit -n"} {
		err := h.checkOpen(tables)
		if want == "" && err != nil || want != "" && (!errors.Is(err, chainstore.ErrTooManyFiles) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d tables: %v", tables, err)
		}
		if err != nil && !strings.Contains(err.Error(), fmt.Sprint(tables, " tables")) {
			t.Errorf("the error does not tell how many tables there are: %v", err)
		}
	}
}

// A limit that is half used is told once, and again when that has been over.
func TestHalfOfALimitIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	descriptors, maps := Usage{Limit: 10_000}, Usage{Limit: 10_000}
	h := counted(slog.New(slog.NewTextHandler(&out, nil)), &descriptors, &maps)
	lines := 0
	for _, step := range []struct {
		used int64
		told int
	}{{5000, 0}, {5001, 1}, {7000, 0}, {4000, 0}, {5001, 0}, {3000, 0}, {5001, 1}} {
		descriptors.Used = step.used
		h.refresh()
		if err := h.check(); err != nil {
			t.Fatal(err)
		}
		lines += step.told
		if n := strings.Count(out.String(), "file descriptors"); n != lines || strings.Contains(out.String(), "maps") {
			t.Errorf("at %d it was told %d times, want %d: %s", step.used, n, lines, out.String())
		}
	}
}

// What takes long to measure is measured seldom, so that a thousand looks, one each millisecond, take a hundredth of the time.
func TestTallyTakesAHundredthOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		measured := 0
		one := newTally(func() (Usage, bool) {
			measured++
			time.Sleep(time.Millisecond) // on the fake clock
			return Usage{Used: int64(measured), Limit: 10}, measured != 2
		}, 0)
		if u := one.measured(); u.Used != 1 || u.Limit != 10 {
			t.Errorf("measured first: %+v", u)
		}
		for range 1000 {
			time.Sleep(time.Millisecond) // on the fake clock
			one.measured()
		}
		if measured < 9 || measured > 11 {
			t.Errorf("measured %d times", measured)
		}
	})
}

// Where nothing can be measured nothing is refused.
func TestWhatCannotBeMeasuredIsNotShort(t *testing.T) {
	h := newHandles(nil)
	unknown := func() (Usage, bool) { return Usage{}, false }
	h.descriptors.tally, h.maps.tally = newTally(unknown, 0), newTally(unknown, 0)
	if err := errors.Join(h.check(), h.checkOpen(1<<20)); err != nil {
		t.Error(err)
	}
}
