package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	idleConnections = 5000
	activeStreams   = 200
	// otherFiles are what client or server have open beside connections.
	otherFiles = 500
)

// callsServed is what the figure of this row is of.
var callsServed = claim{
	fmt.Sprintf("calls served of %d idle connections and %d active streams", idleConnections, activeStreams), atLeast(1),
}

// manyConnections makes 5,000 connections, a call on each, and leaves them idle; then 200 callers on connections of their
// own read streams of 1,000 turns without pause; then each idle connection calls once more. The figure is the share of all
// these calls that were served, each within a minute, whole, and on the connection that there was. Where connections are not
// all served at first, it is their share, and the row ends there.
//
// The memory of an idle connection is what the anonymous memory of transcriptd (RssAnon) grows by from before the first of
// them, on a fresh store, until all of them have called and are idle, over their number; before each look transcriptd
// collects its garbage, and the memory is looked at until it falls no more.
func manyConnections(ctx context.Context, e *env) ([]Figure, error) {
	if files, err := openFiles(); err != nil || files < idleConnections+activeStreams+otherFiles {
		return voids(fmt.Sprintf("a process may have %d files open here", files), callsServed), err
	}
	s, err := e.transcriptd()
	if err != nil {
		return nil, err
	}
	head, err := s.fill(ctx, "first", e.seeds(1), 1)
	if err != nil {
		return nil, err
	}
	req := &transcriptv1.GetNodeRequest{Namespace: s.namespace, Node: byID(head)}
	idle, memory, all, err := s.idle(ctx, req)
	if err != nil {
		return nil, err
	}
	if all.fault != nil {
		return all.figures(e, memory...), nil // where connections are not taken, streams would fail for that
	}
	streams, err := s.active(ctx, e.shorter(8*time.Second, 3*time.Second))
	if err != nil {
		return nil, err
	}
	all.add(streams.tally)
	all.add(callEach(ctx, idle.conns, req, patience))
	all.add(idle.dropped())
	return all.figures(e, append(memory,
		Measured{Name: "streams of 1,000 turns", Value: streams.perSecond(float64(streams.served)), Unit: "a second"},
		Measured{Name: "the same", Value: streams.perSecond(float64(streams.bytes)) / (1 << 20), Unit: "MiB a second"},
	)...), nil
}

// figures are what calls make of the row, and a note on one that was not served.
func (t *tally) figures(e *env, measured ...Measured) []Figure {
	if t.fault != nil {
		e.note("a call was not served: %v", t.fault)
	}
	return []Figure{figure(callsServed, float64(t.served)/float64(t.calls), append(measured,
		Measured{Name: "calls", Value: float64(t.calls), Unit: "calls"})...)}
}

// idle makes the connections that are to be idle, and tells what one takes where that can be known.
func (s *server) idle(ctx context.Context, req *transcriptv1.GetNodeRequest) (idle *lean, memory []Measured, all tally, err error) {
	var before, after int64
	if s.process != nil {
		if before, err = s.settledMemory(ctx); err != nil {
			s.e.note("no memory in the table: %v", err)
		}
	}
	if idle, err = s.connectLean(idleConnections); err != nil {
		return nil, nil, all, err
	}
	all = callEach(ctx, idle.conns, req, patience)
	memory = []Measured{{Name: "idle connections that were served", Value: float64(all.served), Unit: fmt.Sprintf("of %d", all.calls)}}
	if before > 0 && all.fault == nil {
		if after, err = s.settledMemory(ctx); err != nil {
			return nil, nil, all, err
		}
		if err := s.e.profileHeap(ctx, "idle connections"); err != nil {
			return nil, nil, all, err
		}
		memory = append(memory,
			Measured{Name: "memory of an idle connection", Value: float64(after-before) / idleConnections / 1024, Unit: "KiB"},
			Measured{Name: "memory of transcriptd with them", Value: float64(after) / (1 << 20), Unit: "MiB"})
	}
	return idle, memory, all, nil
}

// streaming is what active streams did.
type streaming struct {
	tally
	bytes int
	while time.Duration
}

func (s *streaming) perSecond(n float64) float64 { return n / s.while.Seconds() }

// active reads streams of 1,000 turns from as many callers as there are to be streams, for a while. A stream has a minute,
// whatever the row's Timeout is.
func (s *server) active(ctx context.Context, while time.Duration) (*streaming, error) {
	head, err := s.fill(ctx, "streamed", s.e.seeds(1000), 1000)
	if err != nil {
		return nil, err
	}
	conns := make([]*grpc.ClientConn, activeStreams)
	for i := range conns {
		if conns[i], err = s.connectUnwatched(); err != nil {
			return nil, err
		}
	}
	req := &transcriptv1.StreamAssembleRequest{Namespace: s.namespace, Head: byID(head)}
	whole, err := readStream(ctx, conns[0], req)
	if err != nil {
		return nil, err
	}
	profiling, err := s.e.profile(ctx, while, "active streams")
	if err != nil {
		return nil, err
	}
	all, begin := &streaming{}, time.Now()
	var wait sync.WaitGroup
	var mu sync.Mutex
	for _, conn := range conns {
		wait.Go(func() {
			for first := true; first || time.Since(begin) < while; first = false {
				n, err := readStream(ctx, conn, req)
				if err == nil && n != whole {
					err = fmt.Errorf("a stream of %d bytes, not %d", n, whole)
				}
				mu.Lock()
				all.count(err)
				all.bytes += n
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	all.while = time.Since(begin)
	return all, profiling.stop()
}
