// Package receive bounds what requests hold in memory: it takes room for one before it is received, ends one that does not come while
// others wait, and tells what is wrong with its bytes.
package receive

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/internal/deadline"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport/metrics"
)

const (
	// WritesBytes is how much the requests of all writes under way may hold, as they come over the wire, and ReadsBytes those of
	// all reads, which are short: what there is room for is eight that have yet to come. otherBytes is that of health, and of
	// reflection.
	WritesBytes, ReadsBytes, otherBytes = 64 << 20, 32 << 20, 16 << 20
	// httpBytes is how much the bodies of requests over HTTP may hold, beside what their calls do.
	httpBytes = 32 << 20
	// MostWaiting calls may wait for a room; further ones are refused at once. Parties with names, such as principals, share it equally; of
	// all of them together four times as many may wait.
	MostWaiting = 4096
	// Timeout is how long a request may take to come where others wait for room: one of 4 MiB over 7 Mbit/s.
	Timeout = 5 * time.Second
	// EndEvery is how often one that takes longer is ended, so that many that share a slow line are not all ended at once, and
	// how often each is looked at again. A room that stalled senders have is free after twice Timeout.
	EndEvery = Timeout / 16
	// healthTimeout is Timeout for requests of health, which anybody may send, and which come with their heads; MaxHealth is how many bytes they
	// may have, since streams of health last.
	healthTimeout, MaxHealth = time.Second / 4, 1 << 10
)

// Why a request is not received.
var (
	// ErrNoRoom: there was no room for it before the deadline.
	ErrNoRoom = errors.New("no room for the request")
	// ErrSlow: it did not come promptly, and others waited for its room.
	ErrSlow = errors.New("the request took too long to come")
	// ErrDraining: no new calls are taken.
	ErrDraining = errors.New("the server is shutting down")
)

// Limiter bounds what requests hold in memory, which the number of calls alone does not: a request is received when there is
// room for the largest, and from then on counts as what it is, until its call has ended. Before, it has no more of the
// server's memory than streamWindow and its head, since gRPC asks a client for more only once a handler receives. A call whose
// request does not come promptly is ended where others wait, so that senders that stall hold them up for no longer. Writes,
// reads with those of the administration, health and reflection have a room each, so that none waits for another.
type Limiter struct {
	Writes, Reads, Health, Reflection *ByteQuota
	// HTTP is that of bodies over HTTP, before they are requests.
	HTTP     *ByteQuota
	Requests *Requests
}

// NewLimiter makes rooms, of which all but that of health take no more calls once draining is done.
func NewLimiter(draining context.Context, m *metrics.Requests, status func(context.Context, error) error) *Limiter {
	requests := NewRequests()
	i := &Limiter{
		Writes:     newByteQuota(WritesBytes, draining, requests, status, m, "writes"),
		Reads:      newByteQuota(ReadsBytes, draining, requests, status, m, "reads"),
		Health:     newByteQuota(otherBytes, context.Background(), requests, status, m, "health"),
		Reflection: newByteQuota(otherBytes, draining, requests, status, m, "reflection"),
		HTTP:       newByteQuota(httpBytes, draining, requests, status, m, "http"),
		Requests:   requests,
	}
	i.Health.timeout = healthTimeout
	return i
}

// Of is that of the calls of a kind.
func (i *Limiter) Of(kind access.Kind) *ByteQuota {
	switch kind {
	case access.Health:
		return i.Health
	case access.Reflection:
		return i.Reflection
	case access.Writes:
		return i.Writes
	default:
		return i.Reads
	}
}

// ByteQuota is what the requests of one kind of calls may hold together.
type ByteQuota struct {
	Free *fair.Semaphore
	// shares are what those of one party with a name may: some is left for others, also while senders of one stall.
	shares *fair.Shares
	// timeout is how long a request may take to come where others wait.
	timeout time.Duration
	// draining is done from when on no more calls are taken.
	draining context.Context
	requests *Requests
	// status is an error as the caller may see it.
	status func(context.Context, error) error
	// waiters are how many calls wait, and ended is when one was ended for them last, in nanoseconds since the start, which no
	// clock that is set turns back.
	start          time.Time
	waiters, ended atomic.Int64
	// waitersOf are how many of these are whose, by name.
	mu        sync.Mutex
	waitersOf map[string]int64
	// bytes are taken, and waiting calls wait for some; waited are the seconds of those that had to.
	bytes, waiting prometheus.Gauge
	waited         prometheus.Observer
	// unseen is in no registry.
	unseen prometheus.Gauge
}

func newByteQuota(bytes int64, draining context.Context, requests *Requests, status func(context.Context, error) error, m *metrics.Requests, kind string) *ByteQuota {
	m.Limit.WithLabelValues(kind).Set(float64(bytes))
	return &ByteQuota{
		Free: fair.NewSemaphore(bytes), shares: fair.NewShares(max(MaxRequest, bytes*3/4)), waitersOf: map[string]int64{},
		draining: draining, requests: requests, status: status, start: time.Now(), timeout: Timeout,
		bytes: m.Bytes.WithLabelValues(kind), waiting: m.Waiting.WithLabelValues(kind), waited: m.Waited.WithLabelValues(kind),
		unseen: prometheus.NewGauge(prometheus.GaugeOpts{}),
	}
}

// Own makes a room of so many bytes of the same kind of calls, which goes by the same rules and is in no metric: one that a single connection has.
func (r *ByteQuota) Own(bytes int64) *ByteQuota {
	return &ByteQuota{
		Free: fair.NewSemaphore(bytes), shares: fair.NewShares(bytes), waitersOf: map[string]int64{},
		draining: r.draining, requests: r.requests, status: r.status, start: r.start, timeout: r.timeout,
		unseen: r.unseen, bytes: r.unseen, waiting: r.unseen, waited: prometheus.ObserverFunc(func(float64) {}),
	}
}

// Acquire takes some of the room, and of the caller's share of it, nil for none, and waits for both. Errors are ErrNoRoom shortly before the
// deadline, or at once where MostWaiting wait; that of the context; and ErrDraining where no more calls are taken.
func (r *ByteQuota) Acquire(ctx context.Context, bytes int64) (share *fair.Semaphore, err error) {
	if r.draining.Err() != nil {
		return nil, ErrDraining
	}
	share = r.shares.Of(ctx)
	if !fair.Try(bytes, share, r.Free) {
		if err := r.wait(ctx, share, bytes); err != nil {
			return nil, err
		}
	}
	r.bytes.Add(float64(bytes))
	return share, nil
}

func (r *ByteQuota) wait(ctx context.Context, share *fair.Semaphore, bytes int64) error {
	name, _ := ctx.Value(fair.Party{}).(string)
	defer r.leave(name)
	if r.enter(name) > MostWaiting {
		return ErrNoRoom
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
	switch err := fair.Acquire(early, bytes, share, r.Free); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case r.draining.Err() != nil:
		return ErrDraining
	default:
		return ErrNoRoom
	}
}

// enter counts a call that waits, and tells how many do as it counts for its party: of one with a name, as many as would if everybody who has
// some had as many, or a quarter of all where that is more.
func (r *ByteQuota) enter(name string) int64 {
	all := r.waiters.Add(1)
	if name == "" {
		return all
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waitersOf[name]++
	return max(r.waitersOf[name]*int64(len(r.waitersOf)), all/4)
}

func (r *ByteQuota) leave(name string) {
	r.waiters.Add(-1)
	if name == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waitersOf[name]--; r.waitersOf[name] == 0 {
		delete(r.waitersOf, name)
	}
}

func (r *ByteQuota) release(share *fair.Semaphore, bytes int64) {
	r.bytes.Sub(float64(bytes))
	fair.Release(bytes, r.Free, share)
}

// mayEnd tells whether a call whose request does not come is to be ended now, for those that wait.
func (r *ByteQuota) mayEnd() bool {
	now, ended := int64(time.Since(r.start)), r.ended.Load()
	return r.waiters.Load() > 0 && now-ended >= int64(r.endEvery()) && r.ended.CompareAndSwap(ended, now)
}

// endEvery is EndEvery of a room's own timeout.
func (r *ByteQuota) endEvery() time.Duration { return r.timeout / 16 }

// Reservation is what a request has of a room.
type Reservation struct {
	Quota *ByteQuota

	mu sync.Mutex
	// refusal is why the request was not received; while it is on its way, isLate writes it.
	refusal error
	// bytes is what it has: of a request that is on its way the most that it can be.
	bytes int64
	// share is whose it has them of; nil: nobody's.
	share *fair.Semaphore
	// late looks whether the request is on its way still; nil unless it is.
	late *time.Timer
}

// Receive receives the request when there is room.
func (p *Reservation) Receive(ctx context.Context, req any, receive func(any) error) error {
	if err := p.reserve(ctx, MaxRequest, func(why error) { HangUp(ctx, p.Quota.status(ctx, why)) }); err != nil {
		return err
	}
	fault, err := p.Quota.requests.receive(req, receive)
	if err = p.came(req, err); err == nil && fault != nil {
		err = fault
	}
	return err
}

// Read receives a request that has at most so many bytes, when there is room for them. hangUp has read fail, soon. Errors are those of ByteQuota.Acquire, ErrSlow, and those of read.
func (p *Reservation) Read(ctx context.Context, most int64, read func() ([]byte, error), hangUp func()) ([]byte, error) {
	if err := p.reserve(ctx, most, func(error) { hangUp() }); err != nil {
		return nil, err
	}
	b, err := read()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arrived()
	if p.refusal != nil {
		return nil, p.refusal
	}
	p.giveBack(p.bytes - min(int64(len(b)), p.bytes))
	return b, err
}

// reserve takes room for the largest that the request can be. Errors are those of ByteQuota.Acquire. end ends the call while its request is on its way.
func (p *Reservation) reserve(ctx context.Context, most int64, end func(why error)) error {
	share, err := p.Quota.Acquire(ctx, most)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes, p.share = most, share
	p.late = time.AfterFunc(p.Quota.timeout, func() { p.isLate(end) })
	return nil
}

// isLate ends the call where its request is still on its way and others wait, or the server drains, and else looks again before
// long. What the call has of the room it has until it has left, since the request is in memory as long.
func (p *Reservation) isLate(end func(why error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.late == nil:
		return
	case p.Quota.draining.Err() != nil:
		p.refusal = ErrDraining
	case p.Quota.mayEnd():
		p.refusal = ErrSlow
	default:
		p.late.Reset(p.Quota.endEvery())
		return
	}
	p.late = nil
	end(p.refusal)
}

// came counts a request as what it is, if it has come; the error tells why not. INTERNAL from gRPC means a request of no message
// or several, or one that is cut off or compressed wrong: the caller, whom gRPC has told already, has to mend that. So has who
// sends part of a message more.
func (p *Reservation) came(req any, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arrived()
	switch {
	case p.refusal != nil:
		return p.refusal
	case grpcstatus.Code(err) == codes.Internal || errors.Is(err, io.ErrUnexpectedEOF):
		return &canonical.FieldError{Field: "request", Rule: grpcstatus.Convert(err).Message(), Kind: canonical.ErrMalformed}
	case err != nil:
		return err
	}
	if m, ok := req.(proto.Message); ok {
		p.giveBack(p.bytes - min(int64(proto.Size(m)), MaxRequest))
	}
	return nil
}

// giveBack gives back some of the room. The caller has the lock.
func (p *Reservation) giveBack(bytes int64) {
	p.Quota.release(p.share, bytes)
	p.bytes -= bytes
}

// Release gives back what the call has.
func (p *Reservation) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arrived()
	p.giveBack(p.bytes)
}

// arrived says that the request is on its way no more. The caller has the lock.
func (p *Reservation) arrived() {
	if p.late != nil {
		p.late.Stop()
		p.late = nil
	}
}
