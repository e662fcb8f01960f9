package badgerdb

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errNoReclaim is what Reclaim fails with where private is nil.
var errNoReclaim = errors.New(
	"this program is built with a version of Badger whose merges cannot be asked for: back the store up and restore it to give space back")

// Reclaim gives the space back that deleted rows and older versions take, so that the tables take what they would take had these never been there:
// all tables are merged down to the last level, in small steps. It begins with what lies in tables: Turn and Flushed come before it. A row that an
// open snapshot may see stays: Discard was called with the last commit that deletes, and no snapshot is open of before that. What stays so in the
// last level no merge takes away later, but DropVersions.
//
// Others may commit and read meanwhile. Between two steps it rests for as long as the last one took, and a while longer where tables gather in
// level 0. It ends also while others write: of each level it merges as many tables as twice those that it found there. The context ends it
// between two steps: within the time of a merge of level 0 into the next one, as the database makes them by itself, and after that of one table.
// What was merged stays merged; a kill loses nothing.
//
// It begins no step while the disk, or the process's handles, do not have what all merges together take: chainstore.ErrDiskFull,
// chainstore.ErrTooManyFiles.
func (d *DB) Reclaim(ctx context.Context) error {
	if d.isReadOnly() {
		return errReadOnly
	}
	if d.private == nil {
		return errNoReclaim
	}
	ctx, end, err := d.explicit.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := d.mergeLevel0(ctx); err != nil {
		return err
	}
	for level := 1; level < d.Opts().MaxLevels-1; level++ {
		if err := d.mergeDown(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

// mergeLevel0 merges the tables that level 0 has.
func (d *DB) mergeLevel0(ctx context.Context) error {
	found := d.level0IDs()
	for {
		left := 0
		for id := range d.level0IDs() {
			if _, ok := found[id]; ok {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		if err := d.mergeStep(ctx, 0); err != nil {
			return err
		}
	}
}

func (d *DB) level0IDs() map[uint64]struct{} {
	ids := map[uint64]struct{}{}
	for _, t := range d.Tables() {
		if t.Level == 0 {
			ids[t.ID] = struct{}{}
		}
	}
	return ids
}

// mergeDown merges the tables of a level into the next one.
func (d *DB) mergeDown(ctx context.Context, level int) error {
	tables := func() int { return d.Levels()[level].NumTables }
	for steps := 2 * tables(); steps > 0 && tables() > 0; steps-- {
		if err := d.mergeStep(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

const (
	// mergeAgain is when a step looks again whether Badger's own merges have what it would take, mergePatience for how long it does so in all.
	mergeAgain    = 20 * time.Millisecond
	mergePatience = 5 * time.Minute
	// level0Patience is for how long it rests at most where tables of level 0 wait for the next level, which it would keep from them.
	level0Patience = 10 * time.Second
)

// mergeStep merges one table of a level, or what overlaps of level 0, and rests. Where Badger merges what it would take, it waits, and does nothing once
// the level has none left.
func (d *DB) mergeStep(ctx context.Context, level int) error {
	for until := time.Now().Add(mergePatience); d.Levels()[level].NumTables > 0; sleep(ctx, mergeAgain) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := d.mayMerge(); err != nil {
			return err
		}
		begin := time.Now()
		err := d.private.mergeNext(level)
		if err == nil {
			d.restAfter(ctx, time.Since(begin))
			return nil
		}
		if !isTaken(err) || begin.After(until) {
			return fmt.Errorf("merge level %d: %w", level, err)
		}
	}
	return nil
}

// restAfter rests after a step that took so long.
func (d *DB) restAfter(ctx context.Context, took time.Duration) {
	sleep(ctx, took)
	for until := time.Now().Add(level0Patience); d.level0() >= mergedTables && ctx.Err() == nil && time.Now().Before(until); {
		sleep(ctx, mergeAgain)
	}
}
