package server

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/internal/deadline"
)

const (
	// intakeBytes is how much the requests of all writes under way may hold, as they come over the wire.
	intakeBytes = 64 << 20
	// stalls is how long no request may come, and those count that are on their way.
	stalls = 2 * time.Second
)

// intake bounds what the requests of writes hold in memory, which their number alone does not: a write is received when
// there is room for the largest request, and from then on counts as what it is, until it has ended. Before, it has no more
// of the server's memory than streamWindow, since gRPC asks a client for more only once a handler receives. Senders that
// stall, so that nothing comes from anybody, hold up the others for no longer than stalls: then what they send counts again once it
// has come.
type intake struct {
	room *semaphore.Weighted
	// received counts the requests that have come.
	received atomic.Uint64
	// refused tells that a write was refused; refusal is what it is told.
	refused func(now time.Time)
	refusal error
}

func newIntake(a *admission) *intake {
	return &intake{room: semaphore.NewWeighted(intakeBytes), refused: a.refuse, refusal: a.refusal}
}

// service is a service whose writes are received as there is room for them. It relies on gRPC's receiving a request when
// the method's handler asks for it.
func (i *intake) service(desc grpc.ServiceDesc) *grpc.ServiceDesc {
	desc.Methods = slices.Clone(desc.Methods)
	for n := range desc.Methods {
		if m := &desc.Methods[n]; writes("/" + desc.ServiceName + "/" + m.MethodName) {
			m.Handler = i.handler(m.Handler)
		}
	}
	return &desc
}

// handler handles a write once there is room for it. What it refuses, no interceptor sees.
func (i *intake) handler(next grpc.MethodHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		p, err := i.enter(ctx)
		if err != nil {
			return nil, err
		}
		defer p.leave()
		return next(srv, ctx, func(req any) error {
			if err := receive(req); err != nil {
				return err
			}
			return p.came(ctx, int64(proto.Size(req.(proto.Message))))
		}, interceptor)
	}
}

// enter waits for room for the largest request. Errors are statuses: OVERLOADED shortly before the deadline, and that of the
// context.
func (i *intake) enter(ctx context.Context) (*portion, error) {
	if err := i.take(ctx, maxRequest); err != nil {
		return nil, err
	}
	p := &portion{in: i, bytes: maxRequest, before: i.received.Load()}
	p.mu.Lock()
	p.stalled = time.AfterFunc(stalls, p.check)
	p.mu.Unlock()
	return p, nil
}

// take waits for room; errors are as those of enter.
func (i *intake) take(ctx context.Context, bytes int64) error {
	if i.room.TryAcquire(bytes) {
		return nil
	}
	waiting, cancel := deadline.Early(ctx)
	defer cancel()
	switch err := i.room.Acquire(waiting, bytes); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	default:
		i.refused(time.Now())
		return i.refusal
	}
}

// portion is what a write has of an intake's room.
type portion struct {
	in *intake

	mu sync.Mutex
	// bytes is what it has of the room: of a request that is on its way the most that it can be, or nothing.
	bytes int64
	// before is how many requests had come when it was looked at last, while it is on its way; stalled looks.
	before  uint64
	stalled *time.Timer
}

// check gives the room back where nothing has come since it was looked at last.
func (p *portion) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch now := p.in.received.Load(); {
	case p.stalled == nil: // it has come meanwhile
	case now != p.before:
		p.before = now
		p.stalled.Reset(stalls)
	default:
		p.give(p.bytes)
	}
}

// give gives back some of the room. The caller has the lock.
func (p *portion) give(bytes int64) {
	p.in.room.Release(bytes)
	p.bytes -= bytes
}

// came counts a request as what it is; errors are as those of enter.
func (p *portion) came(ctx context.Context, bytes int64) error {
	p.in.received.Add(1)
	bytes = min(bytes, maxRequest)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	if p.bytes > 0 {
		p.give(p.bytes - bytes)
		return nil
	}
	if err := p.in.take(ctx, bytes); err != nil {
		return err
	}
	p.bytes = bytes
	return nil
}

// leave gives back what the write has.
func (p *portion) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	p.give(p.bytes)
}

// end ends the looks at a request that is on its way. The caller has the lock.
func (p *portion) end() {
	if p.stalled != nil {
		p.stalled.Stop()
		p.stalled = nil
	}
}
