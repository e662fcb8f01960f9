package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transcriptd/transcriptd/server"
)

// collectFlags say how long what nothing refers to is kept, and whether it is deleted by itself.
type collectFlags struct {
	Every time.Duration `name:"collect-every" default:"0s" env:"TRANSCRIPTD_COLLECT_EVERY" help:"Delete the nodes that no alias, no history and no grace keeps this often, in every namespace, for the first time an hour after the start or this long, whichever is shorter: at least 1s, such as 24h; 0s: never. See docs/operations.md."`
	Grace time.Duration `name:"collect-grace" default:"24h" env:"TRANSCRIPTD_COLLECT_GRACE" help:"Keep what was put, or put again, for this long and at most 12h more, whatever refers to it: 1m to 87600h. For calls of CollectGarbage that do not say how long, too."`
	At    string        `name:"collect-at" placeholder:"HH:MM" env:"TRANSCRIPTD_COLLECT_AT" help:"Begin the first collection of --collect-every at this time of the day, in UTC, when few others call, such as 03:30. Default: an hour after the start."`
	Dead  int64         `name:"reclaim-dead" default:"25" env:"TRANSCRIPTD_RECLAIM_DEAD" help:"Give space back behind a collection of --collect-every where this part of the store's files, in percent, or more is of what was deleted: 1 to 100; 0: never. Calls take longer meanwhile."`
	Rate  int64         `name:"collect-rate" default:"0" env:"TRANSCRIPTD_COLLECT_RATE" help:"Delete at most this many nodes a second for --collect-every; 0: no bound, but a pause of three times as long as each commit took."`
}

func (c *collectFlags) check() error {
	switch {
	case c.Every != 0 && c.Every < time.Second:
		return usagef("--collect-every must be 0s or at least 1s, is %s", c.Every)
	case c.Grace < time.Minute || c.Grace > server.MaxGrace:
		return usagef("--collect-grace must be from 1m to %s, is %s", server.MaxGrace, c.Grace)
	case c.Rate < 0:
		return usagef("--collect-rate must not be negative, is %d", c.Rate)
	case c.Dead < 0 || c.Dead > 100:
		return usagef("--reclaim-dead must be from 0 to 100, is %d", c.Dead)
	case c.At != "" && c.Every == 0:
		return usagef("--collect-at goes with --collect-every")
	}
	if _, err := time.Parse(timeOfDay, c.At); c.At != "" && err != nil {
		return usagef("--collect-at must be a time of the day such as 03:30, is %q", c.At)
	}
	return nil
}

const timeOfDay = "15:04"

// first is how long after a time the first collection begins.
func (c *collectFlags) first(now time.Time) time.Duration {
	at, err := time.Parse(timeOfDay, c.At)
	if err != nil { // there is none
		return min(c.Every, collectLater)
	}
	now = now.UTC()
	next := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
	if !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	return next.Sub(now)
}

// collectLater is how long after the start the first collection begins at the latest where no hour is set: who was cut off by a restart has come again by then.
const collectLater = time.Hour

// collecting is what a Server does.
type collecting struct {
	collect func(ctx context.Context, nodesPerSecond int64, report func(server.Collected) error) error
	reclaim func(ctx context.Context) error
}

// collector collects the whole store again and again.
type collector struct {
	collectFlags
	log *slog.Logger
	collecting

	mu sync.Mutex
	// began and finished are of the collection that finished last; the zero time before. running says that one is under way.
	began, finished time.Time
	running         bool
	failures        int
	// newest is of the one under way, or the last one; before is what those before it have deleted.
	newest, before server.Collected
}

// run collects until ctx ends.
func (c *collector) run(ctx context.Context) {
	for wait := c.first(time.Now()); ; {
		timer := time.NewTimer(wait)
		next := time.Now().Add(wait + c.Every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		c.once(ctx)
		if wait = time.Until(next); c.At == "" || wait < 0 { // at an hour it stays at that
			wait = c.Every
		}
	}
}

// once makes one collection. One that fails goes on with the next.
func (c *collector) once(ctx context.Context) {
	began := time.Now()
	c.begin()
	err := c.collect(ctx, c.Rate, func(now server.Collected) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.newest = now
		return nil
	})
	if err == nil {
		c.reclaimed(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = false
	deleted := []any{"aliases_expired", c.newest.Expired, "nodes", c.newest.Nodes, "message_bytes", c.newest.MessageBytes, "took", time.Since(began).Round(time.Millisecond)}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.failures++
		c.log.Warn("collect: a collection ended early; what it did not delete, another does", append([]any{"cause", err, "after", c.Every}, deleted...)...)
	default:
		c.began, c.finished = began, time.Now()
		c.log.Info("collect: what nothing keeps was deleted", append(deleted, "namespaces", c.newest.Namespaces, "held", c.newest.Held)...)
	}
}

// reclaimed gives space back where much is dead.
func (c *collector) reclaimed(ctx context.Context) {
	c.mu.Lock()
	space := c.newest.Space
	c.mu.Unlock()
	if c.Dead == 0 || space.Dead == 0 || space.Dead < space.Files/100*c.Dead {
		return
	}
	began := time.Now()
	if err := c.reclaim(ctx); err != nil {
		if ctx.Err() == nil {
			c.log.Warn("collect: space was not given back; the next collection tries again", "cause", err)
		}
		return
	}
	c.log.Info("collect: space was given back", "dead_bytes", space.Dead, "file_bytes", space.Files, "took", time.Since(began).Round(time.Millisecond))
}

func (c *collector) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before.Nodes, c.before.MessageBytes = c.before.Nodes+c.newest.Nodes, c.before.MessageBytes+c.newest.MessageBytes
	c.before.Expired += c.newest.Expired
	c.running, c.newest = true, server.Collected{}
}

func newCollectMetrics(c *collector) *metricsOf[collector] {
	metric := func(kind prometheus.ValueType, name, help string, read func(*collector) float64) storeMetric[collector] {
		return storeMetric[collector]{prometheus.NewDesc("transcriptd_collect_"+name, help, nil, nil), kind, read}
	}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	return &metricsOf[collector]{of: c, mu: &c.mu, values: []storeMetric[collector]{
		metric(gauge, "running", "1 while a collection of --collect-every runs.", func(c *collector) float64 { return oneIf(c.running) }),
		metric(gauge, "finished_timestamp_seconds", "When the last one ended, in seconds since 1970; 0 before.", func(c *collector) float64 { return sinceEpoch(c.finished) }),
		metric(gauge, "duration_seconds", "How long the last one took.", func(c *collector) float64 { return c.finished.Sub(c.began).Seconds() }),
		metric(counter, "nodes_total", "Nodes that these collections have deleted.", func(c *collector) float64 { return float64(c.before.Nodes + c.newest.Nodes) }),
		metric(counter, "message_bytes_total", "Bytes of their messages, before the store compresses them.", func(c *collector) float64 { return float64(c.before.MessageBytes + c.newest.MessageBytes) }),
		metric(counter, "aliases_expired_total", "Aliases that expired by the rules of their namespaces, in these collections.", func(c *collector) float64 { return float64(c.before.Expired + c.newest.Expired) }),
		metric(gauge, "namespaces_held", "Namespaces in which the last collection, or the one under way, deleted nothing: they have a legal hold.", func(c *collector) float64 { return float64(c.newest.Held) }),
		metric(counter, "failures_total", "Collections that ended early.", func(c *collector) float64 { return float64(c.failures) }),
	}}
}

// startCollector collects as the flags say, and returns what ends that; wait for it before the store is closed.
func startCollector(flags collectFlags, does collecting, to prometheus.Registerer, log *slog.Logger) (stop func()) {
	if flags.Every == 0 {
		return func() {}
	}
	c := &collector{collectFlags: flags, log: log, collecting: does}
	to.MustRegister(newCollectMetrics(c))
	return inBackground(c.run)
}

// inBackground runs f until the function that it returns is called, which waits for its end.
func inBackground(f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
