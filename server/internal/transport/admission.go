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
)

const (
	// maxWrites is how many writes may be under way: more than one commit takes, so that the disk never waits for
	// callers, and few enough that they are served in a fraction of a second.
	maxWrites = 1024
	// freeWrites is how many are never refused here, however long they take.
	freeWrites = 256
	// longest is as how long a write counts that took longer: a sender may take hours where nobody waits for its room.
	longest = time.Minute
)

// admission refuses writes that would wait too long, as OVERLOADED, when no more than the head of a call has come: what
// is asked for beyond what can be served must cost next to nothing, or less is served. Refused is a write beyond maxWrites,
// and one beyond freeWrites where writes took lately more than half of the time that it has left. Reads, which do not
// wait for a disk, are not refused.
type admission struct {
	// Most and free are maxWrites and freeWrites, outside tests.
	Most, Free int64
	// UnderWay counts the writes; a call counts until its context ends, which gRPC sees to whatever becomes of it.
	UnderWay atomic.Int64
	// took is the moving average of how long writes took, in nanoseconds.
	took atomic.Int64
	told seldom

	draining context.Context
	refused  prometheus.Counter
	refusal  error
	log      *slog.Logger
}

// newAdmission makes an admission that refuses with a status.
func newAdmission(draining context.Context, refused prometheus.Counter, refusal error, log *slog.Logger) *admission {
	return &admission{
		Most: maxWrites, Free: freeWrites, told: newSeldom(),
		draining: draining, refused: refused, refusal: refusal, log: log,
	}
}

// admit judges a call whose head has come. A draining server says so elsewhere.
func (a *admission) admit(ctx context.Context, call *tap.Info) (context.Context, error) {
	if !access.IsWrite(call.FullMethodName) || a.draining.Err() != nil {
		return ctx, nil //nolint:nilerr // that the server drains is no fault of a call here
	}
	now := time.Now()
	if !a.fits(ctx, now, a.UnderWay.Add(1)) {
		a.UnderWay.Add(-1)
		a.count(now)
		return refuse(ctx, a.refusal, now)
	}
	context.AfterFunc(ctx, func() { a.end(time.Since(now)) })
	return ctx, nil
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
	if a.told.again(now) {
		a.log.Warn("writes are refused as OVERLOADED; this line comes once a minute at most", "writes_under_way", a.UnderWay.Load())
	}
}
