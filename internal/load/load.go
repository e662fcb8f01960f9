// Package load puts a running transcriptd under load, as so many callers that each wait for a reply before the next request, and
// measures what they wait for.
package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/turns"
)

// The modes of a load.
const (
	Put      = "put"      // PutNode: each caller grows a chain of its own
	Assemble = "assemble" // Assemble of whole chains
	Stream   = "stream"   // StreamAssemble of whole chains
	Mixed    = "mixed"    // PutNode, then StreamAssemble of the chain, as an agent does
)

// AssembledTurns is how many turns fit into a reply of Assemble.
const AssembledTurns = 1000

const (
	// callersPerConnection share a connection: transcriptd takes 256 requests at once on each.
	callersPerConnection = 64
	// readChains is how many chains are read, by any number of callers.
	readChains = 16
	// fillers put those chains at once.
	fillers = 4
	// pauseAfterFailure is how long a caller waits after a request that failed, as a client does.
	pauseAfterFailure = 100 * time.Millisecond
)

// Options are what a load consists of.
type Options struct {
	Mode string
	// Callers is how many requests are under way at once; Turns, how long chains are.
	Callers, Turns int
	// Duration is how long requests are begun for; Timeout, how long each may take.
	Duration, Timeout time.Duration
	// Namespace is where chains are put. It is that of the client that Prepare is given, too.
	Namespace string
	// Dial makes a connection to the server.
	Dial func() (*grpc.ClientConn, error)
}

// Load is callers that are ready to begin.
type Load struct {
	Options
	conns  []*grpc.ClientConn
	source *turns.Source
	// heads are the chains that are read.
	heads []string
	calls []*calls
	// nodes counts what was put, chains to be read included.
	nodes atomic.Int64

	mu sync.Mutex
	// began and ended bound the time in which requests were under way.
	began, ended time.Time
	fault        error
}

// New makes a load. Connections are made when they are first used.
func New(o Options) (*Load, error) {
	l := &Load{Options: o, source: turns.NewSource(o.Namespace)}
	for range (o.Callers + callersPerConnection - 1) / callersPerConnection {
		conn, err := o.Dial()
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.conns = append(l.conns, conn)
	}
	if o.Mode == Put || o.Mode == Mixed {
		l.calls = append(l.calls, newCalls("PutNode"))
	}
	switch o.Mode {
	case Assemble:
		l.calls = append(l.calls, newCalls("Assemble"))
	case Stream, Mixed:
		l.calls = append(l.calls, newCalls("StreamAssemble"))
	}
	return l, nil
}

// Close closes the connections.
func (l *Load) Close() (err error) {
	for _, conn := range l.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}

// Prepare puts the chains that are read, and tells how far it is. Where they are there already, nothing is written.
func (l *Load) Prepare(ctx context.Context, c *client.Client, progress func(done, all int)) error {
	if l.Mode != Assemble && l.Mode != Stream {
		return nil
	}
	l.heads = make([]string, min(l.Callers, readChains))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fillers)
	for i := range l.heads {
		group.Go(func() (err error) {
			l.heads[i], err = turns.Fill(ctx, c, "", uint64(i*l.Turns), l.Turns, func(n int) {
				progress(int(l.nodes.Add(int64(n))), len(l.heads)*l.Turns)
			})
			return err
		})
	}
	return group.Wait()
}

// Run lets all callers call for the duration, each once at least, and for the requests that are under way then; or until the context ends, which
// gives up what is under way and does not count it.
func (l *Load) Run(ctx context.Context) {
	l.mu.Lock()
	l.began = time.Now()
	l.mu.Unlock()
	until := l.began.Add(l.Duration)
	var running sync.WaitGroup
	for i := range l.Callers {
		running.Go(func() {
			step := l.caller(i)
			for first := true; ctx.Err() == nil && (first || time.Now().Before(until)); first = false {
				if !step(ctx) {
					pause(ctx, pauseAfterFailure)
				}
			}
		})
	}
	running.Wait()
	l.mu.Lock()
	l.ended = time.Now()
	l.mu.Unlock()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// caller is what a caller does again and again; false where a request failed.
func (l *Load) caller(i int) func(context.Context) bool {
	conn := l.conns[i/callersPerConnection]
	switch l.Mode {
	case Assemble, Stream:
		head := l.heads[i%len(l.heads)]
		return func(ctx context.Context) bool { return l.read(ctx, l.calls[0], conn, head) }
	default:
		rpc, chain := transcriptv1.NewTranscriptServiceClient(conn), l.source.Chain()
		return func(ctx context.Context) bool {
			if chain.Turns == l.Turns {
				chain = l.source.Chain()
			}
			return l.put(ctx, rpc, chain) && (l.Mode == Put || l.read(ctx, l.calls[1], conn, chain.Head))
		}
	}
}

func (l *Load) put(ctx context.Context, rpc transcriptv1.TranscriptServiceClient, chain *turns.Chain) bool {
	ok := l.measure(ctx, l.calls[0], func(ctx context.Context) (int, error) { return chain.Put(ctx, rpc) })
	if ok {
		l.nodes.Add(1)
	}
	return ok
}

// measure makes a request and counts it, unless the load ended meanwhile; false where it failed.
func (l *Load) measure(ctx context.Context, c *calls, request func(context.Context) (bytes int, err error)) bool {
	within, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	began := time.Now()
	bytes, err := request(within)
	took := time.Since(began)
	if err != nil && ctx.Err() != nil {
		return false
	}
	if err != nil {
		err = client.Typed(err)
		l.mu.Lock()
		if l.fault == nil {
			l.fault = err
		}
		l.mu.Unlock()
	}
	c.add(took, bytes, err)
	return err == nil
}

// Fault is why the first request failed, where none succeeded; nil else.
func (l *Load) Fault() error {
	if slices.ContainsFunc(l.calls, func(c *calls) bool { return c.succeeded() > 0 }) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil {
		return nil
	}
	return fmt.Errorf("no request succeeded, the first: %w", l.fault)
}
