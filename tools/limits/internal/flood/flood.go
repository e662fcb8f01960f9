// Package flood offers puts to a server, as many a second as it is told to, whether or not the server can serve them.
package flood

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/internal/turns"
)

const (
	// streamsPerConnection is how many calls share a connection. transcriptd takes 256 of one at once, of which some may have
	// been answered but not ended yet; more wait in the client.
	streamsPerConnection = 192
	// maxUnderWay bounds the puts under way, and so what this process keeps for them.
	maxUnderWay = 1 << 16
	// different is how many turns are put again and again: those of a turns.Source.
	different = 128
	// step is how far apart calls begin that are due, expiry how often deadlines are looked at.
	step, expiry = time.Millisecond, 10 * time.Millisecond
)

// Flood puts turns on many chains, each of which has one put under way at most. A chain whose put fails goes on from its last
// reply with another turn.
type Flood struct {
	addr, namespace, token string
	deadline               time.Duration
	turns                  [different]*encoded
	source                 *turns.Source
	// whole ends, for a cause, once a connection was lost or the flood was closed. What was counted then is worth nothing.
	whole context.Context
	lost  context.CancelCauseFunc

	mu    sync.Mutex
	wires []*wire
	// underWay are the calls of each wire.
	underWay []int
	// free are the chains without a put under way; the one that was freed last is used next.
	free []*turns.Chain
	made int
}

// New makes a flood of puts that each have so long. Connections are made as they are needed. The token is what calls show; empty: nothing.
func New(addr, namespace, token string, deadline time.Duration) (*Flood, error) {
	f := &Flood{addr: addr, namespace: namespace, token: token, deadline: deadline, source: turns.NewSource(namespace)}
	f.whole, f.lost = context.WithCancelCause(context.Background())
	for i := range f.turns {
		var err error
		if f.turns[i], err = encode(uint64(i)); err != nil {
			return nil, err
		}
	}
	go f.expire()
	return f, nil
}

// Close ends all connections.
func (f *Flood) Close() {
	f.lost(nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.wires {
		w.close()
	}
}

// expire looks at deadlines until the flood is closed.
func (f *Flood) expire() {
	tick := time.NewTicker(expiry)
	defer tick.Stop()
	for {
		select {
		case <-f.whole.Done():
			return
		case now := <-tick.C:
			f.mu.Lock()
			wires := slices.Clone(f.wires)
			f.mu.Unlock()
			for _, w := range wires {
				w.expire(now)
			}
		}
	}
}

// connect makes connections until n puts under way need not wait for each other.
func (f *Flood) connect(ctx context.Context, n int) error {
	for have := len(f.wires); have*streamsPerConnection < n; have++ {
		w, err := dial(ctx, f.addr, f.token, f.lost)
		if err != nil {
			return err
		}
		f.mu.Lock()
		f.wires, f.underWay = append(f.wires, w), append(f.underWay, 0)
		f.mu.Unlock()
	}
	return nil
}

// take takes a free chain, and a place on the first connection that has one, as clients do that share their connections; nil
// where there are as many puts under way as there may be.
func (f *Flood) take() (c *turns.Chain, wire int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch n := len(f.free); {
	case n > 0:
		c, f.free = f.free[n-1], f.free[:n-1]
	case f.made < maxUnderWay:
		f.made++
		c = f.source.Chain()
	default:
		return nil, 0
	}
	for wire < len(f.wires)-1 && f.underWay[wire] >= streamsPerConnection {
		wire++
	}
	f.underWay[wire]++
	return c, wire
}

// put begins a put, unless too many are under way, and calls ended when it has ended.
func (f *Flood) put(t *Tally, ended func()) {
	chain, n := f.take()
	if chain == nil {
		t.unoffered()
		ended()
		return
	}
	turn, number := chain.Step()
	began := time.Now()
	c := &call{put: put{f.namespace, chain.Head, chain.Salt, f.turns[turn], number}, deadline: began.Add(f.deadline)}
	c.done = func(e ending) {
		if e.code == codes.OK {
			chain.Head = e.head
		}
		f.mu.Lock()
		f.free = append(f.free, chain)
		f.underWay[n]--
		f.mu.Unlock()
		t.end(began, e)
		ended()
	}
	f.wires[n].begin(c)
}

// Closed are the puts of so many callers who wait for each reply before the next put, for a while.
func (f *Flood) Closed(ctx context.Context, callers int, while time.Duration) (*Tally, error) {
	if err := f.connect(ctx, callers); err != nil {
		return nil, err
	}
	t := f.tally(while)
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			ended := make(chan struct{}, 1)
			for f.fault(ctx) == nil && time.Now().Before(t.to) {
				f.put(t, func() { ended <- struct{}{} })
				<-ended
			}
		})
	}
	running.Wait()
	return t, f.fault(ctx)
}

// Open are puts that begin on a clock, rate a second for a while, whether or not earlier ones have ended; all have in the end.
func (f *Flood) Open(ctx context.Context, rate float64, while time.Duration) (*Tally, error) {
	if err := f.connect(ctx, min(maxUnderWay, int(rate*f.deadline.Seconds()))); err != nil {
		return nil, err
	}
	begin, t := time.Now(), f.tally(while)
	var running sync.WaitGroup
	tick := time.NewTicker(step)
	defer tick.Stop()
	for due := 0; f.fault(ctx) == nil; <-tick.C {
		since := time.Since(begin)
		if since >= while {
			break
		}
		for ; due < int(rate*since.Seconds()); due++ {
			running.Add(1)
			f.put(t, running.Done)
		}
	}
	running.Wait()
	return t, f.fault(ctx)
}

// fault is why a load is over early, if it is.
func (f *Flood) fault(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Cause(f.whole)
}
