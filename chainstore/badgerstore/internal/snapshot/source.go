// Package snapshot reads what is stored as of a commit, of what is kept in memory and else of the database: nodes, lineages, tables,
// rows, aliases and the names of namespaces.
package snapshot

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// Source is what snapshots are of: the database, and what is kept of it in memory.
type Source struct {
	DB       *badgerdb.DB
	Versions *Versions
	Names    *Names
	// Header is the store's, as of the newest commit or a later one. Who opens the store sets it, then the committer.
	Header atomic.Pointer[layout.StoreHeader]
	// Eras are the store's, as of the newest commit; nil where it does not note them. Who opens the store sets them, then the committer.
	Eras   atomic.Pointer[layout.Eras]
	Caches *cache.Caches
	// readNodes is that of caches; nil where reads ask the database.
	readNodes *cache.Nodes
	scratches sync.Pool // *[]byte, of scans
	// Clock tells the time since some moment: how long a snapshot was held.
	Clock func() time.Duration
	// Copied are the bytes of values that were copied out of the database's memory.
	Copied atomic.Uint64
}

// NewSource begins with the newest state of a database. Without keepsReads, reads ask the database for every node.
func NewSource(db *badgerdb.DB, caches *cache.Caches, keepsReads bool) *Source {
	s := &Source{
		DB: db, Versions: NewVersions(db.Discard, db.MaxVersion()), Names: newNamespaceNumbers(), Caches: caches,
		scratches: sync.Pool{New: func() any { return new([]byte) }}, Clock: clock(),
	}
	if keepsReads {
		s.readNodes = caches.Nodes
	}
	return s
}

// clock tells the time since now.
func clock() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}
