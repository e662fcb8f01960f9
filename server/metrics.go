package server

import (
	"errors"
	"log/slog"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

// metrics counts and times calls by service, method and code; nothing else of a call becomes a label. A nil metrics
// keeps none.
type metrics struct{ *grpcprom.ServerMetrics }

// newMetrics registers the metrics, or takes those that an earlier Server registered.
func newMetrics(to prometheus.Registerer, log *slog.Logger) *metrics {
	if to == nil {
		return nil
	}
	m := grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram())
	err := to.Register(m)
	var there prometheus.AlreadyRegisteredError
	if errors.As(err, &there) {
		if earlier, ok := there.ExistingCollector.(*grpcprom.ServerMetrics); ok {
			return &metrics{earlier}
		}
	}
	if err != nil {
		log.Error("metrics of calls could not be registered", "error", err)
	}
	return &metrics{m}
}

// prepare makes every series appear, at zero, before its first call.
func (m *metrics) prepare(server *grpc.Server) {
	if m != nil {
		m.InitializeMetrics(server)
	}
}
