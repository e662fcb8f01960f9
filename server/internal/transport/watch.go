package transport

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// watch is a stream of health that ends once the server drains and has told so: who watches must not hold up the end. Who was told
// before that nothing is served, or that the service is unknown, is told no more, and ends at once.
type watch struct {
	stream
	transport *Transport
	// more says that the stream tells of draining yet.
	more atomic.Bool
	end  context.CancelFunc
}

// maxWatches is how many streams of health there may be, of which each takes some 18 KiB: anybody may have them, and for as long as they like.
// Those of one machine are three quarters of them at most.
const maxWatches = 1024

// watchers bound streams of health.
type watchers struct {
	all      *fair.Semaphore
	machines *fair.Shares
}

func newWatchers() watchers {
	return watchers{all: fair.NewSemaphore(maxWatches), machines: fair.NewShares(maxWatches * 3 / 4)}
}

// watchHealth runs a stream of health until it ends.
func (t *Transport) watchHealth(srv any, ss grpc.ServerStream, next grpc.StreamHandler) error {
	machine := t.watchers.machines.Of(context.WithValue(ss.Context(), fair.Party{}, machineOf(ss.Context())))
	if !fair.Try(1, machine, t.watchers.all) {
		return t.Status(ss.Context(), receive.ErrNoRoom)
	}
	defer fair.Release(1, machine, t.watchers.all)
	ctx, end := context.WithCancel(ss.Context())
	defer end()
	w := &watch{stream: stream{ServerStream: ss, ctx: ctx}, transport: t, end: end}
	w.more.Store(true)
	defer context.AfterFunc(t.draining, w.endIfTold)()
	return next(srv, w)
}

func (w *watch) SendMsg(m any) error {
	err := w.stream.SendMsg(m)
	told, ok := m.(*healthv1.HealthCheckResponse)
	w.more.Store(ok && told.Status == healthv1.HealthCheckResponse_SERVING)
	if w.transport.draining.Err() != nil {
		w.endIfTold()
	}
	return err
}

func (w *watch) endIfTold() {
	if !w.more.Load() {
		w.end()
	}
}
