package badgerdb

import (
	"log/slog"
	"os"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// What the database is opened with.
const (
	// externalMagic marks a directory as ours. Part of the storage format, must not change.
	externalMagic = 0x7463
	// WriteOverhead is what a write counts in a transaction beside key and value; at least what Badger counts.
	WriteOverhead = 16
	// MaxKey is below what Badger takes as a key.
	MaxKey = 64000
	// valueThreshold is the size from which on the database would put a value into its value log, whose failures to
	// sync it only logs. No value is that large: see tooLarge.
	valueThreshold = 1 << 20
	// blockSize and compressionLevel: what a block on disk is before compression, and the zstd level. Badger's encoder knows
	// two: 3 makes blocks a twentieth smaller, and takes a third more time for each, several times over in merges.
	blockSize        = 32 << 10
	compressionLevel = 1
	// memtables may wait to be written as tables, beside the one that is written and the one that is filled.
	memtables = 1
	// baseLevelBytes is how much the base level, the first below level 0, holds before it is merged further down. The more it is, the more of
	// it is written anew with the tables of level 0, and the less of the level below with each of its own.
	baseLevelBytes = 256 << 20
	// baseTableBytes is how large its tables are; twice that in each level below. A table is built in pieces of memory that
	// double, before and after compression: these, of text that compresses four times, just fill two pieces; with Badger's
	// 2 MiB the third and largest is hardly used.
	baseTableBytes = 3 << 19
	// mergedTables of level 0, each from a memtable, are merged into the next one; more gather only while more is
	// written than is merged, and the more they are, the less is merged for each. From stalledTables more than the store was
	// opened with, memtables and then writers wait: opening waits for all but one of the memtables that a killed store left,
	// and one that was killed again and again before its first merge, a second after each start, has gathered tables. See
	// decision 0039 for these numbers and baseLevelBytes.
	mergedTables  = 9
	stalledTables = 19
)

// Options are what Open may be told; the zero value means the defaults.
type Options struct {
	// BlockCacheBytes bounds the cache of blocks of tables. Default 8 MiB.
	BlockCacheBytes int64
	// MemtableBytes is how much Badger gathers in memory and in a log before it writes a table. A transaction may be about 15 %
	// of it. Default 32 MiB.
	MemtableBytes int64
	// EncryptionKey, of 32 bytes, encrypts the database; nil: it is not encrypted. A database stays what it was begun as.
	EncryptionKey []byte
	// DataKeyRotation is for how long new files are encrypted with the same data key. Default ten days, at most ten years: of more than
	// half a century Badger would take a store without a data key to have one, and encrypt nothing.
	DataKeyRotation time.Duration
	// IndexCacheBytes bounds the cache of tables' indexes of a database that is encrypted; of others they lie in the system's pages.
	// Default 8 MiB.
	IndexCacheBytes int64
	// Admit, if not nil, is asked before anything in the directory is changed. An error of it, which Open returns, leaves it as it is, byte
	// for byte. It gets the values of the keys in Peek: nil for one that is not there, or whose value cannot be told before the
	// database is open.
	Admit func(values [][]byte) error
	Peek  [][]byte
	// Logger takes Badger's warnings and errors; nil: none.
	Logger *slog.Logger
	// SyncLog makes what was written to a log durable, on Linux, where Badger does not; nil: syncLog. It is for tests, which
	// watch it or let it fail.
	SyncLog func(log *os.File) error
	// OnlyPublic calls no private function of Badger, as where the program is built with a version that was not looked at: see DropsBeside. It is for
	// tests.
	OnlyPublic bool

	// levelBytes is baseLevelBytes, outside tests.
	levelBytes int64
	// lookAtDisk tells what the file system of a directory still takes; nil: lookAtDisk.
	lookAtDisk func(dir string) (diskSpace, error)
}

// The defaults of Options.
const (
	DefaultMemtableBytes = 32 << 20
	defaultBlockCache    = 8 << 20
	defaultIndexCache    = 8 << 20
	// DefaultDataKeyRotation is Badger's.
	DefaultDataKeyRotation = 10 * 24 * time.Hour
	longestRotation        = 10 * 365 * 24 * time.Hour
)

func (o Options) complete() Options {
	if o.BlockCacheBytes <= 0 {
		o.BlockCacheBytes = defaultBlockCache
	}
	if o.MemtableBytes <= 0 {
		o.MemtableBytes = DefaultMemtableBytes
	}
	if o.DataKeyRotation <= 0 {
		o.DataKeyRotation = DefaultDataKeyRotation
	}
	o.DataKeyRotation = min(o.DataKeyRotation, longestRotation)
	if o.IndexCacheBytes <= 0 {
		o.IndexCacheBytes = defaultIndexCache
	}
	if o.levelBytes <= 0 {
		o.levelBytes = baseLevelBytes
	}
	if o.lookAtDisk == nil {
		o.lookAtDisk = lookAtDisk
	}
	if o.SyncLog == nil {
		o.SyncLog = syncLog
	}
	return o
}

// indexCache is what Badger may keep of tables' indexes: nothing where these are mapped files.
func (o *Options) indexCache() int64 {
	if len(o.EncryptionKey) == 0 {
		return 0
	}
	return max(1<<20, o.IndexCacheBytes)
}

// badgerOptions are for a store that has so many tables in level 0.
func badgerOptions(dir string, o *Options, level0 int) badger.Options {
	return badger.DefaultOptions(dir).
		WithExternalMagic(externalMagic).
		WithSyncWrites(!SyncsLog). // see wal
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1).
		WithMemTableSize(o.MemtableBytes).
		WithNumMemtables(memtables).
		WithBaseLevelSize(o.levelBytes).
		WithBaseTableSize(baseTableBytes).
		WithNumCompactors(2).
		WithNumLevelZeroTables(mergedTables).
		WithNumLevelZeroTablesStall(stalledTables + level0).
		WithValueThreshold(min(valueThreshold, o.MemtableBytes/8)).
		WithValueLogFileSize(1 << 20).
		WithCompression(options.ZSTD).
		WithZSTDCompressionLevel(compressionLevel).
		WithBlockSize(blockSize).
		WithBlockCacheSize(max(1<<20, o.BlockCacheBytes)).
		WithEncryptionKey(o.EncryptionKey).
		WithEncryptionKeyRotationDuration(o.DataKeyRotation).
		WithIndexCacheSize(o.indexCache()).
		WithMetricsEnabled(false).
		WithLogger(logger{o.Logger})
}
