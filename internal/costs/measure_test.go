//go:build !race

package costs

import (
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
)

const (
	// rounds is how often a program is counted; memory is the least of them, but cold.
	rounds = 3
	// fillings is how many calls fill pools: more than one, for how many buffers a stream has in use at once differs.
	fillings = 2
	// warmings is how often a call is made at most until the database finds in its cache all that it reads, and asks how often it is
	// made at least: then the calls of chains that are put to are read in.
	warmings, asks = 50, 10
	// colds is how many calls are made in a round where all pools are empty, and coldFrames of those that have several frames in
	// use at once, which are as many as the system lets this process run.
	colds, coldFrames = 3, 5
)

// program is a kind of call.
type program struct {
	name string
	// calls are counted in one round.
	calls int
	// next makes the next call.
	next func() call
	// buffers is the bytes that may be allocated more where a reply has many frames, none where it has one.
	buffers int64
}

// call is a request that is encoded already, or a use of the SDK.
type call struct {
	method  string
	stream  *grpc.StreamDesc
	request []byte
	// sdk makes a call of the SDK and gives the bytes of what came; nil: of the others.
	sdk func(context.Context) (int64, error)
}

// count returns what a call of a program takes: of what may differ from round to round, the least.
func (r *rig) count(tb testing.TB, p *program) (least cost) {
	tb.Helper()
	var all []int64
	quietly(func() {
		r.warm(tb, p)
		for i := range rounds {
			least.take(tb, p.name, i, r.round(tb, p))
			n := colds
			if p.buffers > 0 {
				n = coldFrames
			}
			for range n {
				all = append(all, r.coldCall(tb, p))
			}
		}
	})
	least[cold] = middle(all)
	return least
}

// countFirst returns what a program's call takes as the first read of a chain, each time on a store that was just opened.
func countFirst(tb testing.TB, dir string, p, another *program) (least cost) {
	tb.Helper()
	opened := func() *rig {
		r := open(tb, dir, badgerstore.Options{})
		r.make(tb, another.next()) // fills pools
		return r
	}
	var all []int64
	quietly(func() {
		for i := range rounds {
			r := opened()
			now := r.measure(tb, p.name, []call{p.next()})
			r.close(tb)
			r = opened()
			all = append(all, r.coldCall(tb, p))
			r.close(tb)
			least.take(tb, p.name, i, now)
		}
	})
	least[cold] = middle(all)
	return least
}

// quietly runs f while only one processor runs Go code and garbage is collected only where that is said: what a call finds
// in pools is then what the one before left there.
func quietly(f func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	f()
}

// take keeps what is less in a round; what must not differ has to be equal in all.
func (c *cost) take(tb testing.TB, name string, round int, now cost) {
	tb.Helper()
	if round == 0 {
		*c = now
	}
	for i, n := range now {
		if i <= reply && n != c[i] {
			tb.Errorf("%s: %s %d in one round, %d in another", name, names[i], c[i], n)
		}
		c[i] = min(c[i], n)
	}
}

// warm makes calls until one reads no block from a table on disk, and has nothing to read in.
func (r *rig) warm(tb testing.TB, p *program) {
	tb.Helper()
	for i := range warmings {
		before := r.store.Metrics().Blocks.Misses
		r.make(tb, p.next())
		settle()
		if r.store.Metrics().Blocks.Misses == before && i >= asks {
			return
		}
	}
	tb.Fatalf("%s: after %d calls there is still something to be read from disk", p.name, warmings)
}

// round counts a program's calls behind some that fill the pools again.
func (r *rig) round(tb testing.TB, p *program) cost {
	tb.Helper()
	runtime.GC()
	for range fillings {
		r.make(tb, p.next())
	}
	calls := make([]call, p.calls)
	for i := range calls {
		calls[i] = p.next()
	}
	return r.measure(tb, p.name, calls)
}

// measure returns what each of the calls takes, all but cold.
func (r *rig) measure(tb testing.TB, name string, calls []call) (c cost) {
	tb.Helper()
	settle()
	before, had, then := r.store.Metrics(), r.laid(), memory()
	for _, call := range calls {
		c[reply] += r.make(tb, call)
	}
	settle()
	now, after := memory(), r.store.Metrics()
	c[gets], c[seeks] = int64(after.Gets-before.Gets), int64(after.Seeks-before.Seeks)
	c[nexts], c[sets] = int64(after.Nexts-before.Nexts), int64(after.Sets-before.Sets)
	c[written], c[syncs] = int64(after.WrittenBytes-before.WrittenBytes), int64(after.Syncs-before.Syncs)
	c[copied], c[laid] = int64(after.CopiedBytes-before.CopiedBytes), r.laid()-had
	c[allocs], c[allocated] = int64(now.Mallocs-then.Mallocs), int64(now.TotalAlloc-then.TotalAlloc)
	for i := range c {
		if i <= reply && c[i]%int64(len(calls)) != 0 {
			tb.Errorf("%s: %s %d in %d calls, which therefore differ", name, names[i], c[i], len(calls))
		}
		c[i] /= int64(len(calls))
	}
	return c
}

func middle(all []int64) int64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// coldCall is the bytes that a call allocates which finds nothing in pools.
func (r *rig) coldCall(tb testing.TB, p *program) int64 {
	tb.Helper()
	next := p.next()
	runtime.GC() // what pools hold goes with the second
	runtime.GC()
	settle()
	before := memory()
	r.make(tb, next)
	settle()
	return int64(memory().TotalAlloc - before.TotalAlloc)
}

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}

// settle waits until nothing is allocated any more: the server is at work for a moment after it replied.
func settle() {
	last, quiet := memory().Mallocs, 0
	for deadline := time.Now().Add(time.Second); quiet < 10 && time.Now().Before(deadline); {
		for range 20 {
			runtime.Gosched()
		}
		now := memory().Mallocs
		if quiet++; now != last {
			last, quiet = now, 0
		}
	}
}

// make makes a call and returns the bytes of its reply.
func (r *rig) make(tb testing.TB, c call) (reply int64) {
	tb.Helper()
	if c.sdk != nil {
		reply, err := c.sdk(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		return reply
	}
	if c.stream == nil {
		if err := r.conn.Invoke(tb.Context(), c.method, c.request, &reply, grpc.ForceCodecV2(encoded{})); err != nil {
			tb.Fatalf("%s: %v", c.method, err)
		}
		return reply
	}
	s, err := r.conn.NewStream(tb.Context(), c.stream, c.method, grpc.ForceCodecV2(encoded{}))
	if err == nil {
		err = s.SendMsg(c.request)
	}
	if err == nil {
		err = s.CloseSend()
	}
	for err == nil {
		err = s.RecvMsg(&reply)
	}
	if !errors.Is(err, io.EOF) {
		tb.Fatalf("%s: %v", c.method, err)
	}
	return reply
}

// encoded is a codec for requests that are bytes already, which counts the bytes of replies.
type encoded struct{}

func (encoded) Name() string { return "proto" }

func (encoded) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, errors.New("not bytes")
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

func (encoded) Unmarshal(data mem.BufferSlice, v any) error {
	n, ok := v.(*int64)
	if !ok {
		return errors.New("not a number")
	}
	*n += int64(data.Len())
	return nil
}

// rig is a server over a store on disk, and a connection to it.
type rig struct {
	store *badgerstore.Store
	conn  *grpc.ClientConn
	// laid tells how many bytes of its buffers the server has laid replies into so far. It is there once a call was made.
	laid func() int64
}

// meet finds, in the first call, who can tell of the server's buffers.
func (r *rig) meet(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if r.laid == nil {
		of, ok := info.Server.(interface{ BytesLaid() int64 })
		if !ok {
			return nil, errors.New("the server does not tell of its buffers")
		}
		r.laid = of.BytesLaid
	}
	return next(ctx, req)
}
