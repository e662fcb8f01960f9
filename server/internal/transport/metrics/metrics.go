package metrics

import (
	"errors"
	"log/slog"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

// registered registers a collector, or gives the one that an earlier Server registered; without a registerer nobody reads it.
func registered[C prometheus.Collector](to prometheus.Registerer, c C, log *slog.Logger) C {
	if to == nil {
		return c
	}
	err := to.Register(c)
	var there prometheus.AlreadyRegisteredError
	if errors.As(err, &there) {
		if earlier, ok := there.ExistingCollector.(C); ok {
			return earlier
		}
	}
	if err != nil {
		log.Error("metrics could not be registered", "error", err)
	}
	return c
}

// Calls counts and times calls by service, method and code; nothing else of a call becomes a label. A nil metrics
// keeps none.
type Calls struct{ *grpcprom.ServerMetrics }

func NewCalls(to prometheus.Registerer, log *slog.Logger) *Calls {
	if to == nil {
		return nil
	}
	return &Calls{registered(to, grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram()), log)}
}

// Prepare makes every series appear, at zero, before its first call.
func (m *Calls) Prepare(server *grpc.Server) {
	if m != nil {
		m.InitializeMetrics(server)
	}
}

// NewRefused makes the counter of what admission refuses.
func NewRefused(to prometheus.Registerer, log *slog.Logger) prometheus.Counter {
	return registered(to, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "transcriptd_server_refused_total",
		Help: "Writes refused as OVERLOADED when their head had come, before they were received; they are in no other metric of calls.",
	}), log)
}

// NewOverRate makes the counter of calls that are refused since their principal makes more than its rate allows, by principal.
func NewOverRate(to prometheus.Registerer, log *slog.Logger) *prometheus.CounterVec {
	return registered(to, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "transcriptd_server_over_rate_total",
		Help: "Calls refused as RATE_LIMITED when their head had come, by principal; they are in no other metric of calls.",
	}, []string{"principal"}), log)
}

// NewStrangers makes the counter of calls that are refused since nobody knows whose they are, by reason.
func NewStrangers(to prometheus.Registerer, log *slog.Logger) *prometheus.CounterVec {
	return registered(to, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "transcriptd_server_strangers_refused_total",
		Help: "Calls refused when their head had come, since it could not be told who calls; they are in no other metric of calls.",
	}, []string{"reason"}), log)
}

// NewCallers makes the counter of calls by who makes them.
func NewCallers(to prometheus.Registerer, log *slog.Logger) *prometheus.CounterVec {
	return registered(to, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "transcriptd_server_calls_by_principal_total",
		Help: "Calls that have ended, by the entry of the file of principals that their caller is known by; calls of health are left out.",
	}, []string{"principal", "code"}), log)
}

// Replies are those of the room for replies.
type Replies struct {
	Bytes, Limit, Waiting prometheus.Gauge
	Closed                prometheus.Counter
}

func NewReplies(to prometheus.Registerer, log *slog.Logger) *Replies {
	gauge := func(name, help string) prometheus.Gauge {
		return registered(to, prometheus.NewGauge(prometheus.GaugeOpts{Name: "transcriptd_server_" + name, Help: help}), log)
	}
	return &Replies{
		Bytes:   gauge("replies_bytes", "Bytes of room that replies have, until their callers have taken them."),
		Limit:   gauge("replies_limit_bytes", "Bytes of replies from which on calls wait before they make one, but for what each connection has alone."),
		Waiting: gauge("replies_waiting", "Calls that wait until there is room for their reply."),
		Closed: registered(to, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "transcriptd_server_replies_closed_total",
			Help: "Connections closed since they took next to nothing of their replies, while calls waited for room.",
		}), log),
	}
}

// Requests are those of the rooms for requests, by the kind of calls.
type Requests struct {
	Bytes, Limit, Waiting *prometheus.GaugeVec
	Waited                *prometheus.HistogramVec
}

func NewRequests(to prometheus.Registerer, log *slog.Logger) *Requests {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return registered(to, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "transcriptd_server_" + name, Help: help}, []string{"kind"}), log)
	}
	return &Requests{
		Bytes:   gauge("requests_bytes", "Bytes of the requests of calls under way; one that is on its way counts as 4 MiB."),
		Limit:   gauge("requests_limit_bytes", "Bytes of requests from which on calls wait before theirs is received."),
		Waiting: gauge("requests_waiting", "Calls that wait until there is room for their request."),
		Waited: registered(to, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "transcriptd_server_requests_wait_seconds",
			Help:    "How long calls waited until there was room for their request, or in vain; those that did not have to are left out.",
			Buckets: []float64{0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"kind"}), log),
	}
}
