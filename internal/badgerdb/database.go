// Package badgerdb is Badger as a store runs it, whatever is kept in it: checked before it is opened, tuned, durable when a
// commit returns, and closed. What lies in it is badgerstore's matter.
package badgerdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// DB is a Badger database in managed mode, written to by one goroutine.
type DB struct {
	*Bare
	// wal is used by one goroutine at a time: by whoever opens the database, then by whoever commits, then by whoever closes it.
	wal  *wal
	pace *pace
	room *room
	// merging says that Badger merges tables by itself.
	merging bool
	log     *slog.Logger
	handles *handles
	// others are the files beside tables and logs.
	others []string
	// lock keeps everybody else out of the directory.
	lock io.Closer
	// packer belongs to who commits. scratches are *[]byte, of values that are unpacked.
	packer    *valuePacker
	unpacker  *unpacker
	scratches sync.Pool
	counts    counts
	// private is nil where Badger's private functions cannot be called.
	private  *private
	explicit *explicit
	logFill  *logFill
	options  Options
	// stopBrink ends brink.watch.
	stopBrink   func()
	closeWithin time.Duration
}

// Open opens the database in a directory, and creates both if they are not there. Errors: ErrFormat, ErrLocked, ErrKey, ErrDamaged,
// chainstore.ErrDiskFull, chainstore.ErrTooManyFiles, those of the file system.
func Open(dir string, o Options) (*DB, error) {
	o = o.complete()
	if err := prepareDirectory(dir); err != nil {
		return nil, err
	}
	lock, err := lockDirectory(dir)
	if err != nil {
		return nil, err
	}
	d, err := openLocked(dir, &o)
	if errors.Is(err, syscall.EROFS) {
		err = fmt.Errorf("%w: the file system takes no writes: see the system's log for why, and mount it so that it does", err)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	d.lock = lock
	return d, nil
}

// openLocked opens the database in a directory that nobody else has open.
func openLocked(dir string, o *Options) (*DB, error) {
	if err := checkDirectory(dir); err != nil {
		return nil, err
	}
	found, err := settle(dir, o)
	if err != nil {
		return nil, err
	}
	h := newHandles(o.Logger)
	if err := h.checkOpen(len(found.tables)); err != nil {
		return nil, err
	}
	b, merging, err := openInRoom(dir, o, found, h)
	if err != nil {
		return nil, fmt.Errorf("open the database in %s: %w", dir, err)
	}
	w, err := openWAL(dir, o.SyncLog)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	h.levels = b.Levels
	tellReadAhead(o.Logger, dir, found.bytes())
	d := &DB{
		Bare: b, wal: w, room: newRoom(b.DB, o, w.bytes), merging: merging, log: o.Logger, handles: h, others: otherFiles(dir),
		closeWithin: closeWithin, scratches: sync.Pool{New: func() any { return new([]byte) }},
		explicit: newExplicit(), logFill: newLogFill(w.last, o.MemtableBytes), options: *o,
	}
	if !o.OnlyPublic {
		d.private = privateOf(b.DB, badgerSource())
	}
	if d.packer, d.unpacker, err = newPacking(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	d.pace = newPace(d.level0, b.Opts().NumLevelZeroTablesStall, o.MemtableBytes)
	if _, err := d.room.left(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	d.stopBrink = func() {}
	if merging {
		d.stopBrink = inBackground(newBrink(b.DB, o, d.explicit.running.Load).watch)
	}
	if !merging && o.Logger != nil {
		o.Logger.Warn("merges of tables would not fit on the disk, or open too many files: puts are refused until they would, and tables are merged again after a restart",
			"kept_bytes", d.room.keptAtLastLook.Load())
	}
	return d, nil
}

// level0 counts the tables of level 0.
func (d *DB) level0() int { return d.Levels()[0].NumTables }

// MaxCommit is what a commit takes at most, in writes, and in bytes of keys and values with WriteOverhead for each write. It
// is below what Badger takes in a transaction.
func (d *DB) MaxCommit() (bytes, writes int64) {
	return d.MaxBatchSize() - 1024, d.MaxBatchCount() - 8
}

// Ready tells whether a Commit may be written: puts is the error that keeps one from being written that adds something, deletes
// the one that keeps even one from being written that only deletes. It is called by the goroutine that commits. Errors:
// chainstore.ErrDiskFull, chainstore.ErrTooManyFiles, chainstore.ErrFailed while the directory is away.
func (d *DB) Ready() (puts, deletes error) {
	if d.isReadOnly() {
		return errReadOnly, errReadOnly
	}
	if err := d.handles.check(); err != nil {
		return err, err
	}
	return d.room.check()
}

// Room is how many bytes of the disk are kept free for what Badger has to write by itself, and how many commits may take yet. It
// may be called at any time.
func (d *DB) Room() (kept, left int64, err error) { return d.room.gauges() }

// Commit commits what fill writes as one transaction, and returns once it is durable. Its timestamp is one above that of the
// transaction before, the first one's is 1; and it sets at least one key: what is missing in an order without a gap is noticed
// when the database is opened (see checkLogs). One
// call at a time; keys and values must stay as they are until it returns. fill tells how many bytes they have. An error that
// IsUnwritten, as every error of fill is, left the database alone; after any other, part of its memory may hold what was
// written: Badger puts it into its memtable too before the log is synced.
func (d *DB) Commit(ts uint64, fill func(*badger.Txn) (bytes int64, err error)) error {
	return d.commit(ts, func(txn *badger.Txn) (bytes, rows int64, err error) {
		bytes, err = fill(txn)
		_, most := d.MaxCommit()
		return bytes, most, err
	})
}

// commit is Commit; fill tells how many rows it writes at most, too. It waits where a log is kept: see KeepLog.
func (d *DB) commit(ts uint64, fill func(*badger.Txn) (bytes, rows int64, err error)) error {
	if d.isReadOnly() {
		return &Unwritten{errReadOnly}
	}
	txn := d.NewTransactionAt(ts-1, true)
	defer txn.Discard()
	bytes, rows, err := fill(txn)
	if err != nil {
		return &Unwritten{Translate(err)}
	}
	d.logFill.wait(bytes, rows)
	if err := txn.CommitAt(ts, nil); err != nil {
		return Translate(err)
	}
	d.pace.wrote(bytes)
	d.room.wrote(bytes)
	err = d.wal.sync()
	d.logFill.wrote(d.wal.last, bytes, rows)
	return err
}

// Pace is called between two Commits, always by the same goroutine. It returns at once unless tables gather, see pace, and no
// later than when the context ends.
func (d *DB) Pace(ctx context.Context) {
	if d.merging { // else tables gather until the store is opened again
		d.pace.wait(ctx)
	}
}

// Paused is for how long Pace took in all. It may be called at any time.
func (d *DB) Paused() time.Duration { return time.Duration(d.pace.paused.Load()) }

// Syncs counts how often the content of the log was synced by Commit: once by each that returned nil; never where Badger syncs
// it (see wal). It may be called at any time.
func (d *DB) Syncs() uint64 { return d.wal.syncs.Load() }

// Close closes the database. It is called once, whatever it returns; nothing is read or written any more. Where the disk cannot
// take what is in memory as a table, or does not within closeWithin, the database is left as a kill would leave it, locked until the
// process ends: what was committed is in the log.
func (d *DB) Close() error {
	if d.isReadOnly() {
		return errors.Join(d.Bare.Close(), d.lock.Close())
	}
	err := d.wal.close()
	d.explicit.close()
	if left, roomErr := d.room.toClose(); roomErr == nil && left < 0 {
		if d.log != nil {
			d.log.Warn("the disk is too full to write what is in memory as a table: it stays in the log", "missing_bytes", -left)
		}
		go hold(d.lock) // Badger goes on, and brink with it
		return err
	}
	closed := make(chan error, 1)
	go func() {
		d.explicit.finish()
		closed <- d.Bare.Close()
	}()
	select {
	case closeErr := <-closed:
		d.stopBrink()
		return errors.Join(err, closeErr, d.lock.Close())
	case <-time.After(d.closeWithin):
		go hold(d.lock)
		return errors.Join(err, fmt.Errorf(
			"the database was not closed within %s, since a table cannot be written: what was committed is in its logs", d.closeWithin))
	}
}

// closeWithin is how long closing may take, outside tests: Badger tries for ever to write a table that the file system refuses.
const closeWithin = time.Minute

// hold keeps a lock until the process ends.
func hold(lock io.Closer) {
	<-make(chan struct{}) // never
	runtime.KeepAlive(lock)
}

// Encrypted tells whether the database is encrypted.
func (d *DB) Encrypted() bool { return len(d.Opts().EncryptionKey) > 0 }

// MaxValue is below what a value may have: Badger would put a longer one into its value log.
func (d *DB) MaxValue() int64 { return d.Opts().ValueThreshold }
