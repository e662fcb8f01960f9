package transport

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/tap"

	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

const (
	// maxWrites is how many writes may be under way: more than one commit takes, so that the disk never waits for
	// callers, and few enough that they are served in a fraction of a second.
	maxWrites = 1024
	// freeWrites is how many are never refused here, however long they take.
	freeWrites = 256
	// refusalsToldEvery is how often the log tells of refusals.
	refusalsToldEvery = time.Minute
	// longest is as how long a write counts that took longer: a sender may take hours where nobody waits for its room.
	longest = time.Minute
	// Near is how far away the deadline of a call may be that is refused in the tap, which costs least: gRPC holds some 300 bytes
	// of it until then, however long its head is. At 12,000 refusals a second that is 20 MB at most.
	Near = 5 * time.Second
)

// admission refuses writes that would wait too long, as OVERLOADED, when no more than the head of a call has come: what
// is asked for beyond what can be served must cost next to nothing, or less is served. Refused is a write beyond maxWrites,
// and one beyond freeWrites where writes took lately more than half of the time that it has left. Reads, which do not
// wait for a disk, are not refused. What is refused here no interceptor sees: it is in no metric of calls but refused, in no
// line of the log and in no trace, and so its error, which is made once, has no request id. What refusals hold is that of
// a few seconds, whatever deadlines callers send: see near.
type admission struct {
	// Most and free are maxWrites and freeWrites, outside tests.
	Most, Free int64
	// UnderWay counts the writes; a call counts until its context ends, which gRPC sees to whatever becomes of it.
	UnderWay atomic.Int64
	// took is the moving average of how long writes took, in nanoseconds.
	took atomic.Int64
	// again is when the log tells of refusals again, in nanoseconds since the start, which no clock that is set turns back.
	start time.Time
	again atomic.Int64

	draining context.Context
	refused  prometheus.Counter
	refusal  error
	log      *slog.Logger
}

// newAdmission makes an admission that refuses with a status.
func newAdmission(draining context.Context, refused prometheus.Counter, refusal error, log *slog.Logger) *admission {
	return &admission{
		Most: maxWrites, Free: freeWrites, start: time.Now(),
		draining: draining, refused: refused, refusal: refusal, log: log,
	}
}

// admit judges a call whose head has come. gRPC waits for it before it reads on. A draining server says so elsewhere.
func (a *admission) admit(ctx context.Context, call *tap.Info) (context.Context, error) {
	if !access.IsWrite(call.FullMethodName) || a.draining.Err() != nil {
		return ctx, nil //nolint:nilerr // that the server drains is no fault of a call here
	}
	now := time.Now()
	if !a.fits(ctx, now, a.UnderWay.Add(1)) {
		a.UnderWay.Add(-1)
		return a.refuse(ctx, now)
	}
	context.AfterFunc(ctx, func() { a.end(time.Since(now)) })
	return ctx, nil
}

// refuse refuses a call: in the tap where it has no deadline, or a near one. gRPC stops the timer of a deadline when a call has
// been handled, but not when the tap refuses it; so others go on, until their gate ends them.
func (a *admission) refuse(ctx context.Context, now time.Time) (context.Context, error) {
	a.count(now)
	if deadline, has := ctx.Deadline(); has && deadline.Sub(now) > Near {
		return reply.WithCall(ctx, a.refusal), nil
	}
	return ctx, a.refusal
}

// turnedAway is the refusal of a call that admission refused and that goes on; nil: it is not refused.
func turnedAway(ctx context.Context) error {
	if c := reply.CallOf(ctx); c != nil {
		return c.Refusal
	}
	return nil
}

// tracing makes spans of calls that are not refused.
type tracing struct{ stats.Handler }

func (t tracing) TagRPC(ctx context.Context, call *stats.RPCTagInfo) context.Context {
	if turnedAway(ctx) != nil {
		return ctx
	}
	return t.Handler.TagRPC(ctx, call)
}

func (t tracing) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if turnedAway(ctx) == nil {
		t.Handler.HandleRPC(ctx, event)
	}
}

// fits tells whether a write is served in time, which is the nth under way.
func (a *admission) fits(ctx context.Context, now time.Time, n int64) bool {
	if n <= a.Free || n > a.Most {
		return n <= a.Free
	}
	deadline, has := ctx.Deadline()
	return !has || time.Duration(a.took.Load()) <= deadline.Sub(now)/2
}

// end gives back a write's place. Of two that end at once, the time of one may be lost.
func (a *admission) end(took time.Duration) {
	a.UnderWay.Add(-1)
	old := a.took.Load()
	a.took.Store(old + (int64(min(took, longest))-old)/16)
}

// count counts a refusal, and tells the log of it now and then.
func (a *admission) count(now time.Time) {
	a.refused.Inc()
	since, again := int64(now.Sub(a.start)), a.again.Load()
	if since >= again && a.again.CompareAndSwap(again, since+int64(refusalsToldEvery)) {
		a.log.Warn("writes are refused as OVERLOADED; this line comes once a minute at most", "writes_under_way", a.UnderWay.Load())
	}
}
