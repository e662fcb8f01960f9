package transport

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/tap"

	"github.com/transcriptd/transcriptd/internal/identity"
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
//
// Once principals are told apart, the numbers are shared among those that have writes under way: who has its share of freeWrites or less is
// never refused, who has more than its share of half of maxWrites is, and between the two the time decides as it does for all. Half, since what
// one has under way the others wait for too.
type admission struct {
	// Most and free are maxWrites and freeWrites, outside tests.
	Most, Free int64
	// UnderWay counts the writes; a call counts until its context ends, which gRPC sees to whatever becomes of it.
	UnderWay atomic.Int64
	// of has how many of these are whose, by name, once principals are told apart; nobody is in it with none.
	mu sync.Mutex
	of map[string]int64
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
		Most: maxWrites, Free: freeWrites, of: map[string]int64{}, told: newSeldom(),
		draining: draining, refused: refused, refusal: refusal, log: log,
	}
}

// admit judges a call whose head has come. A draining server says so elsewhere.
func (a *admission) admit(ctx context.Context, call *tap.Info) (context.Context, error) {
	if !access.IsWrite(call.FullMethodName) || a.draining.Err() != nil {
		return ctx, nil //nolint:nilerr // that the server drains is no fault of a call here
	}
	now, who := time.Now(), access.Who(ctx)
	if n, most := a.begin(who); !a.fits(ctx, now, n, most) {
		a.leave(who)
		a.count(now)
		return refuse(ctx, a.refusal, now)
	}
	context.AfterFunc(ctx, func() {
		a.leave(who)
		a.end(time.Since(now))
	})
	return ctx, nil
}

// begin counts a write, and tells how many are under way, as it counts for who makes it, and how many may be: as many as there would be if
// everybody who has some had as many, unless there are no more than Free at all.
func (a *admission) begin(who *identity.Principal) (n, most int64) {
	all := a.UnderWay.Add(1)
	if who == nil {
		return all, a.Most
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of[who.Party()]++
	if all <= a.Free || len(a.of) == 1 {
		return all, a.Most
	}
	return a.of[who.Party()] * int64(len(a.of)), a.Most / 2
}

// leave gives back a write's place.
func (a *admission) leave(who *identity.Principal) {
	a.UnderWay.Add(-1)
	if who == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[who.Party()]--; a.of[who.Party()] == 0 {
		delete(a.of, who.Party())
	}
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

// fits tells whether a write is served in time, which is the nth under way, of most that may be.
func (a *admission) fits(ctx context.Context, now time.Time, n, most int64) bool {
	if n <= a.Free || n > most {
		return n <= a.Free
	}
	deadline, has := ctx.Deadline()
	return !has || time.Duration(a.took.Load()) <= deadline.Sub(now)/2
}

// end notes how long a write took. Of two that end at once, the time of one may be lost.
func (a *admission) end(took time.Duration) {
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
