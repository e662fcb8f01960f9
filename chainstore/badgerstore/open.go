package badgerstore

import (
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// Open opens the store in a directory, and creates both if they are not there. Errors: ErrFormat, ErrLocked, ErrKey, ErrDamaged,
// chainstore.ErrDiskFull, chainstore.ErrTooManyFiles, chainstore.ErrCorrupt, those of the file system. What Badger's log holds of changes that were never acknowledged
// may be there or not, each whole.
func Open(dir string, o Options) (*Store, error) {
	o = o.complete()
	config := o.database(dir)
	config.BlockCacheBytes, config.MemtableBytes, config.Logger, config.SyncLog, config.OnlyPublic = blockCacheBytes(&o), o.MemtableBytes, o.Logger, o.syncLog, o.onlyPublic
	open := badgerdb.Open
	if o.ReadOnly {
		open = badgerdb.OpenReadOnly
	}
	db, err := open(dir, config)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, now: o.Now, exportReach: chainstore.ExportReach, merges: newMerges(), source: snapshot.NewSource(db, cache.New(o.cacheSizes(), o.Now), o.RowCacheBytes > 0)}
	if err = s.takeUp(&o); err == nil && !o.ReadOnly {
		err = s.takeBack()
	}
	if err == nil {
		err = s.source.CheckNames(dir)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.committer = commit.New(commit.Config{Source: s.source, Now: s.millis, QueueBytes: o.QueueBytes})
	s.startPurges(&o)
	return s, nil
}

// database are the options of the database that do not depend on how it is used.
func (o *Options) database(dir string) badgerdb.Options {
	config := admission(dir)
	config.EncryptionKey, config.DataKeyRotation, config.IndexCacheBytes = o.EncryptionKey, o.DataKeyRotation, indexCacheBytes(o)
	return config
}

// commitCacheBytes is the share of who commits of the caches, for tips and calls; indexCacheBytes, for indexes of tables, and
// blockCacheBytes, the database's.
func commitCacheBytes(o *Options) int64 { return o.CacheBytes / 8 }

func indexCacheBytes(o *Options) int64 {
	if len(o.EncryptionKey) == 0 {
		return 0
	}
	return o.CacheBytes / 8
}

func blockCacheBytes(o *Options) int64 {
	return o.CacheBytes - commitCacheBytes(o) - indexCacheBytes(o) - max(0, o.RowCacheBytes)
}

// cacheSizes divides what is for rows, nodes and aliases that were read, and what is for who commits.
func (o *Options) cacheSizes() cache.Sizes {
	calls, others, read := commitCacheBytes(o)/2, commitCacheBytes(o)/16, max(0, o.RowCacheBytes/16)
	s := cache.Sizes{Tips: commitCacheBytes(o) - calls - others, Nodes: others + read, Calls: calls, Aliases: o.RowCacheBytes / 128}
	s.Rows = o.RowCacheBytes - read - s.Aliases
	return s
}
