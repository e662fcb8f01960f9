package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

const (
	// writesBytes is how much the requests of all writes under way may hold, as they come over the wire, and readsBytes those of
	// all reads, which are short: what there is room for is eight that have yet to come. otherBytes is that of health, and of
	// reflection.
	writesBytes, readsBytes, otherBytes = 64 << 20, 32 << 20, 16 << 20
	// mostWaiting calls may wait for a room; further ones are refused at once.
	mostWaiting = 4096
	// promptly is how long a request may take to come where others wait for room: one of 4 MiB over 7 Mbit/s.
	promptly = 5 * time.Second
	// endEvery is how often one that takes longer is ended, so that many that share a slow line are not all ended at once, and
	// how often each is looked at again. A room that stalled senders have is free after twice promptly.
	endEvery = promptly / 16
)

// intake bounds what requests hold in memory, which the number of calls alone does not: a request is received when there is
// room for the largest, and from then on counts as what it is, until its call has ended. Before, it has no more of the
// server's memory than streamWindow and its head, since gRPC asks a client for more only once a handler receives. A call whose
// request does not come promptly is ended where others wait, so that senders that stall hold them up for no longer. Writes,
// reads with those of the administration, health and reflection have a room each, so that none waits for another.
type intake struct{ writes, reads, health, reflection *room }

// newIntake makes rooms, of which all but that of health take no more calls once draining is done.
func newIntake(draining context.Context, m *roomMetrics, log *slog.Logger) *intake {
	statuses := &mapper{rows: table(), log: log}
	return &intake{
		writes:     newRoom(writesBytes, draining, statuses, m, "writes"),
		reads:      newRoom(readsBytes, draining, statuses, m, "reads"),
		health:     newRoom(otherBytes, context.Background(), statuses, m, "health"),
		reflection: newRoom(otherBytes, draining, statuses, m, "reflection"),
	}
}

// registrar registers services whose requests are received as there is room for them.
type registrar struct {
	*grpc.Server
	intake *intake
}

// RegisterService relies on gRPC's receiving a request when the method's handler asks for it.
func (r *registrar) RegisterService(desc *grpc.ServiceDesc, service any) {
	d := *desc
	d.Methods, d.Streams = slices.Clone(d.Methods), slices.Clone(d.Streams)
	for n := range d.Methods {
		m := &d.Methods[n]
		m.Handler = unlessRefused(r.intake.room(d.ServiceName, m.MethodName).unary(m.Handler))
	}
	for n := range d.Streams {
		s := &d.Streams[n]
		s.Handler = r.intake.room(d.ServiceName, s.StreamName).stream(s.Handler)
	}
	r.Server.RegisterService(&d, service)
}

func (i *intake) room(service, method string) *room {
	switch {
	case service == healthv1.Health_ServiceDesc.ServiceName:
		return i.health
	case strings.HasPrefix(service, "grpc.reflection."):
		return i.reflection
	case writes("/" + service + "/" + method):
		return i.writes
	default:
		return i.reads
	}
}

// room is what the requests of one kind of calls may hold together.
type room struct {
	free *semaphore.Weighted
	// draining is done from when on no more calls are taken.
	draining context.Context
	statuses *mapper
	// waiters are how many calls wait, and ended is when one was ended for them last, in nanoseconds since the start, which no
	// clock that is set turns back.
	start          time.Time
	waiters, ended atomic.Int64
	// bytes are taken, and waiting calls wait for some; waited are the seconds of those that had to.
	bytes, waiting prometheus.Gauge
	waited         prometheus.Observer
}

func newRoom(bytes int64, draining context.Context, statuses *mapper, m *roomMetrics, kind string) *room {
	m.limit.WithLabelValues(kind).Set(float64(bytes))
	return &room{
		free: semaphore.NewWeighted(bytes), draining: draining, statuses: statuses, start: time.Now(),
		bytes: m.bytes.WithLabelValues(kind), waiting: m.waiting.WithLabelValues(kind), waited: m.waited.WithLabelValues(kind),
	}
}

// unary handles a call once there is room for its request, and until then has not asked for it. The call's id is made here, so
// that it is the same in a status that is sent before the interceptors run.
func (r *room) unary(next grpc.MethodHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		p := &portion{room: r}
		defer p.leave()
		ctx = identify(ctx)
		reply, err := next(srv, ctx, func(req any) error { return p.receive(ctx, req, receive) }, interceptor)
		if p.refusal != nil {
			reply, err = tell(srv, ctx, next, interceptor, p.refusal)
		}
		if err != nil {
			callOf(ctx).held.release()
		}
		return reply, err
	}
}

// tell shows the interceptors a call whose request was not received, with an empty one, as though its handler refused it.
func tell(srv any, ctx context.Context, next grpc.MethodHandler, interceptor grpc.UnaryServerInterceptor, refusal error) (any, error) {
	refuse := func(context.Context, any) (any, error) { return nil, refusal }
	return next(srv, ctx, func(any) error { return nil },
		func(ctx context.Context, req any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
			return interceptor(ctx, req, info, refuse)
		})
}

// stream is unary for streams, whose requests are received within the interceptors.
func (r *room) stream(next grpc.StreamHandler) grpc.StreamHandler {
	return func(srv any, ss grpc.ServerStream) error {
		s := &roomStream{ServerStream: ss, room: r}
		defer s.leave()
		return next(srv, s)
	}
}

// roomStream is a stream with one request, or with several of which each is handled before the next is received.
type roomStream struct {
	grpc.ServerStream
	room *room
	// portion is that of the request that was received last; nil before the first.
	portion *portion
}

func (s *roomStream) RecvMsg(m any) error {
	s.leave()
	s.portion = &portion{room: s.room}
	return s.portion.receive(s.Context(), m, s.ServerStream.RecvMsg)
}

func (s *roomStream) leave() {
	if s.portion != nil {
		s.portion.leave()
	}
}

// take takes some of the room, and waits for it. Errors are errNoRoom shortly before the deadline, or at once where mostWaiting
// wait; that of the context; and errDraining where no more calls are taken.
func (r *room) take(ctx context.Context, bytes int64) error {
	if r.draining.Err() != nil {
		return errDraining
	}
	if !r.free.TryAcquire(bytes) {
		if err := r.wait(ctx, bytes); err != nil {
			return err
		}
	}
	r.bytes.Add(float64(bytes))
	return nil
}

func (r *room) wait(ctx context.Context, bytes int64) error {
	defer r.waiters.Add(-1)
	if r.waiters.Add(1) > mostWaiting {
		return errNoRoom
	}
	began := time.Now()
	r.waiting.Inc()
	defer func() {
		r.waiting.Dec()
		r.waited.Observe(time.Since(began).Seconds())
	}()
	early, cancel := deadline.Early(ctx)
	defer cancel()
	defer context.AfterFunc(r.draining, cancel)()
	switch err := r.free.Acquire(early, bytes); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case r.draining.Err() != nil:
		return errDraining
	default:
		return errNoRoom
	}
}

func (r *room) give(bytes int64) {
	r.bytes.Sub(float64(bytes))
	r.free.Release(bytes)
}

// mayEnd tells whether a call whose request does not come is to be ended now, for those that wait.
func (r *room) mayEnd() bool {
	now, ended := int64(time.Since(r.start)), r.ended.Load()
	return r.waiters.Load() > 0 && now-ended >= int64(endEvery) && r.ended.CompareAndSwap(ended, now)
}

// portion is what a request has of a room.
type portion struct {
	room *room

	mu sync.Mutex
	// refusal is why the request was not received; while it is on its way, isLate writes it.
	refusal error
	// bytes is what it has: of a request that is on its way the most that it can be.
	bytes int64
	// late looks whether the request is on its way still; nil unless it is.
	late *time.Timer
}

// receive receives the request when there is room.
func (p *portion) receive(ctx context.Context, req any, receive func(any) error) error {
	err := p.enter(ctx)
	if err == nil {
		err = p.came(req, receive(req))
	}
	p.refusal = err
	return err
}

// enter takes room for the largest request. Errors are those of take.
func (p *portion) enter(ctx context.Context) error {
	if err := p.room.take(ctx, maxRequest); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes = maxRequest
	p.late = time.AfterFunc(promptly, func() { p.isLate(ctx) })
	return nil
}

// isLate ends the call where its request is still on its way and others wait, or the server drains, and else looks again before
// long. What the call has of the room it has until it has left, since the request is in memory as long.
func (p *portion) isLate(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.late == nil:
		return
	case p.room.draining.Err() != nil:
		p.refusal = errDraining
	case p.room.mayEnd():
		p.refusal = errSlow
	default:
		p.late.Reset(endEvery)
		return
	}
	p.late = nil
	hangUp(ctx, p.room.statuses.status(ctx, p.refusal))
}

// hangUp tells the caller a status and makes a receive that waits for more fail, which gRPC does when a call ends. The handler
// cannot end it, since it waits, and were only its context cancelled, gRPC would tell the caller CANCELLED by itself: where
// receiving fails, it sends that as the status at once. If the call has ended already, nothing happens.
func hangUp(ctx context.Context, told error) {
	if s, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ WriteStatus(*status.Status) error }); ok {
		_ = s.WriteStatus(status.Convert(told)) // fails where the caller has gone
	}
}

// came counts a request as what it is, if it has come; the error tells why not. INTERNAL from gRPC means a request of no message
// or several, or one that is cut off or compressed wrong: the caller, whom gRPC has told already, has to mend that. So has who
// sends part of a message more.
func (p *portion) came(req any, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	switch {
	case p.refusal != nil:
		return p.refusal
	case status.Code(err) == codes.Internal || errors.Is(err, io.ErrUnexpectedEOF):
		return &canonical.FieldError{Field: "request", Rule: status.Convert(err).Message(), Kind: canonical.ErrMalformed}
	case err != nil:
		return err
	}
	p.give(p.bytes - min(int64(size(req)), maxRequest))
	return nil
}

// give gives back some of the room. The caller has the lock.
func (p *portion) give(bytes int64) {
	p.room.give(bytes)
	p.bytes -= bytes
}

// leave gives back what the call has.
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
