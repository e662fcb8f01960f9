package badgerdb

import (
	"context"
	"fmt"
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
//	kept = logs, which become tables before they are deleted + what merges write before they delete anything: see tableSizes
//
// A commit is taken while
//
//	free + what merges under way have written already >= kept + spare (+ forDeletes, unless it only deletes)
//
// It belongs to the goroutine that commits, but for gauges, which anybody may call.
type room struct {
	dir    string
	free   func(dir string) (int64, error)
	tables func() []badger.TableInfo
	// logs is what the logs take on disk.
	logs func() (int64, error)
	log  *slog.Logger
	// spare is for one more commit, twice: in the log and as a table; and for what else is written, as the MANIFEST and the file
	// system's own blocks. forDeletes is what only deletes may take.
	spare, forDeletes int64
	// patience is for how long a commit waits when there has just become too little.
	patience time.Duration
	// lookAfter is how many bytes are written between two looks at the tables where there is room.
	lookAfter int64

	// looked is when the tables were looked at last, and took how long that took; kept and merged are what was found: merged is
	// what merges under way had written, and freeThen what was free besides. written is what was written since.
	looked         time.Time
	took           time.Duration
	kept           int64
	merged         int64
	freeThen       int64
	written        int64
	making         map[uint64]struct{} // the tables that merges were making
	full           bool
	refused        time.Time // when puts were refused last
	keptAtLastLook atomic.Int64
}

// Where there may be too little room, a look may be lookAgainAfter old, or longAgo times as old as it took. A look that is older
// than soon tells nothing of what merges make now. Puts are said to be taken again when none was refused for quiet.
const (
	lookAgainAfter = 10 * time.Millisecond
	longAgo        = 20
	soon           = time.Second
	quiet          = time.Minute
)

func newRoom(db *badger.DB, o *Options, logs func() (int64, error)) *room {
	return &room{
		dir: db.Opts().Dir, free: o.forPuts, tables: db.Tables, logs: logs, log: o.Logger,
		spare: o.spare(), forDeletes: o.MemtableBytes / 2, lookAfter: 2 * o.MemtableBytes,
		patience: 500 * time.Millisecond,
	}
}

// forPuts is how many bytes puts find free on the file system of a directory.
func (o *Options) forPuts(dir string) (int64, error) {
	free, err := o.lookAtDisk(dir)
	return free.forPuts(), err
}

// spare is what is free beside what Badger has to write by itself: see room.
func (o *Options) spare() int64 { return o.MemtableBytes / 2 }

// wrote counts what a commit wrote.
func (r *room) wrote(bytes int64) { r.written += bytes }

// check tells whether a commit may be written: puts is chainstore.ErrDiskFull while one that adds something may not, deletes
// while one that only deletes may not. Both are chainstore.ErrFailed where the disk cannot be looked at, as when its directory is away.
func (r *room) check() (puts, deletes error) {
	left, err := r.leftSoon()
	if err != nil {
		err = fmt.Errorf("%w: the disk cannot be looked at: %w", chainstore.ErrFailed, err)
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

// leftSoon is left, but where it has just become too little it waits a moment: for a merge that ends, both the tables that it made
// and those that it took are there for as long as these are being deleted.
func (r *room) leftSoon() (left int64, err error) {
	for until := time.Now().Add(r.patience); ; {
		if left, err = r.left(); err != nil || left >= r.forDeletes || r.full || !time.Now().Before(until) {
			return left, err
		}
		sleep(context.Background(), lookAgainAfter)
	}
}

// tell logs once that puts are refused, and once that they are taken again. Where little is missing, that comes and goes: it is
// over once there is room to spare, or nothing was refused for a while.
func (r *room) tell(full bool, left int64) {
	now := time.Now()
	if full {
		r.refused = now
	}
	over := left >= 2*r.forDeletes || now.Sub(r.refused) >= quiet
	if full == r.full || !full && !over {
		return
	}
	r.full = full
	log := r.log
	if log == nil {
		return
	}
	log = log.With("room_kept_bytes", r.keptAtLastLook.Load(), "room_left_bytes", max(0, left-r.forDeletes))
	if full {
		log.Warn("the disk is full: puts are refused until there is room")
	} else {
		log.Info("the disk has room again: puts are taken")
	}
}

// left is how many bytes may be written yet, of which the last forDeletes are for deletes.
func (r *room) left() (int64, error) {
	free, err := r.free(r.dir)
	if err != nil {
		return 0, err
	}
	if r.isDue(r.of(free)) {
		if err := r.look(free); err != nil {
			return 0, err
		}
		free = r.freeThen
	}
	r.keptAtLastLook.Store(r.kept + r.written + r.spare + r.forDeletes)
	return r.of(free), nil
}

// isDue tells whether the tables are to be looked at again: what was found stays true, but what merges did since is missing.
func (r *room) isDue(left int64) bool {
	if r.looked.IsZero() || r.written >= r.lookAfter {
		return true
	}
	wait := max(lookAgainAfter, min(longAgo*r.took, r.patience/4))
	return left < r.forDeletes+r.spare && time.Since(r.looked) >= wait
}

// gauges are what is kept, as of the last check, and what puts may take of what is free now.
func (r *room) gauges() (kept, left int64, err error) {
	free, err := r.free(r.dir)
	kept = r.keptAtLastLook.Load()
	return kept, max(0, free-kept), err
}

// of is what is left where so much is free. What was written since the last look is in the log, and is to become a table. What
// merges had written then counts no more once they have ended, and more is free for that.
func (r *room) of(free int64) int64 {
	return max(free, min(free, r.freeThen)+r.merged) - r.kept - r.written - r.spare
}

// toClose is how many bytes are left once what the logs have was written as tables.
func (r *room) toClose() (int64, error) {
	free, err := r.free(r.dir)
	if err != nil {
		return 0, err
	}
	logs, err := r.logs()
	return free - logs - r.spare/4, err
}

// look finds what is kept, and what merges have written. free is what was free just before.
func (r *room) look(free int64) error {
	begin := time.Now()
	logs, err := r.logs()
	if err != nil {
		return err
	}
	tables := r.tables()
	merged, err := r.merging(tables)
	if err != nil {
		return err
	}
	after, err := r.free(r.dir)
	if err != nil {
		return err
	}
	r.kept, r.merged, r.freeThen, r.written = logs+sizesOf(tables).merges(), merged, min(free, after), 0
	r.looked, r.took = time.Now(), time.Since(begin)
	return nil
}

// merging is what merges, and the writing of memtables, have written: tables that are none of the database's yet. Numbers of tables
// ascend, so a file that is no table of the database and has a higher number than all of these is one that is being made, and stays
// so until it is the database's or gone. One with a lower number may have been the database's, and is there for a reader.
func (r *room) merging(tables []badger.TableInfo) (n int64, err error) {
	newest := uint64(0)
	live := make(map[uint64]struct{}, len(tables))
	for i := range tables {
		live[tables[i].ID] = struct{}{}
		newest = max(newest, tables[i].ID)
	}
	before := r.making
	if time.Since(r.looked) > soon {
		before = nil
	}
	r.making = map[uint64]struct{}{}
	err = eachTable(r.dir, func(id uint64, e fs.DirEntry) error {
		_, isLive := live[id]
		_, wasMaking := before[id]
		if isLive || id < newest && !wasMaking {
			return nil
		}
		r.making[id] = struct{}{}
		return addAllocated(&n, e)
	})
	return n, err
}

// tableSizes are what the tables of a database have: those of level 0 and the rest, before compression (raw) and as they lie on
// disk.
type tableSizes struct{ raw0, raw, rest int64 }

// maxRaw is how much the tables below level 0 may have before compression so that they are counted by it.
const maxRaw = 4 << 30

// add counts a table.
func (s *tableSizes) add(level int, size, raw int64) {
	if level == 0 {
		s.raw0 += max(size, raw)
		return
	}
	s.rest += size
	s.raw += max(size, raw)
}

func sizesOf(tables []badger.TableInfo) (s tableSizes) {
	for i := range tables {
		t := &tables[i]
		s.add(t.Level, int64(t.OnDiskSize), int64(t.UncompressedSize)+int64(t.IndexSz))
	}
	return s
}

// merges bounds what merges write before they delete anything. They take disjoint sets of tables, so they never write the rows of
// more than all; and one merge may take nearly all: level 0 with the base level, or one table that spans most of the next level,
// as one with the last indexes and the first of the newest rows does.
//
// Rows that lie together in a table and are alike are compressed less once a merge puts others between them, so tables are counted
// before compression: all of level 0, where rows lie as they came, and the others up to maxRaw. Of more than that a quarter
// more than they take is counted. A sixty-fourth is for what lies beside rows.
func (s tableSizes) merges() int64 {
	rest := s.raw
	if rest > maxRaw {
		rest = min(rest, max(maxRaw, s.rest+s.rest/4))
	}
	all := s.raw0 + rest
	return all + all/64
}
