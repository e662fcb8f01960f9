package server

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/transport"
)

// nobody knows nobody, for a reason.
type nobody struct{ why error }

func (n nobody) Authenticate(identity.Credentials) (*identity.Principal, error) { return nil, n.why }

// Whoever is not known is told the same, whatever the method and the deadline, before a request has come, and leaves nothing behind: no call in any
// metric but that of strangers, no span, and one line in the log for all.
func TestStrangers(t *testing.T) {
	for _, c := range []struct {
		why    error
		code   codes.Code
		reason string
	}{
		{identity.ErrUnauthenticated, codes.Unauthenticated, "UNAUTHENTICATED"},
		{identity.ErrUnavailable, codes.Unavailable, "IDENTITY_UNAVAILABLE"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			seen := &crowd{T: t, registry: prometheus.NewRegistry(), logs: &lockedBuffer{}, spans: tracetest.NewSpanRecorder()}
			var untouched struct{ chainstore.Store }
			g := serveGuarded(t, New(untouched, Config{
				Authenticator: nobody{c.why}, Registerer: seen.registry, Logger: slog.New(slog.NewTextHandler(seen.logs, nil)),
				TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(seen.spans)),
			}), nil)
			var first proto.Message
			refused, calls := 0, 0
			unhurried, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(20*time.Second, cancel).Stop()
			g.methods(func(name string, m *access.Method, d protoreflect.MethodDescriptor) {
				if m.Kind == access.Health {
					return
				}
				for _, ctx := range []context.Context{unhurried, due(t, transport.Near/2), due(t, time.Hour)} {
					calls++
					stream, err := g.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, name) // nothing is sent
					if err == nil {
						err = stream.RecvMsg(requestWith(t, d, nil))
					}
					told := status.Convert(err).Proto()
					if first == nil {
						first = told
					}
					if status.Code(err) != c.code || !proto.Equal(first, told) {
						t.Errorf("%s is told %v, the first %v", name, told, first)
						continue
					}
					refused++
				}
			})
			if n := seen.metric("transcriptd_server_strangers_refused_total", c.reason); refused != calls || n != float64(calls) {
				t.Errorf("of %d calls %d were refused and %v counted", calls, refused, n)
			}
			if n := seen.metric("grpc_server_started_total") + seen.counted(); n != 0 {
				t.Errorf("%v calls are counted elsewhere", n)
			}
			if n := len(seen.spans.Started()); n != 0 {
				t.Errorf("there are %d spans", n)
			}
			if log := seen.logs.String(); strings.Contains(log, "finished call") || strings.Count(log, c.reason) != 1 {
				t.Errorf("the log has\n%s", log)
			}
		})
	}
}
