package badgerstore

import (
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// Open opens the store in a directory, and creates both if they are not there. Errors: ErrFormat, ErrLocked, ErrDamaged,
// chainstore.ErrDiskFull, chainstore.ErrTooManyFiles, chainstore.ErrCorrupt, those of the file system. What Badger's log holds of changes that were never acknowledged
// may be there or not, each whole.
func Open(dir string, o Options) (*Store, error) {
	o = o.complete()
	db, err := badgerdb.Open(dir, badgerdb.Options{
		BlockCacheBytes: blockCacheBytes(&o), MemtableBytes: o.MemtableBytes, Logger: o.Logger, SyncLog: o.syncLog,
	})
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, now: o.Now, source: snapshot.NewSource(db, cache.New(o.cacheSizes(), o.Now), o.RowCacheBytes > 0)}
	if err = s.checkFormat(); err == nil {
		err = s.source.CheckNames(dir)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.committer = commit.New(commit.Config{Source: s.source, Now: s.millis, QueueBytes: o.QueueBytes})
	return s, nil
}

// checkFormat reads the format row, and writes it into an empty store and one of an earlier version.
func (s *Store) checkFormat() error {
	key := layout.TableKey(layout.OwnNamespace, layout.TableFormat)
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		return err
	}
	defer v.Close()
	value, found, err := v.Get(key)
	if err != nil {
		return err
	}
	if !found {
		if v.Seen > 0 {
			return fmt.Errorf("%w: %s has no format version: another program wrote it, or its first rows are hidden by a damaged table; "+
				"then go back to a backup", ErrFormat, s.dir)
		}
		return s.writeFormat(key, 1)
	}
	version, err := layout.ParseNumber(value, layout.TableFormat)
	if err != nil {
		return err
	}
	switch version {
	case layout.FormatVersion:
		return nil
	case layout.FirstFormatVersion:
		return s.writeFormat(key, v.Seen+1) // its headers stay as they are
	default:
		return fmt.Errorf("%w: %s has format %d, this version reads %d", ErrFormat, s.dir, version, layout.FormatVersion)
	}
}

// writeFormat makes the store one of this version, as of a commit.
func (s *Store) writeFormat(key []byte, ts uint64) error {
	if err := commit.WriteTo(s.source.DB, map[string]commit.Write{string(key): {Value: layout.NumberValue(layout.FormatVersion)}}, ts); err != nil {
		return err
	}
	s.source.Versions.Publish(ts)
	return nil
}

// commitCacheBytes is the share of who commits of the caches, for tips and calls; blockCacheBytes the database's.
func commitCacheBytes(o *Options) int64 { return o.CacheBytes / 8 }
func blockCacheBytes(o *Options) int64 {
	return o.CacheBytes - commitCacheBytes(o) - max(0, o.RowCacheBytes)
}

// cacheSizes divides what is for rows, nodes and aliases that were read, and what is for who commits.
func (o *Options) cacheSizes() cache.Sizes {
	calls, others, read := commitCacheBytes(o)/2, commitCacheBytes(o)/16, max(0, o.RowCacheBytes/16)
	s := cache.Sizes{Tips: commitCacheBytes(o) - calls - others, Nodes: others + read, Calls: calls, Aliases: o.RowCacheBytes / 128}
	s.Rows = o.RowCacheBytes - read - s.Aliases
	return s
}
