package badgerstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

func model(o storetest.Options) chainstore.Store {
	return memstore.New(memstore.Options{Now: o.Now})
}

func TestContract(t *testing.T) {
	var dirs sync.Map // of each test, which may run beside others
	open := func(tb testing.TB, o storetest.Options) chainstore.Store {
		dir, _ := dirs.Load(tb)
		return openAt(tb, dir.(string), Options{Now: o.Now})
	}
	storetest.Run(t, storetest.Config{
		Open: func(tb testing.TB, o storetest.Options) chainstore.Store {
			dirs.Store(tb, tb.TempDir())
			return open(tb, o)
		},
		Reopen: open,
		Model:  model,
	})
}

// TestContractOfARestlessStore runs what looks at everything on a store with small memtables and caches, which is
// closed and opened again all the time.
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
			r.Store = openAt(tb, r.dir, r.options)
			return r
		},
		Model: model,
		Skip:  skip,
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
}

func (r *restless) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	if r.commits.Add(1)%60 == 0 {
		if err := r.Close(); err != nil {
			return nil, err
		}
		r.Store = openAt(r.tb, r.dir, r.options)
	}
	return r.Store.Commit(ctx, namespace, change)
}

// Together lets changes share a batch; see storetest.Batcher.
func (r *restless) Together(namespace string, changes []*chainstore.Change, fate storetest.Fate) (out []*chainstore.Committed, errs []error) {
	var requests []*commit.Request
	for _, change := range changes {
		requests = append(requests, queuedChange(namespace, change))
	}
	ready, durable := r.committer.Ready, r.committer.Durable
	switch fate {
	case storetest.DiskIsFull:
		r.committer.Ready = func() (puts, deletes error) { return chainstore.ErrDiskFull, nil }
	case storetest.Unwritten:
		r.committer.Durable = func(map[string]commit.Write, uint64) error { return &badgerdb.Unwritten{Err: errors.New("refused")} }
	case storetest.Durable:
	}
	together(r.Store, requests...)
	r.committer.Ready, r.committer.Durable = ready, durable
	for _, q := range requests {
		out, errs = append(out, q.Committed), append(errs, q.Err)
	}
	return out, errs
}
