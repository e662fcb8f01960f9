package server

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

// metrics counts and times calls by service, method and code; nothing else of a call becomes a label. A nil metrics
// keeps none.
type metrics struct{ *grpcprom.ServerMetrics }

func newMetrics(to prometheus.Registerer, log *slog.Logger) *metrics {
	if to == nil {
		return nil
	}
	return &metrics{registered(to, grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram()), log)}
}

// prepare makes every series appear, at zero, before its first call.
func (m *metrics) prepare(server *grpc.Server) {
	if m != nil {
		m.InitializeMetrics(server)
	}
}

// newRefused makes the counter of what admission refuses.
func newRefused(to prometheus.Registerer, log *slog.Logger) prometheus.Counter {
	return registered(to, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "transcriptd_server_refused_total",
		Help: "Writes refused as OVERLOADED when their head had come, before they were received; they are in no other metric of calls.",
	}), log)
}

// replyMetrics are those of the room for replies.
type replyMetrics struct {
	bytes, limit, waiting prometheus.Gauge
	closed                prometheus.Counter
}

func newReplyMetrics(to prometheus.Registerer, log *slog.Logger) *replyMetrics {
	gauge := func(name, help string) prometheus.Gauge {
		return registered(to, prometheus.NewGauge(prometheus.GaugeOpts{Name: "transcriptd_server_" + name, Help: help}), log)
	}
	return &replyMetrics{
		bytes:   gauge("replies_bytes", "Bytes of room that replies have, until their callers have taken them."),
		limit:   gauge("replies_limit_bytes", "Bytes of replies from which on calls wait before they make one, but for what each connection has alone."),
		waiting: gauge("replies_waiting", "Calls that wait until there is room for their reply."),
		closed: registered(to, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "transcriptd_server_replies_closed_total",
			Help: "Connections closed since they took next to nothing of their replies, while calls waited for room.",
		}), log),
	}
}

// roomMetrics are those of the rooms for requests, by the kind of calls.
type roomMetrics struct {
	bytes, limit, waiting *prometheus.GaugeVec
	waited                *prometheus.HistogramVec
}

func newRoomMetrics(to prometheus.Registerer, log *slog.Logger) *roomMetrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return registered(to, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "transcriptd_server_" + name, Help: help}, []string{"kind"}), log)
	}
	return &roomMetrics{
		bytes:   gauge("requests_bytes", "Bytes of the requests of calls under way; one that is on its way counts as 4 MiB."),
		limit:   gauge("requests_limit_bytes", "Bytes of requests from which on calls wait before theirs is received."),
		waiting: gauge("requests_waiting", "Calls that wait until there is room for their request."),
		waited: registered(to, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "transcriptd_server_requests_wait_seconds",
			Help:    "How long calls waited until there was room for their request, or in vain; those that did not have to are left out.",
			Buckets: []float64{0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"kind"}), log),
	}
}
