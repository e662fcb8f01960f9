package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/internal/deadline"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/transport/metrics"
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
type intake struct {
	writes, reads, health, reflection *room
	requests                          *requests
}

// newIntake makes rooms, of which all but that of health take no more calls once draining is done.
func newIntake(draining context.Context, m *metrics.Requests, status func(context.Context, error) error) *intake {
	requests := newRequests()
	return &intake{
		writes:     newRoom(writesBytes, draining, requests, status, m, "writes"),
		reads:      newRoom(readsBytes, draining, requests, status, m, "reads"),
		health:     newRoom(otherBytes, context.Background(), requests, status, m, "health"),
		reflection: newRoom(otherBytes, draining, requests, status, m, "reflection"),
		requests:   requests,
	}
}

// room is that of the calls of a kind.
func (i *intake) room(kind access.Kind) *room {
	switch kind {
	case access.Health:
		return i.health
	case access.Reflection:
		return i.reflection
	case access.Writes:
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
	requests *requests
	// status is an error as the caller may see it.
	status func(context.Context, error) error
	// waiters are how many calls wait, and ended is when one was ended for them last, in nanoseconds since the start, which no
	// clock that is set turns back.
	start          time.Time
	waiters, ended atomic.Int64
	// bytes are taken, and waiting calls wait for some; waited are the seconds of those that had to.
	bytes, waiting prometheus.Gauge
	waited         prometheus.Observer
}

func newRoom(bytes int64, draining context.Context, requests *requests, status func(context.Context, error) error, m *metrics.Requests, kind string) *room {
	m.Limit.WithLabelValues(kind).Set(float64(bytes))
	return &room{
		free: semaphore.NewWeighted(bytes), draining: draining, requests: requests, status: status, start: time.Now(),
		bytes: m.Bytes.WithLabelValues(kind), waiting: m.Waiting.WithLabelValues(kind), waited: m.Waited.WithLabelValues(kind),
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
	if err := p.enter(ctx); err != nil {
		return err
	}
	fault, err := p.room.requests.receive(req, receive)
	if err = p.came(req, err); err == nil && fault != nil {
		err = fault
	}
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
	hangUp(ctx, p.room.status(ctx, p.refusal))
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
	case grpcstatus.Code(err) == codes.Internal || errors.Is(err, io.ErrUnexpectedEOF):
		return &canonical.FieldError{Field: "request", Rule: grpcstatus.Convert(err).Message(), Kind: canonical.ErrMalformed}
	case err != nil:
		return err
	}
	if m, ok := req.(proto.Message); ok {
		p.give(p.bytes - min(int64(proto.Size(m)), maxRequest))
	}
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
