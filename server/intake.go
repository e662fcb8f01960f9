package server

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

const (
	// intakeBytes is how much the requests of all writes under way may hold, as they come over the wire.
	intakeBytes = 64 << 20
	// promptly is how long a request may take to come and count as the largest there is meanwhile.
	promptly = 2 * time.Second
)

// intake bounds what the requests of writes hold in memory, which their number alone does not: a write is received when
// there is room for the largest request, and from then on counts as what it is, until it has ended. Before, it has no more
// of the server's memory than streamWindow, since gRPC asks a client for more only once a handler receives. A request that
// does not come promptly counts again once it has come, so that senders that stall hold up the others for no longer than that.
type intake struct {
	room     *semaphore.Weighted
	draining *atomic.Bool
	statuses *mapper
	// refused tells that a write was refused as OVERLOADED.
	refused func(now time.Time)
}

func newIntake(a *admission) *intake {
	return &intake{
		room: semaphore.NewWeighted(intakeBytes), draining: a.draining,
		statuses: &mapper{rows: table(), log: a.log}, refused: a.refuse,
	}
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

// handler handles a write once there is room for it. What it refuses, no interceptor sees; what a draining server refuses, one
// does.
func (i *intake) handler(next grpc.MethodHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		if i.draining.Load() {
			return next(srv, ctx, receive, interceptor)
		}
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
	p := &portion{in: i, bytes: maxRequest}
	p.mu.Lock()
	p.late = time.AfterFunc(promptly, p.isLate)
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
		return i.statuses.status(ctx, ctx.Err())
	default:
		i.refused(time.Now())
		return i.statuses.status(ctx, chainstore.ErrOverloaded)
	}
}

// portion is what a write has of an intake's room.
type portion struct {
	in *intake

	mu sync.Mutex
	// bytes is what it has of the room: of a request that is on its way the most that it can be, or nothing if it is late.
	bytes int64
	// late gives the room back; nil once the request has come.
	late *time.Timer
}

// isLate gives the room back where the request is still on its way.
func (p *portion) isLate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.late != nil {
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

// end says that the request is on its way no more. The caller has the lock.
func (p *portion) end() {
	if p.late != nil {
		p.late.Stop()
		p.late = nil
	}
}
