package load

import (
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/transcriptd/transcriptd/client"
)

// Report is the figures so far.
type Report struct {
	Mode    string  `json:"mode"`
	Callers int     `json:"callers"`
	Turns   int     `json:"turns"`
	Seconds float64 `json:"seconds"`
	RPCs    []RPC   `json:"rpcs"`
	// Nodes counts the nodes that lie in the namespace now for this load; each is a turn.
	Nodes int64 `json:"nodes,string"`
}

// RPC is the figures of the requests of one kind. Rates and latencies are those of requests that succeeded.
type RPC struct {
	Name              string  `json:"rpc"`
	Requests          int64   `json:"requests,string"`
	Failed            int64   `json:"failed,string"`
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	// BytesPerSecond counts the text of what is put, and the bytes of replies.
	BytesPerSecond float64 `json:"bytesPerSecond"`
	Latency        Latency `json:"latencyMs"`
	// Errors counts the requests that failed, by reason, in the order of the reasons.
	Errors []Failures `json:"errors"`
}

// Failures are the requests that failed for one reason.
type Failures struct {
	Reason   string `json:"reason"`
	Requests int64  `json:"requests,string"`
}

// Latency is how long requests took, in milliseconds; percentiles are within 1 %.
type Latency struct {
	Average float64 `json:"average"`
	P50     float64 `json:"p50"`
	P90     float64 `json:"p90"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
}

// Report may be called at any time.
func (l *Load) Report() Report {
	l.mu.Lock()
	while := l.ended.Sub(l.began)
	if l.ended.IsZero() && !l.began.IsZero() {
		while = time.Since(l.began)
	}
	l.mu.Unlock()
	r := Report{Mode: l.Mode, Callers: l.Callers, Turns: l.Turns, Seconds: max(0, while.Seconds()), Nodes: l.nodes.Load()}
	for _, c := range l.calls {
		r.RPCs = append(r.RPCs, c.figures(while))
	}
	return r
}

// calls are what became of the requests of one kind. Callers add at once.
type calls struct {
	name string

	mu           sync.Mutex
	latency      distribution
	bytes        int64
	failed       int64
	failedReason map[string]int64
}

func newCalls(name string) *calls { return &calls{name: name, failedReason: map[string]int64{}} }

func (c *calls) add(took time.Duration, bytes int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failed++
		c.failedReason[reason(err)]++
		return
	}
	c.latency.add(took)
	c.bytes += int64(bytes)
}

func (c *calls) succeeded() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latency.count
}

// reason is what the server or the SDK calls an error; of one that has no reason, gRPC's code.
func reason(err error) string {
	remote, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return err.Error()
	case remote.Reason != 0:
		return remote.Reason.Error()
	default:
		return remote.Code.String()
	}
}

func (c *calls) figures(while time.Duration) RPC {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := RPC{Name: c.name, Requests: c.latency.count + c.failed, Failed: c.failed, Errors: make([]Failures, 0, len(c.failedReason))}
	for _, reason := range slices.Sorted(maps.Keys(c.failedReason)) {
		r.Errors = append(r.Errors, Failures{reason, c.failedReason[reason]})
	}
	if while > 0 {
		r.RequestsPerSecond, r.BytesPerSecond = float64(c.latency.count)/while.Seconds(), float64(c.bytes)/while.Seconds()
	}
	if c.latency.count > 0 {
		r.Latency = Latency{
			Average: milliseconds(c.latency.sum / time.Duration(c.latency.count)), P50: milliseconds(c.latency.quantile(0.5)),
			P90: milliseconds(c.latency.quantile(0.9)), P99: milliseconds(c.latency.quantile(0.99)), Max: milliseconds(c.latency.max),
		}
	}
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// distribution counts times in buckets each 1 % wider than the one before, so that a load of any length takes the same memory.
type distribution struct {
	buckets  [2400]int64 // 1.01^2400 us are more than six hours
	count    int64
	sum, max time.Duration
}

// bucketGrowth is the end of a bucket over its beginning.
const bucketGrowth = 1.01

func (d *distribution) add(took time.Duration) {
	micros := max(1, float64(took)/float64(time.Microsecond))
	d.buckets[min(len(d.buckets)-1, int(math.Log(micros)/math.Log(bucketGrowth)))]++
	d.count++
	d.sum += took
	d.max = max(d.max, took)
}

// quantile is a time within which a share of the requests had their reply.
func (d *distribution) quantile(share float64) time.Duration {
	left := int64(math.Ceil(share * float64(d.count)))
	for i, n := range d.buckets {
		if left -= n; left <= 0 {
			return min(d.max, time.Duration(math.Pow(bucketGrowth, float64(i+1))*float64(time.Microsecond)))
		}
	}
	return d.max
}
