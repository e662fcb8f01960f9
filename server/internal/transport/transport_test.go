package transport

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/access"
)

// bareTransport is one that lets everybody in.
func bareTransport(registerer prometheus.Registerer, log *slog.Logger) *Transport {
	return New(Config{
		Draining: context.Background(), Log: log, Registerer: registerer, Guard: access.Anybody{},
		Status: func(_ context.Context, err error) error { return err }, Overloaded: errors.New("overloaded"),
	})
}

// TestOrder: what is documented is what is built.
func TestOrder(t *testing.T) {
	carrying := bareTransport(prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	var names []string
	carrying.Guard, carrying.audit = access.GuardOf(nobody{}), &auditor{}
	for _, l := range carrying.layers() {
		if l.unary == nil || l.stream == nil || l.why == "" {
			t.Errorf("layer %s is incomplete", l.name)
		}
		names = append(names, l.name)
	}
	want := "metrics callers request logging limits audit refusals errors recovery replies"
	if !slices.Equal(names, strings.Fields(want)) {
		t.Errorf("layers are %v, want %v", names, want)
	}
	bare := bareTransport(nil, slog.New(slog.DiscardHandler))
	unary, stream := bare.chains()
	if len(unary) != len(names)-3 || len(stream) != len(unary) {
		t.Errorf("without a registerer, a guard and an audit there are %d and %d interceptors", len(unary), len(stream))
	}
}

// nobody knows nobody.
type nobody struct{ identity.Authenticator }

// A method without a row, or without a gate, is not served: there is no server.
func TestMethodsWithoutARow(t *testing.T) {
	c := bareTransport(nil, slog.New(slog.DiscardHandler))
	strange := &grpc.ServiceDesc{
		ServiceName: "strange.Service", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Do", Handler: func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
			return nil, nil
		}}},
	}
	for how, register := range map[string]func(reflection.GRPCServer){
		"no method": func(services reflection.GRPCServer) {
			services.RegisterService(&grpc.ServiceDesc{ServiceName: "empty.Service", HandlerType: (*any)(nil)}, doing{})
		},
		"without a row":  func(services reflection.GRPCServer) { services.RegisterService(strange, c) },
		"without a gate": func(services reflection.GRPCServer) { services.(*registrar).Server.RegisterService(strange, c) },
	} {
		server, err := c.Serve(func(services reflection.GRPCServer) {
			healthv1.RegisterHealthServer(services, health.NewServer())
			register(services)
		})
		if server != nil || err == nil || !strings.Contains(err.Error(), "Do") {
			t.Errorf("%s: %v, %v", how, server, err)
		}
	}
}

// Where they have not, the log says so once.
func TestLogTellsThatCallsCannotBeEnded(t *testing.T) {
	var log bytes.Buffer
	r := &registrar{log: slog.New(slog.NewTextHandler(&log, nil))}
	r.look(t.Context())
	r.look(t.Context())
	if n := strings.Count(log.String(), "cannot end a call"); n != 1 {
		t.Errorf("%d lines: %s", n, log.String())
	}
}

// A second transport counts in the metrics of the first.
func TestRegistererIsShared(t *testing.T) {
	registry, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	first, second := bareTransport(registry, log), bareTransport(registry, log)
	if first.metrics.ServerMetrics != second.metrics.ServerMetrics {
		t.Error("the second has metrics that nobody gathers")
	}
}

// doing handles a method that its service does not have.
type doing struct{}

func (doing) Handlers() map[string]grpc.MethodHandler {
	return map[string]grpc.MethodHandler{"Do": nil}
}
