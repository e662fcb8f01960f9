package badgerstore

import (
	"time"

	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// Metrics are the store's counters since Open and what it holds now. Each value is right by itself; together they are
// of slightly different moments.
type Metrics struct {
	// Gets, Seeks and Nexts are what was asked of the database: values by key, searches for a key, steps to the next one.
	// Sets are keys written or deleted.
	Gets, Seeks, Nexts, Sets uint64
	// WrittenBytes are the bytes of those keys and of their values, before the database compresses them, and merges them again
	// and again.
	WrittenBytes uint64
	// Syncs is how often the log was synced for a commit; always 0 elsewhere than on Linux, where the database does it.
	Syncs uint64
	// CopiedBytes are the bytes of values that were copied out of the database's memory, be it into a cache, instead of being
	// read there.
	CopiedBytes uint64
	// Commits are durable transactions, and CommittedChanges the changes that were in them: those that wrote nothing,
	// since all was there, beside one that did are counted too. Changes by themselves that write nothing are no commit.
	Commits, CommittedChanges uint64
	// Paused is for how long commits were held back so that merges keep up.
	Paused time.Duration
	// QueueBytes is what changes take that wait to be committed or are being committed; <= QueueLimitBytes.
	QueueBytes, QueueLimitBytes int64
	// PurgeNodes, labels of PurgeAliases and PurgeNamespaces were erased, or deleted, and have not left the files yet; PurgeSince is when the first of
	// these was, in milliseconds since the epoch, 0 where there are none. Purges are those that were done, PurgeFailures those that are tried again.
	PurgeNodes, PurgeAliases, PurgeNamespaces, PurgeSince int64
	Purges, PurgeFailures                                 uint64
	// RoomKept is how much of the disk is kept free for what the database has to write by itself, RoomLeft how much puts may take
	// yet; both are 0 where the disk cannot be looked at.
	RoomKept, RoomLeft int64
	// Shape is how the tables lie in levels, and what all files take on disk.
	Shape badgerdb.Shape
	// Descriptors are the file descriptors of the process, Maps its memory maps, of which each table takes one; where the system does
	// not tell them, none, with no limit.
	Descriptors, Maps badgerdb.Usage
	// Blocks are of tables, decompressed; Rows are those of nodes, and Aliases where those point that chains were asked for by, that
	// were read lately; Nodes are those that chains grew from or were read from, with what is kept of the calls of chains.
	// Indexes are those of tables, where the store is encrypted; else they are in no cache: they are mapped from their files.
	Blocks, Indexes, Rows, Aliases, Nodes CacheMetrics
}

// CacheMetrics are those of a cache. Misses of blocks are reads of files.
type CacheMetrics = cache.Metrics

// Metrics reads all counters, which takes some ten microseconds. It may be called at any time, also once the store is closed.
func (s *Store) Metrics() Metrics {
	c := s.source.DB.Counts()
	m := Metrics{
		Gets: c.Gets, Seeks: c.Seeks, Nexts: c.Nexts, Sets: c.Sets,
		WrittenBytes: c.Written, Syncs: s.source.DB.Syncs(), CopiedBytes: c.Unpacked + s.source.Copied.Load(),
		Commits: s.committer.Commits.Load(), CommittedChanges: s.committer.Changes.Load(),
		Paused: s.source.DB.Paused(), Shape: s.source.DB.Shape(), Descriptors: s.Descriptors(), Maps: s.source.DB.Maps(),
		QueueBytes: s.committer.Queued.Load(), QueueLimitBytes: s.committer.Capacity,
		Rows: s.source.Caches.Rows.Metrics(), Aliases: s.source.Caches.Aliases.Metrics(), Nodes: s.source.Caches.Nodes.Metrics(),
	}
	m.Blocks.Bytes, m.Blocks.LimitBytes, m.Blocks.Hits, m.Blocks.Misses = s.source.DB.BlockCache()
	m.Indexes.Bytes, m.Indexes.LimitBytes, m.Indexes.Hits, m.Indexes.Misses = s.source.DB.IndexCache()
	m.Nodes.Bytes += s.source.Caches.Calls.Size()
	m.Nodes.LimitBytes += s.source.Caches.Calls.Limit()
	m.CopiedBytes += s.source.Caches.Rows.Copied()
	if p := s.purger; p != nil {
		m.PurgeNodes, m.PurgeAliases, m.PurgeNamespaces, m.PurgeSince = p.nodes.Load(), p.aliases.Load(), p.namespaces.Load(), p.since.Load()
		m.Purges, m.PurgeFailures = uint64(p.purges.Load()), uint64(p.failures.Load())
	}
	if kept, left, err := s.source.DB.Room(); err == nil {
		m.RoomKept, m.RoomLeft = kept, left
	}
	return m
}

// Descriptors are the file descriptors of the process; see Metrics. It may be called at any time.
func (s *Store) Descriptors() badgerdb.Usage { return s.source.DB.Descriptors() }
