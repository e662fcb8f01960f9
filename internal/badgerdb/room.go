package badgerdb

import (
	"context"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
)

// room keeps so much of the disk free that what Badger has to write by itself always fits: it writes logs and tables through
// memory maps of sparse files, so a disk that is really full ends the process (SIGBUS), and a merge that cannot create a table
// loses what was to be in it. What it has to write, while nothing is put, is
//
//	kept = logs, which become tables before they are deleted + what merges write before they delete anything
//
// Merges write no more than all tables have, and no more than largestMerges. A commit is taken while
//
//	free + what merges under way have written already >= kept + spare (+ forDeletes, unless it only deletes)
//
// It belongs to the goroutine that commits, but for gauges, which anybody may call.
type room struct {
	dir    string
	free   func(dir string) (int64, error)
	levels func() []badger.LevelInfo
	tables func() []badger.TableInfo
	// logs is what the logs take on disk.
	logs func() (int64, error)
	log  *slog.Logger
	// spare is for one more commit, twice: in the log and as a table; and for what else is written, as the MANIFEST and the file
	// system's own blocks. forDeletes is what only deletes may take.
	spare, forDeletes int64
	// patience is for how long a commit waits when there has just become too little.
	patience time.Duration
	// lookAfter is how many bytes may be written between two looks at the tables.
	lookAfter int64

	// looked is when the tables were looked at last, and took how long that took; written is what was written since; kept and merged
	// are what was found then: merged is what merges under way had written.
	looked       time.Time
	took         time.Duration
	written      int64
	kept, merged int64
	// live are the tables at the last close look: who was among them, and is there yet, is no table that a merge makes.
	live map[uint64]struct{}
	full bool

	// keptBytes is what was kept at the last check.
	keptBytes atomic.Int64
}

// Where there may be too little room, a look may be lookAgainAfter old, or longAgo times as old as it took.
const (
	lookAgainAfter = 10 * time.Millisecond
	longAgo        = 20
)

func newRoom(db *badger.DB, o *Options, logs func() (int64, error)) *room {
	return &room{
		dir: db.Opts().Dir, free: o.freeBytes, levels: db.Levels, tables: db.Tables, logs: logs, log: o.Logger,
		spare: o.MemtableBytes / 2, forDeletes: o.MemtableBytes / 2, lookAfter: o.MemtableBytes / 128,
		patience: 500 * time.Millisecond,
	}
}

// wrote counts what a commit wrote.
func (r *room) wrote(bytes int64) { r.written += bytes }

// check tells whether a commit may be written: puts is chainstore.ErrDiskFull while one that adds something may not, deletes
// while one that only deletes may not. Other errors are of the file system, and are both.
func (r *room) check() (puts, deletes error) {
	left, err := r.leftSoon()
	if err != nil {
		return err, err
	}
	if left < r.forDeletes {
		puts = chainstore.ErrDiskFull
	}
	if left < 0 {
		deletes = chainstore.ErrDiskFull
	}
	r.tell(puts != nil, left)
	return puts, deletes
}

// leftSoon is left, but where it has just become too little it waits a moment: for a merge that ends the tables are counted, and
// take room, on both sides for as long as their files are being deleted.
func (r *room) leftSoon() (left int64, err error) {
	for until := time.Now().Add(r.patience); ; {
		if left, err = r.left(); err != nil || left >= r.forDeletes || r.full || !time.Now().Before(until) {
			return left, err
		}
		sleep(context.Background(), lookAgainAfter)
	}
}

// tell logs once that puts are refused, and once that they are taken again.
func (r *room) tell(full bool, left int64) {
	if full == r.full {
		return
	}
	// Where little is missing it comes and goes with each merge: that it is over is said once there is room to spare.
	if !full && left < 2*r.forDeletes {
		return
	}
	r.full = full
	switch {
	case r.log == nil:
	case full:
		r.log.Warn("the disk is full: puts are refused until there is room", "kept_bytes", r.keptBytes.Load(), "left_bytes", left)
	default:
		r.log.Info("the disk has room again: puts are taken", "kept_bytes", r.keptBytes.Load(), "left_bytes", left)
	}
}

// left is how many bytes may be written yet, of which the last forDeletes are for deletes.
func (r *room) left() (int64, error) {
	free, err := r.free(r.dir)
	if err != nil {
		return 0, err
	}
	if r.isStale(r.of(free)) {
		if err := r.look(free); err != nil {
			return 0, err
		}
		if free, err = r.free(r.dir); err != nil { // what was counted of merges is not free any more
			return 0, err
		}
	}
	r.keptBytes.Store(r.kept + r.written + r.spare + r.forDeletes)
	return r.of(free), nil
}

// isStale tells whether the tables are to be looked at again.
func (r *room) isStale(left int64) bool {
	if r.looked.IsZero() || r.written >= r.lookAfter {
		return true
	}
	near := left < r.forDeletes+r.spare
	return near && (r.live == nil || time.Since(r.looked) >= max(lookAgainAfter, longAgo*r.took))
}

// gauges are what is kept, as of the last check, and what puts may take of what is free now.
func (r *room) gauges() (kept, left int64, err error) {
	free, err := r.free(r.dir)
	kept = r.keptBytes.Load()
	return kept, max(0, free-kept), err
}

// of is what is left where so much is free. What was written since the last look is in the log, and is to become a table.
func (r *room) of(free int64) int64 { return free + r.merged - r.kept - r.written - r.spare }

// toClose is how many bytes are left once what the logs have was written as tables.
func (r *room) toClose() (int64, error) {
	free, err := r.free(r.dir)
	if err != nil {
		return 0, err
	}
	logs, err := r.logs()
	return free - logs - r.spare/4, err
}

// look finds what is kept. The tables are looked at closely only where not all of them could be written anew.
func (r *room) look(free int64) error {
	begin := time.Now()
	defer func() { r.looked, r.took = time.Now(), time.Since(begin) }()
	logs, err := r.logs()
	if err != nil {
		return err
	}
	var all int64
	base := 0
	for _, l := range r.levels() {
		all += l.Size
		if l.IsBaseLevel {
			base = l.Level
		}
	}
	r.written, r.merged = 0, 0
	r.kept = logs + all + all/64 // merged tables may have a little more beside their rows
	if r.of(free) >= r.forDeletes {
		r.live = nil
		return nil
	}
	tables := r.tables()
	if merges := largestMerges(tables, base); merges < all {
		r.kept = logs + merges + merges/64
	}
	r.merged, err = r.merging(tables)
	return err
}

// merging is what merges under way have written: tables that are none of the database's yet. A table that was one before, and
// that a reader holds, is not among them.
func (r *room) merging(tables []badger.TableInfo) (n int64, err error) {
	live := make(map[uint64]struct{}, len(tables))
	for i := range tables {
		live[tables[i].ID] = struct{}{}
	}
	before := r.live
	r.live = live
	err = eachTable(r.dir, func(id uint64, e fs.DirEntry) error {
		if _, ok := live[id]; ok {
			return nil
		}
		if _, ok := before[id]; ok {
			live[id] = struct{}{} // remembered for as long as its file is there
			return nil
		}
		return addAllocated(&n, e)
	})
	return n, err
}
