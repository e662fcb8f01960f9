package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/bytecount"
)

// scrubFlags say whether the store is verified by itself.
type scrubFlags struct {
	Every time.Duration   `name:"verify-every" default:"0s" env:"TRANSCRIPTD_VERIFY_EVERY" help:"Verify the whole store this often, for the first time at the start: at least 1m, such as 168h; 0s: never. What is found is in metrics (transcriptd_verify_…) and in the log; see docs/operations.md."`
	Rate  bytecount.Count `name:"verify-rate" default:"10000000" env:"TRANSCRIPTD_VERIFY_RATE" help:"Read at most this many bytes of the store a second for --verify-every: in bytes or as 64KiB, 20MiB; 0: no bound."`
}

func (s *scrubFlags) check() error {
	if s.Every != 0 && s.Every < time.Minute {
		return usagef("--verify-every must be 0s or at least 1m, is %s", s.Every)
	}
	return nil
}

const (
	// retryAfter is how long after a check that failed it goes on where it was.
	retryAfter = 5 * time.Minute
	// loggedProblems is how many problems of a check are logged one by one.
	loggedProblems = 20
)

// scrubber verifies the whole store again and again.
type scrubber struct {
	scrubFlags
	log *slog.Logger
	// verify is the Server's.
	verify func(context.Context, chainstore.Check, func(chainstore.VerifyReport) error) error

	mu sync.Mutex
	// began and finished are of the check that finished last; the zero time before. running says that one is under way.
	began, finished time.Time
	running         bool
	failures        int
	// newest is of the check under way, or the last one; found are its problems, before those of the one that finished last.
	newest        chainstore.VerifyReport
	found, before map[chainstore.ProblemKind]int
}

// run verifies until ctx ends.
func (s *scrubber) run(ctx context.Context) {
	for {
		next := time.NewTimer(s.Every)
		err := s.once(ctx)
		if err == nil {
			s.sleep(ctx, next)
		}
		next.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

func (s *scrubber) sleep(ctx context.Context, timer *time.Timer) {
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// once makes one check, which goes on where it was after a failure: until it ends, or ctx does.
func (s *scrubber) once(ctx context.Context) error {
	began := time.Now()
	s.begin()
	check := chainstore.Check{WholeStore: true, BytesPerSecond: int64(s.Rate)}
	for {
		err := s.verify(ctx, check, func(r chainstore.VerifyReport) error {
			check.Cursor = r.Cursor
			s.take(r)
			return nil
		})
		if err == nil {
			s.end(began)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.fail(err, retryAfter)
		if errors.Is(err, chainstore.ErrBadCursor) {
			check.Cursor = nil
			s.begin()
		}
		retry := time.NewTimer(retryAfter)
		s.sleep(ctx, retry)
		retry.Stop()
	}
}

func (s *scrubber) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.newest, s.found = true, chainstore.VerifyReport{}, map[chainstore.ProblemKind]int{}
}

// take takes a report, and logs the first problems.
func (s *scrubber) take(r chainstore.VerifyReport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range r.Problems {
		s.found[p.Kind]++
		if total(s.found) <= loggedProblems {
			s.log.Error("verify: a problem in what is stored", problemAttributes(&p)...)
		}
	}
	s.newest = r
	s.newest.Problems = nil
}

// problemAttributes tell of a problem in the log.
func problemAttributes(p *chainstore.Problem) []any {
	attributes := []any{"kind", p.Kind.String(), "problem", p.What}
	if p.Namespace != "" {
		attributes = append(attributes, "namespace", p.Namespace)
	}
	if p.HasNode {
		attributes = append(attributes, "node", p.Node.String())
	}
	return attributes
}

func total(found map[chainstore.ProblemKind]int) (n int) {
	for _, some := range found {
		n += some
	}
	return n
}

func (s *scrubber) fail(err error, again time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	s.log.Warn("verify: the check of the store ended early, and goes on where it was", "cause", err, "after", again)
}

func (s *scrubber) end(began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.began, s.finished = false, began, time.Now()
	s.before = maps.Clone(s.found)
	attributes := []any{
		"problems", total(s.found), "nodes", s.newest.Nodes, "entries", s.newest.Entries, "namespaces", s.newest.Namespaces,
		"files", s.newest.Files, "took", s.finished.Sub(began).Round(time.Millisecond),
	}
	if total(s.found) == 0 {
		s.log.Info("verify: the store was checked", attributes...)
		return
	}
	s.log.Error("verify: problems were found in the store; transcriptctl verify --all lists them, docs/operations.md says what to do", attributes...)
}

// problems are those of a kind of the check under way; while it has found fewer than the one before, that one's.
func (s *scrubber) problems(kind chainstore.ProblemKind) int {
	return max(s.found[kind], s.before[kind])
}

// scrubMetrics tells of a scrubber.
type scrubMetrics struct {
	metricsOf[scrubber]
	problems *prometheus.Desc
}

func scrubDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("transcriptd_verify_"+name, help, labels, nil)
}

func newScrubMetrics(s *scrubber) *scrubMetrics {
	metric := func(kind prometheus.ValueType, name, help string, read func(*scrubber) float64) storeMetric[scrubber] {
		return storeMetric[scrubber]{scrubDesc(name, help), kind, read}
	}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	return &scrubMetrics{
		problems: scrubDesc("problems", "Problems of a kind that the check under way has found; while those are fewer, those of the check before.", "kind"),
		metricsOf: metricsOf[scrubber]{of: s, mu: &s.mu, values: []storeMetric[scrubber]{
			metric(gauge, "running", "1 while the store is being verified.", func(s *scrubber) float64 { return oneIf(s.running) }),
			metric(gauge, "finished_timestamp_seconds", "When the last check ended, in seconds since 1970; 0 before.", func(s *scrubber) float64 { return sinceEpoch(s.finished) }),
			metric(gauge, "duration_seconds", "How long the last check took.", func(s *scrubber) float64 { return s.finished.Sub(s.began).Seconds() }),
			metric(gauge, "nodes", "Nodes that the check under way, or the last one, has checked.", func(s *scrubber) float64 { return float64(s.newest.Nodes) }),
			metric(gauge, "entries", "Index entries and aliases that it has checked.", func(s *scrubber) float64 { return float64(s.newest.Entries) }),
			metric(gauge, "namespaces", "Namespaces that it has checked.", func(s *scrubber) float64 { return float64(s.newest.Namespaces) }),
			metric(gauge, "files", "Files that it has checked.", func(s *scrubber) float64 { return float64(s.newest.Files) }),
			metric(counter, "failures_total", "Checks that ended early, and went on later.", func(s *scrubber) float64 { return float64(s.failures) }),
		}},
	}
}

// Describe implements prometheus.Collector.
func (m *scrubMetrics) Describe(to chan<- *prometheus.Desc) {
	m.metricsOf.Describe(to)
	to <- m.problems
}

// Collect implements prometheus.Collector.
func (m *scrubMetrics) Collect(to chan<- prometheus.Metric) {
	m.metricsOf.Collect(to)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, kind := range chainstore.ProblemKinds() {
		to <- prometheus.MustNewConstMetric(m.problems, prometheus.GaugeValue, float64(m.of.problems(kind)), kind.String())
	}
}

// startScrubber verifies the store as the flags say, and returns what ends that; wait for it before the store is closed.
func startScrubber(flags scrubFlags, verify func(context.Context, chainstore.Check, func(chainstore.VerifyReport) error) error,
	to prometheus.Registerer, log *slog.Logger,
) (stop func()) {
	if flags.Every == 0 {
		return func() {}
	}
	s := &scrubber{scrubFlags: flags, log: log, verify: verify}
	to.MustRegister(newScrubMetrics(s))
	return inBackground(s.run)
}
