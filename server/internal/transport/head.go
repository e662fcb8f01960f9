package transport

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/panics"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

const (
	// refusalsToldEvery is how often the log tells of refusals.
	refusalsToldEvery = time.Minute
	// Near is how far away the deadline of a call may be that is refused in the tap, which costs least: gRPC holds some 300 bytes
	// of it until then, however long its head is. At 12,000 refusals a second that is 20 MB at most.
	Near = 5 * time.Second
	// strangersPerSecond is how many calls of strangers are refused a second, and twice as many at once, before their connections wait: some 5 % of
	// two processors. longestPace is how long one waits at most for one refusal.
	strangersPerSecond, longestPace = 2000, time.Second
)

// head judges a call of which no more than the head has come: who calls, and, of a write, whether it is served in time. What is asked by
// nobody who is known, or beyond what can be served, must cost next to nothing. What is refused here no interceptor of the server sees: it is
// in no metric of calls but those of refusals, in no line of the log and in no trace, and so its error, which is made once, has no request
// id. What refusals hold is that of a few seconds, whatever deadlines callers send: see Near. gRPC waits for it before it reads on.
func (t *Transport) head(ctx context.Context, call *tap.Info) (context.Context, error) {
	m := access.Find(call.FullMethodName)
	if m == nil {
		return ctx, nil // it is not served, or has no gate
	}
	who, err := t.identify(ctx, m, call)
	if err != nil {
		refusal := t.strangers.refusal(ctx, err)
		t.audit.refused(ctx, call.FullMethodName, refusal)
		if !reply.IsKnown(ctx) { // else who is known would wait, too
			t.strangers.pace(t.draining)
		}
		return refuse(ctx, refusal, time.Now())
	}
	if who != nil {
		reply.Known(ctx)
		ctx = access.Called(ctx, who)
		if err := t.limited(who); err != nil {
			refusal := t.Status(ctx, err)
			t.audit.refused(ctx, call.FullMethodName, refusal)
			return refuse(ctx, refusal, time.Now())
		}
	}
	return t.Admission.admit(ctx, call)
}

// limited refuses a call of somebody who makes more than their rate allows.
func (t *Transport) limited(who *identity.Principal) error {
	if who.Rate.PerSecond == 0 {
		return nil
	}
	wait := t.rates.Take(who.Name, who.Rate.PerSecond, who.Rate.Burst, time.Now())
	if wait == 0 {
		return nil
	}
	t.overRate.WithLabelValues(who.Party()).Inc()
	return &access.RateError{After: wait}
}

// identify asks the guard who calls. A panic is the call's refusal: no interceptor watches over a head.
func (t *Transport) identify(ctx context.Context, m *access.Method, call *tap.Info) (who *identity.Principal, err error) {
	err = panics.Guard(func() (err error) {
		who, err = t.Guard.Identify(m, credentialsOf(ctx, call.Header))
		return err
	})
	return who, err
}

// refuse refuses a call: in the tap where it has no deadline, or a near one. gRPC stops the timer of a deadline when a call has
// been handled, but not when the tap refuses it; so others go on, until their gate ends them, or a stream's first interceptor.
func refuse(ctx context.Context, refusal error, now time.Time) (context.Context, error) {
	if deadline, has := ctx.Deadline(); has && deadline.Sub(now) > Near {
		return reply.WithCall(ctx, refusal), nil
	}
	return ctx, refusal
}

// turnedAway is the refusal of a call whose head was refused and that goes on; nil: it is not refused.
func turnedAway(ctx context.Context) error {
	if c := reply.CallOf(ctx); c != nil {
		return c.Refusal
	}
	return nil
}

// turnAway is the first interceptor of streams, before which it ends those that are turned away.
func turnAway(first grpc.StreamServerInterceptor) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if refusal := turnedAway(ss.Context()); refusal != nil {
			return refusal
		}
		return first(srv, ss, info, next)
	}
}

// strangers are the calls of which nobody knows whose they are: they are counted, and told of now and then.
type strangers struct {
	unknown, unavailable error
	refused              *prometheus.CounterVec
	told                 seldom
	paced                *rate.Limiter
	status               func(context.Context, error) error
	log                  *slog.Logger
}

func newStrangers(refused *prometheus.CounterVec, status func(context.Context, error) error, log *slog.Logger) *strangers {
	for _, reason := range []string{unknownReason, unavailableReason} {
		refused.WithLabelValues(reason)
	}
	return &strangers{
		unknown: status(context.Background(), identity.ErrUnauthenticated), unavailable: status(context.Background(), identity.ErrUnavailable),
		refused: refused, told: newSeldom(), paced: rate.NewLimiter(strangersPerSecond, 2*strangersPerSecond), status: status, log: log,
	}
}

const unknownReason, unavailableReason = "UNAUTHENTICATED", "IDENTITY_UNAVAILABLE"

// pace has refusals beyond strangersPerSecond wait, longestPace at most or until done. gRPC reads nothing more of their connections
// meanwhile, and nothing of other connections waits: so what a flood takes of the processors is bounded, and the flood is held up where it comes
// from.
func (s *strangers) pace(done context.Context) {
	now, wait := time.Now(), longestPace
	if s.paced.TokensAt(now) > -longestPace.Seconds()*strangersPerSecond { // a reservation that is given back would hold up those made meanwhile
		wait = min(wait, s.paced.ReserveN(now, 1).DelayFrom(now))
	}
	if wait == 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done.Done():
	}
}

// refusal is how a call is refused whose caller could not be told, for an error that says why. The caller learns nothing of that.
func (s *strangers) refusal(ctx context.Context, why error) error {
	refusal, reason := s.unknown, unknownReason
	switch {
	case errors.Is(why, identity.ErrUnauthenticated):
	case errors.Is(why, identity.ErrUnavailable):
		refusal, reason = s.unavailable, unavailableReason
	default:
		return s.status(ctx, why)
	}
	s.refused.WithLabelValues(reason).Inc()
	if s.told.again(time.Now()) {
		from := ""
		if p, ok := peer.FromContext(ctx); ok {
			from = p.Addr.String()
		}
		s.log.WarnContext(ctx, "calls are refused since it cannot be told who calls; this line comes once a minute at most",
			"reason", reason, "peer.address", from)
	}
	return refusal
}

// seldom tells when the log tells of something again.
type seldom struct {
	start time.Time
	// next is when, in nanoseconds since the start, which no clock that is set turns back.
	next *atomic.Int64
}

func newSeldom() seldom { return seldom{start: time.Now(), next: new(atomic.Int64)} }

// again tells whether it is time, at most once in refusalsToldEvery.
func (s seldom) again(now time.Time) bool {
	since, next := int64(now.Sub(s.start)), s.next.Load()
	return since >= next && s.next.CompareAndSwap(next, since+int64(refusalsToldEvery))
}
