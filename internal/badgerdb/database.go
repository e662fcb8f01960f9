// Package badgerdb is Badger as a store runs it, whatever is kept in it: checked before it is opened, tuned, durable when a
// commit returns, and closed. What lies in it is badgerstore's matter.
package badgerdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// DB is a Badger database in managed mode, written to by one goroutine.
type DB struct {
	*Bare
	// wal is used by one goroutine at a time: by whoever opens the database, then by whoever commits, then by whoever closes it.
	wal  *wal
	pace *pace
	// reserve must be free for a commit; 0 or less: nothing.
	reserve int64
	handles *handles
	// others are the files beside tables and logs.
	others []string
}

// Open opens the database in a directory, and creates both if they are not there. Errors: ErrFormat, ErrLocked,
// chainstore.ErrDiskFull, chainstore.ErrTooManyFiles, those of the file system.
func Open(dir string, o Options) (*DB, error) {
	o = o.complete()
	if err := prepareDirectory(dir); err != nil {
		return nil, err
	}
	if err := roomToOpen(dir, &o); err != nil {
		return nil, err
	}
	h := newHandles(o.Logger)
	tables, bytes := tablesIn(dir)
	if err := h.checkOpen(tables); err != nil {
		return nil, err
	}
	tellReadAhead(o.Logger, dir, bytes)
	b, err := tune(badger.OpenManaged(badgerOptions(dir, &o).WithBaseTableSize(tableBytes(bytes))))
	if err != nil {
		if isLocked(dir) {
			return nil, fmt.Errorf("%w: %s", ErrLocked, dir)
		}
		return nil, fmt.Errorf("open the database in %s: %w", dir, err)
	}
	w, err := openWAL(dir, o.SyncLog)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	waiting := func() int { return b.Levels()[0].NumTables }
	p := newPace(waiting, b.Opts().NumLevelZeroTablesStall, o.MemtableBytes)
	h.levels = b.Levels
	return &DB{b, w, p, o.ReserveBytes, h, otherFiles(dir)}, nil
}

// MaxCommit is what a commit takes at most, in writes, and in bytes of keys and values with WriteOverhead for each write. It
// is below what Badger takes in a transaction.
func (d *DB) MaxCommit() (bytes, writes int64) {
	return d.MaxBatchSize() - 1024, d.MaxBatchCount() - 8
}

// Commit commits what fill writes as one transaction at a timestamp above every other, and returns once it is durable. One
// call at a time; keys and values must stay as they are until it returns. fill tells how many bytes they have. An error that
// IsUnwritten, as every error of fill is, left the database alone; after any other, part of its memory may hold what was
// written: Badger puts it into its memtable too before the log is synced.
func (d *DB) Commit(ts uint64, fill func(*badger.Txn) (bytes int64, err error)) error {
	txn := d.NewTransactionAt(ts-1, true)
	defer txn.Discard()
	bytes, err := fill(txn)
	if err != nil {
		return &Unwritten{Translate(err)}
	}
	if err := txn.CommitAt(ts, nil); err != nil {
		return Translate(err)
	}
	d.pace.wrote(bytes)
	return d.wal.sync()
}

// Pace is called between two Commits, always by the same goroutine. It returns at once unless tables gather, see pace, and no
// later than when the context ends.
func (d *DB) Pace(ctx context.Context) { d.pace.wait(ctx) }

// Paused is for how long Pace took in all. It may be called at any time.
func (d *DB) Paused() time.Duration { return time.Duration(d.pace.paused.Load()) }

// Syncs counts how often the content of the log was synced by Commit: once by each that returned nil; never where Badger syncs
// it (see wal). It may be called at any time.
func (d *DB) Syncs() uint64 { return d.wal.syncs.Load() }

// Close closes the database. It is called once, whatever it returns; nothing is read or written any more.
func (d *DB) Close() error { return errors.Join(d.wal.close(), d.Bare.Close()) }

// MaxValue is below what a value may have: Badger would put a longer one into its value log.
func (d *DB) MaxValue() int64 { return d.Opts().ValueThreshold }
