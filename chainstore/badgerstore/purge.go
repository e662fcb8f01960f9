package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

// purger takes out of the files what was erased, or deleted with its namespace (decision 0112). There is one for a store, a goroutine from the
// time on that the store is open, but for a store that is read only.
type purger struct {
	s     *Store
	times purgeTimes
	log   *slog.Logger
	wake  chan struct{}
	stop  context.CancelFunc
	done  chan struct{}
	// patience is how long it waits for reads while a log is kept: kept, and more behind each failure.
	patience time.Duration
	// aloneAt is when others had to wait last.
	aloneAt time.Time

	// What follows is for metrics.
	nodes, aliases, namespaces, since, purges, failures atomic.Int64
}

// purgeTimes are how long a purger waits.
type purgeTimes struct {
	// gather is for how long it lets more come, once there is something. held is how long it waits for reads that are open, kept how long at first
	// while a log is kept, and drop how long a drop may take. again is for how long it rests behind a failure, twice as long behind each that
	// follows, and at most for longest; alone, between two drops for which all others wait.
	gather, held, kept, drop, again, longest, alone time.Duration
}

// defaultPurgeTimes: a read of Rows, or of Verify, lasts no longer than chainstore.RowsHold, and a while.
func defaultPurgeTimes() purgeTimes {
	return purgeTimes{
		gather: time.Second, held: 2 * chainstore.RowsHold, kept: 2 * time.Second, drop: 5 * time.Minute, again: time.Second, longest: time.Minute, alone: time.Hour,
	}
}

// maxPurgedAtOnce is how many nodes are purged together: while they are, a log is kept, and who fills it waits.
const maxPurgedAtOnce = 1024

// startPurges begins to purge what a store has to purge, and what is yet to come.
func (s *Store) startPurges(o *Options) {
	if o.ReadOnly || o.noPurges {
		return
	}
	p := &purger{s: s, times: o.purges, patience: o.purges.kept, log: o.Logger, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	s.purger = p
	if s.source.Header.Load().Has(layout.FeaturePurges) {
		p.tell()
	}
	go p.run(ctx)
}

// tell wakes it: there may be something to purge.
func (p *purger) tell() {
	if p == nil {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// end ends it, once what it is at can be left.
func (p *purger) end() {
	if p != nil {
		p.stop()
		<-p.done
	}
}

func (p *purger) run(ctx context.Context) {
	defer close(p.done)
	rest := p.times.again
	for {
		select {
		case <-p.wake:
		case <-ctx.Done():
			return
		}
		if deadline.Sleep(ctx, p.times.gather) != nil {
			return
		}
		for {
			left, err := p.purge(ctx)
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				rest = p.times.again
				if left {
					continue
				}
				break
			}
			if errors.Is(err, chainstore.ErrClosed) {
				return
			}
			p.failures.Add(1)
			p.log.Warn("what was erased is not out of the store's files yet; it is tried again", "error", err, "in", rest)
			if deadline.Sleep(ctx, rest) != nil {
				return
			}
			rest = min(2*rest, p.times.longest)
		}
	}
}

// leaving reads what is to be purged, and tells metrics.
func (p *purger) leaving(ctx context.Context) (all []layout.Purge, err error) {
	v, err := p.s.source.Open(layout.OwnNamespace)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	var sum chainstore.Purging
	if err := leaving(ctx, v, func(one layout.Purge) { all = append(all, one); count(&sum, &one) }); err != nil {
		return nil, err
	}
	p.nodes.Store(sum.Nodes)
	p.aliases.Store(sum.Aliases)
	p.namespaces.Store(sum.Namespaces)
	p.since.Store(sum.Since)
	return all, nil
}

// leaving tells of what is to be purged, in order.
func leaving(ctx context.Context, v *snapshot.Snapshot, f func(layout.Purge)) error {
	return v.Scan(ctx, layout.PurgesLeaving(), nil, func(key, value []byte) error {
		one, err := layout.ParsePurge(key, value)
		if err == nil {
			f(one)
		}
		return err
	})
}

func count(sum *chainstore.Purging, p *layout.Purge) {
	if p.Kind == layout.PurgeNamespace {
		sum.Namespaces++
	}
	sum.Nodes += int64(len(p.Places))
	sum.Aliases += int64(len(p.Names))
	if at := max(p.At, 1); sum.Since == 0 || at < sum.Since {
		sum.Since = at
	}
}

// purge purges what was erased first; left says that there was more than is done at once, or may be.
func (p *purger) purge(ctx context.Context) (left bool, err error) {
	all, err := p.leaving(ctx)
	if err != nil || len(all) == 0 {
		return false, err
	}
	some := all[:p.atOnce(all)]
	end, err := p.s.merges.purge(ctx)
	if err != nil {
		return false, err
	}
	took, err := p.drop(ctx, some)
	end()
	if err != nil {
		return false, err
	}
	some = some[:took]
	if err := p.s.committer.Purged(ctx, some); err != nil {
		return false, err
	}
	p.purges.Add(1)
	rest, err := p.leaving(ctx)
	if err == nil && len(rest) == 0 {
		debug.FreeOSMemory() // of what was read, and of the memtable
	}
	return len(rest) > 0, err
}

// atOnce is how many purges are done together, one at least.
func (p *purger) atOnce(all []layout.Purge) (n int) {
	nodes, bytes, most := 0, uint64(0), p.s.committer.MostAgain()
	for n < len(all) {
		nodes, bytes = nodes+len(all[n].Places)+len(all[n].Names), bytes+all[n].Bytes
		if n > 0 && (nodes > maxPurgedAtOnce || bytes > most) {
			break
		}
		n++
	}
	return n
}

// drop takes out of tables and logs what the keys of purges had before, of the first of them, and tells of how many: see badgerdb.DropVersions.
func (p *purger) drop(ctx context.Context, purges []layout.Purge) (took int, err error) {
	// All reads that see what was erased are over then. Those that take long are waited for before a log is kept, not behind it.
	if err := p.waitFor(ctx, p.s.source.Versions.Last(), p.times.held); err != nil {
		return 0, err
	}
	if !p.s.source.DB.DropsBeside() {
		return len(purges), p.dropAlone(ctx, purges)
	}
	again, err := p.s.committer.WriteAgain(ctx, purges)
	if err != nil {
		return 0, err
	}
	var prefixes [][]byte
	for i := range purges[:again.Took] {
		prefixes = append(prefixes, purges[i].Prefixes()...)
	}
	err = p.dropKept(ctx, again, prefixes)
	again.Release()
	p.patience = min(2*p.patience, p.times.held)
	if err == nil {
		p.patience = p.times.kept
	}
	if errors.Is(err, badgerdb.ErrLogChanged) {
		missing, putBack := p.s.committer.PutBack(context.WithoutCancel(ctx), again)
		err = errors.Join(fmt.Errorf("%w; %d rows were put back", err, missing), putBack)
	}
	return again.Took, err
}

func (p *purger) dropKept(ctx context.Context, again *commit.Again, prefixes [][]byte) error {
	if err := p.flushed(ctx, again.Log, p.patience); err != nil {
		return err
	}
	if err := p.waitFor(ctx, again.Before, p.patience); err != nil {
		return err
	}
	dropping, cancel := context.WithTimeout(ctx, p.times.drop)
	defer cancel()
	return p.s.source.DB.DropVersions(dropping, again.Log, again.Before, prefixes...)
}

// dropAlone drops while all others wait, but not often.
func (p *purger) dropAlone(ctx context.Context, purges []layout.Purge) error {
	if !p.aloneAt.IsZero() {
		if err := deadline.Sleep(ctx, p.times.alone-time.Since(p.aloneAt)); err != nil {
			return err
		}
	}
	log, err := p.s.committer.Turn(ctx)
	if err != nil {
		return err
	}
	if err := p.flushed(ctx, log, p.times.held); err != nil {
		return err
	}
	p.aloneAt = time.Now()
	dropping, cancel := context.WithTimeout(ctx, p.times.held)
	defer cancel()
	return p.s.committer.DropAlone(dropping, log, purges)
}

// waitFor returns when no read is open of before a commit.
func (p *purger) waitFor(ctx context.Context, commit uint64, most time.Duration) error {
	waiting, cancel := context.WithTimeoutCause(ctx, most, badgerdb.ErrHeld)
	defer cancel()
	return p.s.source.Versions.WaitFor(waiting, commit)
}

func (p *purger) flushed(ctx context.Context, log badgerdb.Log, most time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return p.s.source.DB.Flushed(waiting, log)
}

// merges lets one at a time ask the database for merges, a purge before Reclaim: a log that is kept for the one would keep the other from ending it.
type merges struct {
	// turn is full while one does.
	turn chan struct{}
	mu   sync.Mutex
	// purging says that a purge waits or runs, and is closed behind it; nil: none does. yield ends a Reclaim under way.
	purging chan struct{}
	yield   context.CancelFunc
}

func newMerges() *merges { return &merges{turn: make(chan struct{}, 1)} }

// purge begins one, once a Reclaim under way has come to the end of a step.
func (m *merges) purge(ctx context.Context) (end func(), err error) {
	m.mu.Lock()
	purging := make(chan struct{})
	m.purging = purging
	if m.yield != nil {
		m.yield()
	}
	m.mu.Unlock()
	unmark := func() {
		m.mu.Lock()
		m.purging = nil
		m.mu.Unlock()
		close(purging)
	}
	select {
	case m.turn <- struct{}{}:
		return func() { <-m.turn; unmark() }, nil
	case <-ctx.Done():
		unmark()
		return nil, ctx.Err()
	}
}

// reclaim runs f, again whenever a purge comes between.
func (m *merges) reclaim(ctx context.Context, f func(context.Context) error) error {
	for {
		select {
		case m.turn <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		yielding, cancel := context.WithCancel(ctx)
		m.mu.Lock()
		purging := m.purging
		if purging == nil {
			m.yield = cancel
		}
		m.mu.Unlock()
		var err error
		if purging == nil {
			err = f(yielding)
		}
		m.mu.Lock()
		m.yield = nil
		m.mu.Unlock()
		yielded := yielding.Err() != nil && ctx.Err() == nil
		cancel()
		<-m.turn
		switch {
		case purging != nil:
			select {
			case <-purging:
			case <-ctx.Done():
				return ctx.Err()
			}
		case !yielded:
			return err
		}
	}
}
