// Package badgerstore keeps chains in an embedded Badger database. Nodes lie in segments, so that a chain is read by
// one range scan for each fork on it; internal/layout draws the format. One goroutine commits what concurrent
// callers hand in, in durable transactions of as many changes as came meanwhile; readers never wait for it.
package badgerstore

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/verify"
	"github.com/transcriptd/transcriptd/chainstore/internal/hold"
)

var _ chainstore.Store = (*Store)(nil)

// Options are what Open may be told; the zero value means the defaults.
type Options struct {
	// Now tells the time; nil: time.Now.
	Now func() time.Time
	// CacheBytes bounds the caches together: blocks of tables, rows, nodes and aliases that were read lately, and the tips of chains
	// that grow. Default 64 MiB.
	CacheBytes int64
	// RowCacheBytes is the part of CacheBytes for rows, nodes and aliases that were read. Default three quarters, five eighths
	// where the store is encrypted; less than 0: none, so that every read asks the database.
	RowCacheBytes int64
	// QueueBytes bounds the changes that wait to be committed or are being committed, each counted by what it holds and
	// a kilobyte. A caller beyond it waits. Default 64 MiB.
	QueueBytes int64
	// MemtableBytes is how much the database gathers in memory and in a log before it writes a table. A change may be
	// about 15 % of it. Default 32 MiB, the smallest that takes a node of 4 MiB.
	MemtableBytes int64
	// EncryptionKey, of 32 bytes, encrypts what lies on disk; nil: it is not encrypted. A store stays what it was begun as.
	EncryptionKey []byte
	// DataKeyRotation is for how long new files are encrypted with the same data key, which is encrypted with EncryptionKey. Default
	// ten days.
	DataKeyRotation time.Duration
	// ReadOnly opens a store that is there and changes none of its files: nothing can be written to it. One that was not closed, or has an
	// earlier format, is refused: ErrUnclean.
	ReadOnly bool
	// Logger takes the database's warnings and errors; nil: none.
	Logger *slog.Logger

	// purges are those of the purger; noPurges leaves what was erased where it is.
	purges   purgeTimes
	noPurges bool
	// onlyPublic is badgerdb's OnlyPublic, and syncLog its SyncLog.
	onlyPublic bool
	syncLog    func(log *os.File) error
}

// The defaults of Options.
const (
	defaultCacheBytes = 64 << 20
	defaultQueueBytes = 64 << 20
)

func (o Options) complete() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.RowCacheBytes == 0 {
		o.RowCacheBytes = 3*o.CacheBytes/4 - indexCacheBytes(&o)
	}
	if o.QueueBytes <= 0 {
		o.QueueBytes = defaultQueueBytes
	}
	if o.purges == (purgeTimes{}) {
		o.purges = defaultPurgeTimes()
	}
	return o
}

// Store is a chainstore.Store in a directory.
type Store struct {
	source    *snapshot.Source
	dir       string
	now       func() time.Time
	committer *commit.Committer
	// exportReach is chainstore.ExportReach; a field so that tests can have less.
	exportReach int
	// gate keeps a collection from deleting; collecting is what one collection at a time has.
	gate       hold.Gate
	collecting hold.Gate
	merges     *merges
	// purger is nil where nothing is purged.
	purger *purger
}

// Reads counts what was asked of the database since Open, for tests and metrics: gets of a key, seeks, and steps to the
// next key.
func (s *Store) Reads() (gets, seeks, nexts uint64) {
	c := s.source.DB.Counts()
	return c.Gets, c.Seeks, c.Nexts
}

// Writes counts the keys written or deleted since Open.
func (s *Store) Writes() (sets uint64) { return s.source.DB.Counts().Sets }

// Info tells that this is the Badger engine; see chainstore.Store.
func (s *Store) Info() chainstore.Info {
	h := s.source.Header.Load()
	return chainstore.Info{
		Engine: "badger", ID: h.ID, Format: layout.FormatVersion, Features: h.Features(), Encrypted: s.source.DB.Encrypted(),
	}
}

// Stats counts a namespace; see chainstore.Store.
func (s *Store) Stats(ctx context.Context, namespace string) (st chainstore.Stats, err error) {
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		c, err := v.Counters()
		st = c.Stats()
		return err
	})
	return st, err
}

// Commit applies a change; see chainstore.Writer.
func (s *Store) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	out, err := s.committer.Commit(ctx, namespace, change)
	if slices.ContainsFunc(change.Nodes, func(n chainstore.NewNode) bool { return n.Erased != nil }) {
		s.purger.tell()
	}
	return out, err
}

// Verify checks a namespace, or the whole store; see chainstore.Verifier.
func (s *Store) Verify(ctx context.Context, check chainstore.Check, judge chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	release, err := s.gate.Hold(ctx) // what it sums up of nodes and of rows must be of the same nodes
	if err != nil {
		return err
	}
	defer release()
	v := verify.Verifier{Source: s.source, Now: s.now, Judge: judge, Report: report}
	return v.Verify(ctx, check)
}

// Close waits for the changes and reads under way and closes the database; see chainstore.Store.
func (s *Store) Close() error {
	if !s.source.Versions.Shut() {
		return chainstore.ErrClosed
	}
	s.purger.end() // a log that it keeps may keep the committer
	s.committer.Stop()
	s.source.Versions.Wait()
	return s.source.DB.Close()
}

// millis is the time in milliseconds since the epoch, never negative.
func (s *Store) millis() int64 { return max(0, s.now().UnixMilli()) }
