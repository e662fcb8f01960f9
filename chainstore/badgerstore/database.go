package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/transcriptd/transcriptd/chainstore"
)

// What the database is opened with.
const (
	// externalMagic marks a directory as ours. Part of the storage format, must not change.
	externalMagic = 0x7463
	// valueThreshold is the size from which on the database would put a value into its value log, whose failures to
	// sync it only logs. No value is that large: see tooLarge.
	valueThreshold = 1 << 20
	// blockSize and compressionLevel: what a block on disk is before compression, and the zstd level. Badger's encoder knows
	// two: 3 makes blocks a twentieth smaller, and takes a third more time for each, several times over in merges.
	blockSize        = 32 << 10
	compressionLevel = 1
	// memtables may wait to be written as tables, beside the one that is written and the one that is filled.
	memtables = 1
	// baseLevelBytes is how much the first level below the tables of memtables holds before it is merged further down. The
	// more it is, the more of it is written anew with the tables of memtables, and the less of the level below with each of its own.
	baseLevelBytes = 256 << 20
	// baseTableBytes is how large its tables are; twice that in each level below. A table is built in pieces of memory that
	// double, before and after compression: these, of text that compresses four times, just fill two pieces; with Badger's
	// 2 MiB the third and largest is hardly used.
	baseTableBytes = 3 << 19
	// mergedTables of the first level, each from a memtable, are merged into the next one; more gather only while more is
	// written than is merged, and the more they are, the less is merged for each. From stalledTables more than the store was
	// opened with, memtables and then writers wait: opening waits for all but one of the memtables that a killed store left,
	// and one that was killed again and again before its first merge, a second after each start, has gathered tables. See
	// firstLevel for what else Badger would do with so many, and decision 0039 for these numbers and baseLevelBytes.
	mergedTables  = 9
	stalledTables = 19
)

// Database is the Badger database of a store, whatever is kept in it: this package opens it, tunes it, makes what it commits
// durable, and closes it. It is exported, with its Badger, for what a store is measured against, and for nothing else: who
// uses a store sees a Store.
type Database struct {
	*Bare
	// wal is used by one goroutine at a time: by whoever opens the database, then by whoever commits, then by whoever closes it.
	wal  *wal
	pace *pace
}

// OpenDatabase opens the database in a directory in managed mode, and creates both if they are not there. It looks at
// o.CacheBytes, o.RowCacheBytes, o.MemtableBytes, o.ReserveBytes and o.Logger. Errors: as Open's.
func OpenDatabase(dir string, o Options) (*Database, error) {
	o = o.complete()
	if err := prepareDirectory(dir); err != nil {
		return nil, err
	}
	if err := roomToOpen(dir, &o); err != nil {
		return nil, err
	}
	b, err := tune(badger.OpenManaged(databaseOptions(dir, &o)))
	if err != nil {
		if isLocked(dir) {
			return nil, fmt.Errorf("%w: %s", ErrLocked, dir)
		}
		return nil, fmt.Errorf("open the database in %s: %w", dir, err)
	}
	w, err := openWAL(dir)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	waiting := func() int { return b.Levels()[0].NumTables }
	return &Database{b, w, newPace(waiting, b.Opts().NumLevelZeroTablesStall, o.MemtableBytes)}, nil
}

// Room is what a commit takes at most, in writes, and in bytes of keys and values with writeOverhead for each write. It is below
// what Badger takes in a transaction.
func (d *Database) Room() (bytes, writes int64) {
	return d.MaxBatchSize() - 1024, d.MaxBatchCount() - 8
}

// Commit commits what fill writes as one transaction at a timestamp above every other, and returns once it is durable. One
// call at a time; keys and values must stay as they are until it returns. fill tells how many bytes they have. An error that is
// unwritten, as every error of fill is, left the database alone; after any other, part of its memory may hold what was
// written: Badger puts it into its memtable too before the log is synced.
func (d *Database) Commit(ts uint64, fill func(*badger.Txn) (bytes int64, err error)) error {
	txn := d.NewTransactionAt(ts-1, true)
	defer txn.Discard()
	bytes, err := fill(txn)
	if err != nil {
		return &unwritten{translate(err)}
	}
	if err := txn.CommitAt(ts, nil); err != nil {
		return translate(err)
	}
	d.pace.wrote(bytes)
	return d.wal.sync()
}

// Pace is called between two Commits, always by the same goroutine. It returns at once unless tables gather, see pace, and no
// later than when the context ends.
func (d *Database) Pace(ctx context.Context) { d.pace.wait(ctx) }

// Paused is for how long Pace took in all. It may be called at any time.
func (d *Database) Paused() time.Duration { return time.Duration(d.pace.paused.Load()) }

// Syncs counts how often the content of the log was synced by Commit: once by each that returned nil; never where Badger syncs
// it (see wal). It may be called at any time.
func (d *Database) Syncs() uint64 { return d.wal.syncs.Load() }

// Close closes the database. It is called once, whatever it returns; nothing is read or written any more.
func (d *Database) Close() error { return errors.Join(d.wal.close(), d.Bare.Close()) }

// unwritten is an error before anything was handed to the database.
type unwritten struct{ error }

func (u *unwritten) Unwrap() error { return u.error }

func asUnwritten(err error) bool {
	var u *unwritten
	return errors.As(err, &u)
}

// Bare is a Badger database that holds memory and merges as that of a store does: see freeBuilders and keepYoung. It makes
// nothing durable but what its options say.
type Bare struct {
	*badger.DB
	// stopYoung ends keepYoung.
	stopYoung func()
}

// OpenBare opens a database for what a store is measured against: with the options of a store that is opened with the
// default ones, but for what change makes of them, in Badger's own mode, in which it numbers transactions itself. Errors
// are Badger's.
func OpenBare(dir string, change func(badger.Options) badger.Options) (*Bare, error) {
	o := Options{}.complete()
	return tune(badger.Open(change(databaseOptions(dir, &o))))
}

// tune takes a database that was just opened, or the error of that.
func tune(db *badger.DB, err error) (*Bare, error) {
	if err != nil {
		return nil, err
	}
	freeBuilders(db)
	return &Bare{db, keepYoung(db)}, nil
}

// Close closes the database. It is called once, whatever it returns.
func (b *Bare) Close() error {
	b.stopYoung()
	if err := b.DB.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

func databaseOptions(dir string, o *Options) badger.Options {
	return badger.DefaultOptions(dir).
		WithExternalMagic(externalMagic).
		WithSyncWrites(!syncsLog). // see wal
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1).
		WithMemTableSize(o.MemtableBytes).
		WithNumMemtables(memtables).
		WithBaseLevelSize(baseLevelBytes).
		WithBaseTableSize(baseTableBytes).
		WithNumCompactors(2).
		WithNumLevelZeroTables(mergedTables).
		WithNumLevelZeroTablesStall(stalledTables + firstLevelTables(dir)).
		WithValueThreshold(min(valueThreshold, o.MemtableBytes/8)).
		WithValueLogFileSize(1 << 20).
		WithCompression(options.ZSTD).
		WithZSTDCompressionLevel(compressionLevel).
		WithBlockSize(blockSize).
		WithBlockCacheSize(max(1<<20, o.CacheBytes-nodeCacheBytes(o)-max(0, o.RowCacheBytes))).
		WithIndexCacheSize(0). // it would only be used where tables are encrypted; else their indexes are mapped files
		WithMetricsEnabled(false).
		WithLogger(databaseLogger{o.Logger})
}

// firstLevelTables counts those of a store that is to be opened. It is 0 where there is no manifest, or none that can be
// read: the database tells why when it is opened.
func firstLevelTables(dir string) int {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return 0
	}
	defer f.Close()
	manifest, _, err := badger.ReplayManifestFile(f, externalMagic, badger.DefaultOptions(dir).WithLogger(nil))
	if err != nil || len(manifest.Levels) == 0 {
		return 0
	}
	return len(manifest.Levels[0].Tables)
}

// roomToOpen refuses to open on a disk that cannot take a log: the database would end the process when it writes one
// through its memory map.
func roomToOpen(dir string, o *Options) error {
	if o.ReserveBytes < 0 {
		return nil
	}
	free, err := freeBytes(dir)
	if err == nil && free < o.MemtableBytes {
		err = fmt.Errorf("%w: %d MiB are free in %s, at least %d are needed to open the store",
			chainstore.ErrDiskFull, free>>20, dir, o.MemtableBytes>>20)
	}
	return err
}

// nodeCacheBytes is the committer's share of the caches.
func nodeCacheBytes(o *Options) int64 { return o.CacheBytes / 8 }

// headCacheBytes is what heads get of what is for rows, heads and aliases; aliasCacheBytes what aliases get, as many as heads.
func headCacheBytes(o *Options) int64  { return o.RowCacheBytes / 16 }
func aliasCacheBytes(o *Options) int64 { return o.RowCacheBytes / 128 }
