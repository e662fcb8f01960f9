package flood

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
)

// Tally is what became of the puts of a load. It may be read once the load is over.
type Tally struct {
	// from and to bound the time in which puts that succeed are counted as served: not the first while, in which queues fill.
	from, to time.Time
	while    time.Duration

	mu sync.Mutex
	// Begun counts all puts, Unoffered those that did not begin since too many were under way.
	Begun, Unoffered int
	// Refused counts those that the server refused, by status and reason; Unclear are those whose status does not tell why.
	Refused map[string]int
	Unclear int
	// Silent counts those that had no status by their deadline.
	Silent int
	// Served are those in from and to; While is the time between.
	Served measure.Sample
}

func (f *Flood) tally(while time.Duration) *Tally {
	now := time.Now()
	t := &Tally{from: now.Add(f.deadline), to: now.Add(while), while: while, Refused: map[string]int{}}
	t.Served.While = t.to.Sub(t.from)
	return t
}

// Offered is how many puts began a second.
func (t *Tally) Offered() float64 { return float64(t.Begun) / t.while.Seconds() }

func (t *Tally) unoffered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Unoffered++
}

// end counts a put that began at a time.
func (t *Tally) end(began time.Time, e ending) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Begun++
	switch {
	case e.silent:
		t.Silent++
	case e.code != codes.OK:
		how := e.code.String()
		if e.reason != "" {
			how += " " + e.reason
		}
		t.Refused[how]++
		if !clear(e) {
			t.Unclear++
		}
	case now.After(t.from) && now.Before(t.to):
		t.Served.Took = append(t.Served.Took, now.Sub(began))
	}
}

// clear tells whether a refusal says what its caller should do: wait and repeat, for too much is asked (OVERLOADED, or the
// deadline passed), or turn elsewhere (UNAVAILABLE with a reason).
func clear(e ending) bool {
	switch e.code {
	case codes.DeadlineExceeded:
		return true
	case codes.ResourceExhausted:
		return e.reason == "OVERLOADED"
	case codes.Unavailable:
		return e.reason != ""
	default:
		return false
	}
}
