package badgerdb

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// brink ends the process before a merge runs out of disk. A merge that cannot create a table loses what was to be in it, and deletes what
// it merged (see room, which keeps enough free of what the store itself takes). But another program can take what is kept. A process
// that ends in the middle of a merge loses nothing: the MANIFEST does not name what it made, and the next start opens without
// merges where they do not fit.
type brink struct {
	dir  string
	look func(dir string) (diskSpace, error)
	// merges tells whether one is under way, or about to begin.
	merges func() bool
	// bytes are the least that must be free while it does.
	bytes int64
	log   *slog.Logger
	// exit ends the process: os.Exit, outside tests.
	exit func(code int)
}

const (
	// A disk is taken to lose no more than so many bytes and files in a second.
	bytesASecond, inodesASecond = 4 << 30, 200_000
	// The disk is looked at so often, the nearer it is to its end.
	brinkSoonest, brinkLatest = time.Millisecond, time.Second
)

// newBrink is of a database that merges by itself, and while asked tells that it was asked to.
func newBrink(db *badger.DB, o *Options, asked func() bool) *brink {
	return &brink{
		dir: db.Opts().Dir, look: o.lookAtDisk,
		merges: func() bool { return asked() || mergesDue(db.Levels(), db.Opts().NumLevelZeroTables) },
		bytes:  o.spare() / 4, log: o.Logger, exit: os.Exit,
	}
}

// watch looks at the disk until the context ends.
func (b *brink) watch(ctx context.Context) {
	for ctx.Err() == nil {
		free, err := b.look(b.dir)
		switch {
		case err != nil: // as while the directory is away, which a commit tells of: see room
			sleep(ctx, brinkLatest)
		case b.reached(free) && b.merges():
			b.end(free)
			return
		default:
			sleep(ctx, b.wait(free))
		}
	}
}

// reached tells whether a merge could fail soon.
func (b *brink) reached(free diskSpace) bool { return free.bytes < b.bytes || free.fewInodes() }

// wait is for how long the disk cannot have come to its end.
func (b *brink) wait(free diskSpace) time.Duration {
	left := min(float64(free.bytes-b.bytes)/bytesASecond, float64(free.inodes-free.keptInodes)/inodesASecond)
	return min(max(time.Duration(min(left, 1)*float64(time.Second)), brinkSoonest), brinkLatest)
}

func (b *brink) end(free diskSpace) {
	log := b.log
	if log == nil {
		log = slog.Default()
	}
	log.Error("another program has taken the last of the disk while tables are merged: the process ends, since a merge that cannot create a table would lose what it merges; nothing is lost",
		"directory", b.dir, "free_bytes", free.bytes, "free_inodes", free.inodes)
	b.exit(1)
}

// mergesDue tells whether a merge is under way or about to begin: the tables that one takes are those of their level until it ends.
func mergesDue(levels []badger.LevelInfo, level0 int) bool {
	for _, l := range levels {
		if l.Level == 0 && l.NumTables >= level0 || l.Level > 0 && l.Level < len(levels)-1 && l.Size >= l.TargetSize && l.Size > 0 {
			return true
		}
	}
	return false
}
