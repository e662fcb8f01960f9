package badgerstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	// baseLevelBytes is how much the first level below the tables of memtables holds before it is merged further down.
	// With Badger's 10 MiB, less than a table of a memtable, data went through more levels.
	baseLevelBytes = 64 << 20
	// baseTableBytes is how large its tables are; twice that in each level below. A table is built in pieces of memory that
	// double, before and after compression: these, of text that compresses four times, just fill two pieces; with Badger's
	// 2 MiB the third and largest is hardly used.
	baseTableBytes = 3 << 19
	// mergedTables of the first level, each from a memtable, are merged into the next one; more gather only while more is
	// written than is merged, and the more they are, the less is merged for each. From stalledTables more than the store was
	// opened with, memtables and then writers wait: opening waits for all but one of the memtables that a killed store left,
	// and one that was killed again and again before its first merge, a second after each start, has gathered tables. See
	// firstLevel for what else Badger would do with so many.
	mergedTables  = 6
	stalledTables = 16
)

// Open opens the store in a directory, and creates both if they are not there. Errors: ErrFormat, ErrLocked,
// chainstore.ErrDiskFull, those of the file system. What Badger's log holds of changes that were never acknowledged may be there or not, each whole.
func Open(dir string, o Options) (*Store, error) {
	o = o.complete()
	if err := prepareDirectory(dir); err != nil {
		return nil, err
	}
	if err := roomToOpen(dir, &o); err != nil {
		return nil, err
	}
	db, err := badger.OpenManaged(databaseOptions(dir, &o))
	if err != nil {
		if isLocked(dir) {
			return nil, fmt.Errorf("%w: %s", ErrLocked, dir)
		}
		return nil, fmt.Errorf("open the database in %s: %w", dir, err)
	}
	freeBuilders(db)
	s := &Store{
		stopYoung: keepYoung(db),
		dir:       dir, now: o.Now, db: db, reads: newOpenReads(db, db.MaxVersion()), names: newNamespaceNumbers(),
		rows: newRowCache(o.RowCacheBytes - headCacheBytes(&o)), heads: newHeadCache(headCacheBytes(&o)),
	}
	w, err := openWAL(dir)
	if err == nil {
		err = s.checkFormat()
	}
	if err == nil {
		err = w.sync()
	}
	if err != nil {
		s.stopYoung()
		return nil, errors.Join(err, w.close(), db.Close())
	}
	s.committer = newCommitter(s, &o, w)
	return s, nil
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

// headCacheBytes is what heads get of what is for rows and heads.
func headCacheBytes(o *Options) int64 { return o.RowCacheBytes / 16 }

// prepareDirectory creates the directory and refuses one that holds something else.
func prepareDirectory(dir string) error {
	if err := createDirectory(filepath.Clean(dir)); err != nil {
		return fmt.Errorf("create the store's directory: %w", err)
	}
	head, err := readHead(filepath.Join(dir, badger.ManifestFilename), 8)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return refuseStrangers(dir)
	case err != nil:
		return fmt.Errorf("read the store's manifest: %w", err)
	case len(head) < 8 || string(head[:4]) != "Bdgr" || binary.BigEndian.Uint16(head[4:]) != externalMagic:
		return fmt.Errorf("%w: %s holds another program's database", ErrFormat, dir)
	}
	return nil
}

// createDirectory creates a directory, and those above it, that is there after a power loss.
func createDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is a file", dir)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if err := createDirectory(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncDirectory(parent)
}

func readHead(path string, n int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	n, err = f.ReadAt(b, 0)
	if n > 0 {
		err = nil
	}
	return b[:n], err
}

// refuseStrangers refuses a directory without a manifest that holds anything but what a first Open that was cut short
// leaves, or a file system's own.
func refuseStrangers(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the store's directory: %w", err)
	}
	for _, e := range entries {
		switch e.Name() {
		case "LOCK", "MANIFEST-REWRITE", "lost+found":
		default:
			return fmt.Errorf("%w: %s is not empty and holds no database", ErrFormat, dir)
		}
	}
	return nil
}

// checkFormat reads the format row, and writes it into an empty store.
func (s *Store) checkFormat() error {
	key := tableKey(ownNamespace, tableFormat)
	v, err := s.open(ownNamespace)
	if err != nil {
		return err
	}
	defer v.close()
	value, found, err := v.get(key)
	if err != nil {
		return err
	}
	if !found {
		if v.ts > 0 {
			return fmt.Errorf("%w: %s has no format version", ErrFormat, s.dir)
		}
		return s.createFormat(key)
	}
	version, err := parseNumber(value, tableFormat)
	if err != nil {
		return err
	}
	if version != formatVersion {
		return fmt.Errorf("%w: %s has format %d, this version reads %d", ErrFormat, s.dir, version, formatVersion)
	}
	return nil
}

// write commits writes as one transaction at a timestamp above every other; readers do not see it yet. An error that is
// unwritten left the database alone; after any other, part of its memory may hold the writes: Badger puts them into its
// memtable too before the log is synced. They are durable once wal.sync returned.
func (s *Store) write(writes map[string]write, ts uint64) error {
	txn := s.db.NewTransactionAt(ts-1, true)
	defer txn.Discard()
	keys := make([]byte, 0, keyBytes(writes))
	for key, w := range writes {
		begin := len(keys)
		keys = append(keys, key...)
		var err error
		if w.deleted {
			err = txn.Delete(keys[begin:len(keys):len(keys)])
		} else {
			err = txn.Set(keys[begin:len(keys):len(keys)], w.value)
		}
		if err != nil {
			return &unwritten{translate(err)}
		}
	}
	if err := txn.CommitAt(ts, nil); err != nil {
		return translate(err)
	}
	s.counts.sets.Add(uint64(len(writes)))
	return nil
}

func keyBytes(writes map[string]write) (n int) {
	for key := range writes {
		n += len(key)
	}
	return n
}

// createFormat makes an empty store one of this version.
func (s *Store) createFormat(key []byte) error {
	if err := s.write(map[string]write{string(key): {value: numberValue(formatVersion)}}, 1); err != nil {
		return err
	}
	s.reads.publish(1)
	return nil
}

// unwritten is an error before anything was handed to the database.
type unwritten struct{ error }

func (u *unwritten) Unwrap() error { return u.error }

func asUnwritten(err error) bool {
	var u *unwritten
	return errors.As(err, &u)
}
