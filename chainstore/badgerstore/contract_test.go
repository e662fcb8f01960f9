package badgerstore

import (
	"context"
	"errors"
	"flag"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

func model(o storetest.Options) chainstore.Store {
	return memstore.New(memstore.Options{Now: o.Now})
}

var encryptContract = flag.Bool("contract.encrypted", false, "badgerstore: encrypt the stores of TestContract")

func TestContract(t *testing.T) {
	var dirs sync.Map // of each test, which may run beside others
	open := func(tb testing.TB, o storetest.Options) chainstore.Store {
		dir, _ := dirs.Load(tb)
		options := Options{Now: o.Now}
		if *encryptContract {
			options.EncryptionKey = testKey(1)
		}
		return openAt(tb, dir.(string), options)
	}
	storetest.Run(t, storetest.Config{
		Open: func(tb testing.TB, o storetest.Options) chainstore.Store {
			dirs.Store(tb, tb.TempDir())
			return open(tb, o)
		},
		Reopen: open,
		Model:  model,
		// Its segments are numbered as they begin.
		PutOrder: true,
	})
}

// TestContractOfARestlessStore runs what looks at everything on a store with small memtables and caches, encrypted with another data key for
// each file, which is closed and opened again all the time, once also in the middle of purges, forgets what it keeps of segments, goes on in a new read
// after every few rows, and exports pages that pass over little.
func TestContractOfARestlessStore(t *testing.T) {
	skip := map[storetest.Category]string{}
	for _, c := range []storetest.Category{
		storetest.RoundTrip, storetest.Retries, storetest.Conditions, storetest.Batches, storetest.Aliases, storetest.Lists, storetest.ListReach,
		storetest.History, storetest.LongChains, storetest.Limits, storetest.Namespaces, storetest.Concurrency,
		storetest.Contexts, storetest.Closing, storetest.Reopening, storetest.Linearizable, storetest.Reads,
		storetest.Children, storetest.Forks, storetest.Judging, storetest.Runs,
	} {
		skip[c] = "TestContract runs it"
	}
	var commits atomic.Int64
	storetest.Run(t, storetest.Config{
		Open: func(tb testing.TB, o storetest.Options) chainstore.Store {
			r := &restless{tb: tb, dir: tb.TempDir(), commits: &commits}
			r.options = Options{Now: o.Now, MemtableBytes: 8 << 20, CacheBytes: 1, RowCacheBytes: 64 << 10}
			r.options.EncryptionKey, r.options.DataKeyRotation = testKey(1), time.Nanosecond
			if strings.HasSuffix(tb.Name(), "/ForgetsLikeTheModel") { // others would take ten times as long
				r.options.MemtableBytes, r.options.purges = 4<<20, promptly().purges
				mustHaveForgotten(tb, r.dir, r.options)
			}
			r.open()
			return r
		},
		Model:    model,
		PutOrder: true,
		Skip:     skip,
	})
	t.Logf("%d changes", commits.Load())
}

// restless opens its store again now and then. For one caller at a time.
type restless struct {
	*Store
	tb      testing.TB
	dir     string
	options Options
	commits *atomic.Int64
	// stays is how many changes there are until it may be closed again.
	stays atomic.Int64
	// collecting counts the collections under way, which end where the store is closed.
	collecting atomic.Int32
}

func (r *restless) open() {
	var now time.Duration
	r.Store = openAt(r.tb, r.dir, r.options)
	r.exportReach = 2
	r.source.Clock = func() time.Duration {
		now += chainstore.RowsHold / 4
		return now
	}
}

func (r *restless) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	n := r.commits.Add(1)
	if n%60 == 0 && r.collecting.Load() == 0 && n >= r.stays.Load() {
		if err := r.Close(); err != nil {
			return nil, err
		}
		r.open()
	}
	if n%5 == 0 {
		if err := r.forget(ctx, namespace, uint64(1+n/5%4), uint32(n/20%6)); err != nil {
			return nil, err
		}
	}
	return r.Store.Commit(ctx, namespace, change)
}

// DeleteNamespace is followed by reads of chains that were found before, which a closed store has no more.
func (r *restless) DeleteNamespace(ctx context.Context, namespace string, may func(context.Context) error) (bool, error) {
	r.stays.Store(r.commits.Load() + 60)
	return r.Store.DeleteNamespace(ctx, namespace, may)
}

// Collect changes while it reports, if its caller does.
func (r *restless) Collect(ctx context.Context, namespace string, c chainstore.Collection, report func(chainstore.Collected) error) error {
	r.collecting.Add(1)
	defer r.collecting.Add(-1)
	return r.Store.Collect(ctx, namespace, c, report)
}

// forget makes the caches forget a part of a segment, which is as it was.
func (r *restless) forget(ctx context.Context, namespace string, segment uint64, from uint32) error {
	return r.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		r.source.Caches.Forget(v.Seen, &cache.Forgotten{Namespace: v.Namespace, From: map[uint64]uint32{segment: from}})
		return nil
	})
}

// Purged waits, where it purges; see storetest.Purger.
func (r *restless) Purged() {
	if r.purger != nil {
		waitPurged(r.tb, r.Store)
	}
}

// alone has nobody else use the committer until the function that it returns is called.
func (r *restless) alone() (goOn func()) {
	purger := r.purger
	if purger == nil {
		return func() {}
	}
	purger.end()
	if err := r.committer.MakeTokenKey(context.Background()); err != nil { // behind all that the purger submitted
		r.tb.Fatal(err)
	}
	return func() {
		if r.purger == purger { // else the store was opened again
			r.startPurges(&r.options)
			r.purger.tell()
		}
	}
}

// Together lets changes share a batch; see storetest.Batcher.
func (r *restless) Together(namespace string, changes []*chainstore.Change, fate storetest.Fate) (out []*chainstore.Committed, errs []error) {
	var requests []*commit.Request
	for _, change := range changes {
		requests = append(requests, queuedChange(namespace, change))
	}
	defer r.alone()()
	ready, durable := r.committer.Ready, r.committer.Durable
	switch fate {
	case storetest.DiskIsFull:
		r.committer.Ready = func() (puts, deletes error) { return chainstore.ErrDiskFull, nil }
	case storetest.Unwritten:
		r.committer.Durable = func(map[string]commit.Write, uint64) error { return &badgerdb.Unwritten{Err: errors.New("refused")} }
	case storetest.Unsynced:
		r.committer.Durable = func(writes map[string]commit.Write, ts uint64) error {
			return errors.Join(durable(writes, ts), errors.New("input/output error"))
		}
	case storetest.Durable:
	}
	together(r.Store, requests...)
	r.committer.Ready, r.committer.Durable = ready, durable
	if fate == storetest.Unsynced {
		if err := r.Close(); err != nil {
			r.tb.Fatal(err)
		}
		r.open()
	}
	for _, q := range requests {
		out, errs = append(out, q.Committed), append(errs, q.Err)
	}
	return out, errs
}
