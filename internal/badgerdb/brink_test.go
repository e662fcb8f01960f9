package badgerdb

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The process ends once a merge could fail for want of disk, and only while one is under way or due.
func TestBrink(t *testing.T) {
	const plenty = math.MaxInt64
	for name, c := range map[string]struct {
		free   diskSpace
		merges bool
		ends   bool
	}{
		"a disk with room":             {diskSpace{1 << 40, plenty, 0}, true, false},
		"the last bytes":               {diskSpace{999, plenty, 0}, true, true},
		"the last bytes, at rest":      {diskSpace{999, plenty, 0}, false, false},
		"just enough bytes":            {diskSpace{1000, plenty, 0}, true, false},
		"the last inodes":              {diskSpace{1 << 40, 4095, 4096}, true, true},
		"the last inodes, at rest":     {diskSpace{1 << 40, 4095, 4096}, false, false},
		"just enough inodes":           {diskSpace{1 << 40, 4096, 4096}, true, false},
		"neither, as a file system is": {diskSpace{0, 0, 4096}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended, log := 0, &bytes.Buffer{}
				b := &brink{
					look:   func(string) (diskSpace, error) { return c.free, nil },
					merges: func() bool { return c.merges }, bytes: 1000,
					log: slog.New(slog.NewTextHandler(log, nil)), exit: func(code int) { ended = code },
				}
				go b.watch(ctx)
				<-time.After(5 * time.Second)
				synctest.Wait()
				if (ended == 1) != c.ends || strings.Contains(log.String(), "another program has taken") != c.ends {
					t.Errorf("exit code %d, and the log says %q", ended, log)
				}
			})
		})
	}
}

// The disk is looked at so soon that nobody can have taken what is left meanwhile.
func TestBrinkLooksInTime(t *testing.T) {
	b := &brink{bytes: 4 << 20}
	for free, want := range map[diskSpace]time.Duration{
		{1 << 40, math.MaxInt64, 0}:       brinkLatest,
		{1<<30 + 4<<20, 1 << 40, 0}:       250 * time.Millisecond,
		{4 << 20, 1 << 40, 0}:             brinkSoonest,
		{0, 1 << 40, 0}:                   brinkSoonest,
		{1 << 40, 4096 + 20_000, 4096}:    100 * time.Millisecond,
		{1 << 40, 100, 4096}:              brinkSoonest,
		{math.MaxInt64, math.MaxInt64, 0}: brinkLatest,
	} {
		if got := b.wait(free); got != want {
			t.Errorf("with %+v free it looks again after %s, want %s", free, got, want)
		}
	}
}

// A merge is due from so many tables of level 0 on, and under way until they are gone.
func TestMergesAreDue(t *testing.T) {
	db := openWithTables(t, mergedTables-1)
	if mergesDue(db.Levels(), db.Opts().NumLevelZeroTables) {
		t.Errorf("with %d tables", db.level0())
	}
	if !mergesDue(db.Levels(), mergedTables-1) {
		t.Errorf("of %d tables not one merge is due", db.level0())
	}
	levels := db.Levels()
	levels[4].Size, levels[4].TargetSize = 100, 100
	if !mergesDue(levels, 100) {
		t.Error("a level is full, and no merge is due")
	}
	levels[4].Size = 99
	levels[6].Size, levels[6].TargetSize = 100, 10
	if mergesDue(levels, 100) {
		t.Error("a merge is due of the last level, which none takes from")
	}
}

// openWithTables opens a database with so many tables in level 0: one that is closed leaves a table.
func openWithTables(t *testing.T, tables int) *DB {
	t.Helper()
	dir := t.TempDir()
	for i := range tables {
		d := openDatabase(t, dir)
		commit(t, d, fmt.Sprint("key ", i), nil)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d := openDatabase(t, dir)
	t.Cleanup(func() { _ = d.Close() })
	return d
}
