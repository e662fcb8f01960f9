package fair

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// leastKept is how many buckets are kept at least before those that nobody needs are dropped.
const leastKept = 256

// Rates bound how many calls a second, on average, each of many parties begins: a token bucket for each.
type Rates struct {
	mu      sync.Mutex
	buckets map[string]*rate.Limiter
	// sweepAt is how many buckets there are when full ones are dropped: one that is full is like a new one.
	sweepAt int
}

// NewRates makes Rates.
func NewRates() *Rates { return &Rates{buckets: map[string]*rate.Limiter{}, sweepAt: leastKept} }

// Take counts a call of a party that may begin so many a second, and burst at once; burst 0: as many as in a second. 0: it may begin;
// else it may not, and would find a token after so long. A party's numbers may change from call to call.
func (r *Rates) Take(party string, perSecond float64, burst int, now time.Time) (wait time.Duration) {
	if burst <= 0 {
		burst = int(min(math.Ceil(perSecond), math.MaxInt32))
	}
	b := r.bucket(party, rate.Limit(perSecond), burst, now)
	if b.AllowN(now, 1) { // a reservation that is given back would hold up those made meanwhile
		return 0
	}
	missing := max(0, 1-b.TokensAt(now))
	return max(1, time.Duration(min(missing/perSecond*float64(time.Second), math.MaxInt64/2)))
}

func (r *Rates) bucket(party string, limit rate.Limit, burst int, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[party]
	if b == nil {
		r.sweep(now)
		b = rate.NewLimiter(limit, burst)
		r.buckets[party] = b
	}
	if b.Limit() != limit {
		b.SetLimitAt(now, limit)
	}
	if b.Burst() != burst {
		b.SetBurstAt(now, burst)
	}
	return b
}

// sweep drops what nobody needs, once the buckets have doubled.
func (r *Rates) sweep(now time.Time) {
	if len(r.buckets) < r.sweepAt {
		return
	}
	for party, b := range r.buckets {
		if b.TokensAt(now) >= float64(b.Burst()) {
			delete(r.buckets, party)
		}
	}
	r.sweepAt = max(leastKept, 2*len(r.buckets))
}
