package badgerdb

import (
	"errors"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
)

// counts are what was asked of the database, and written to it, since it was opened.
type counts struct{ gets, seeks, nexts, sets, written, unpacked atomic.Uint64 }

// Counts are what was asked of the database since it was opened: values by key, searches for a key, steps to the next one; Sets are keys
// written or deleted, Written the bytes of these and of their values as the database got them, Unpacked those of values that were
// packed and were read. Reads and writes past Snapshot and Write are not counted.
type Counts struct{ Gets, Seeks, Nexts, Sets, Written, Unpacked uint64 }

// Counts may be called at any time.
func (d *DB) Counts() Counts {
	c := &d.counts
	return Counts{c.gets.Load(), c.seeks.Load(), c.nexts.Load(), c.sets.Load(), c.written.Load(), c.unpacked.Load()}
}

// Snapshot is the database as of a commit. It must be closed, soon: the database keeps all that it can see. Not for use by several
// goroutines.
type Snapshot struct {
	db  *DB
	txn *badger.Txn
	// read, if not nil, counts the bytes of the keys and values that are read, as they are stored.
	read *int64
}

// Snapshot is the database as a commit left it, which is not before the one that Discard was called with last.
func (d *DB) Snapshot(commit uint64) Snapshot {
	return Snapshot{d, d.NewTransactionAt(commit, false), nil}
}

// Metered is a snapshot that adds to read the bytes of the keys and values that are read of it, as they are stored. It is closed once.
func (s Snapshot) Metered(read *int64) Snapshot {
	s.read = read
	return s
}

// Discard says that nobody asks for what was there before a commit any more.
func (d *DB) Discard(commit uint64) { d.SetDiscardTs(commit) }

// Close ends the use of the snapshot.
func (s Snapshot) Close() { s.txn.Discard() }

// Get runs f on a value that is there; the value is f's only until it returns.
func (s Snapshot) Get(key []byte, f func(value []byte) error) (found bool, err error) {
	s.db.counts.gets.Add(1)
	item, err := s.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, Translate(err)
	}
	if s.read != nil {
		*s.read += item.EstimatedSize()
	}
	return true, s.db.value(item, f)
}

// Version tells with which commit a key got the value that it has.
func (s Snapshot) Version(key []byte) (commit uint64, found bool, err error) {
	s.db.counts.gets.Add(1)
	item, err := s.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, Translate(err)
	}
	return item.Version(), true, nil
}

// Iterator walks over the keys of a snapshot with a prefix, in order. It must be closed before the snapshot is.
type Iterator struct {
	db   *DB
	it   *badger.Iterator
	read *int64
}

// Iterator walks over keys with a prefix; with versions also over what each key had before, and over deletions, until the database
// has merged them away.
func (s Snapshot) Iterator(prefix []byte, versions bool) Iterator {
	return Iterator{s.db, s.txn.NewIterator(badger.IteratorOptions{Prefix: prefix, AllVersions: versions}), s.read}
}

// Backwards walks over keys with a prefix from the last to the first, over what each key had before as Iterator does, oldest first. Seek
// goes to a key, or to the last one before it.
func (s Snapshot) Backwards(prefix []byte) Iterator {
	return Iterator{s.db, s.txn.NewIterator(badger.IteratorOptions{Prefix: prefix, AllVersions: true, Reverse: true}), s.read}
}

// Close ends the use of the iterator.
func (i Iterator) Close() { i.it.Close() }

// Seek goes to a key, or to the first one behind it.
func (i Iterator) Seek(key []byte) {
	i.db.counts.seeks.Add(1)
	i.it.Seek(key)
}

// Next goes to the next key, or version.
func (i Iterator) Next() {
	i.db.counts.nexts.Add(1)
	i.it.Next()
}

// Valid tells whether the iterator is at a key.
func (i Iterator) Valid() bool { return i.it.Valid() }

// Within tells whether the iterator is at a key with a prefix.
func (i Iterator) Within(prefix []byte) bool { return i.it.ValidForPrefix(prefix) }

// Key is borrowed until the iterator moves.
func (i Iterator) Key() []byte { return i.it.Item().Key() }

// Deleted tells whether this version says that the key is not there.
func (i Iterator) Deleted() bool { return i.it.Item().IsDeletedOrExpired() }

// Version is the commit with which the key got the value that it has.
func (i Iterator) Version() uint64 { return i.it.Item().Version() }

// Value runs f on the value, which is f's until it returns.
func (i Iterator) Value(f func(value []byte) error) error {
	item := i.it.Item()
	if i.read != nil {
		*i.read += item.EstimatedSize()
	}
	return i.db.value(item, f)
}

// Batch is what a commit writes. Keys and values must stay as they are until the commit returns.
type Batch struct {
	db   *DB
	txn  *badger.Txn
	keys uint64
	// bytes are those of keys and of values as the database gets them.
	bytes int64
}

// Set sets a key to a value.
func (b *Batch) Set(key, value []byte) error {
	held, mark := b.db.packer.pack(value)
	b.wrote(key, held)
	return b.txn.SetEntry(badger.NewEntry(key, held).WithMeta(mark))
}

// Delete deletes a key.
func (b *Batch) Delete(key []byte) error {
	b.wrote(key, nil)
	return b.txn.Delete(key)
}

func (b *Batch) wrote(key, value []byte) {
	b.keys++
	b.bytes += int64(len(key) + len(value))
}

// Write commits what fill writes; see Commit.
func (d *DB) Write(commit uint64, fill func(*Batch) error) error {
	b := Batch{db: d}
	err := d.commit(commit, func(txn *badger.Txn) (bytes, rows int64, err error) {
		b.txn = txn
		err = fill(&b)
		return b.bytes, int64(b.keys), err
	})
	if err == nil {
		d.counts.sets.Add(b.keys)
		d.counts.written.Add(uint64(b.bytes))
	}
	return err
}

// BlockCache are what the cache of blocks has and may have, in bytes, and how often a block was found there and was not.
func (d *DB) BlockCache() (bytes, limit int64, hits, misses uint64) {
	return cacheOf(d.BlockCacheMetrics(), d.Opts().BlockCacheSize)
}

// IndexCache are those of the cache of tables' indexes; 0 where the database is not encrypted.
func (d *DB) IndexCache() (bytes, limit int64, hits, misses uint64) {
	return cacheOf(d.IndexCacheMetrics(), d.Opts().IndexCacheSize)
}

// cacheMetrics are those of one of Badger's caches; where there is none they are all 0.
type cacheMetrics interface {
	CostAdded() uint64
	CostEvicted() uint64
	Hits() uint64
	Misses() uint64
}

// cacheOf reads the metrics of a cache of a size.
func cacheOf(m cacheMetrics, size int64) (bytes, limit int64, hits, misses uint64) {
	evicted := m.CostEvicted() // first: it was added before
	return max(0, int64(m.CostAdded()-evicted)), size, m.Hits(), m.Misses()
}
