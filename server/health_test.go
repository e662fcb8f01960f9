package server

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// TestHealthIsToldBesideStreams: streams of health, which anybody may have for as long as they like, hold none of the room for requests, and have no
// large one.
func TestHealthIsToldBesideStreams(t *testing.T) {
	s := New(memstore.New(memstore.Options{}), Config{Authenticator: byName{}})
	g := serveGuarded(t, s, nil)
	watch := func(service string) error {
		stream, err := healthv1.NewHealthClient(g.conn).Watch(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	for range 3 {
		if err := watch(strings.Repeat("x", receive.MaxHealth-10)); err != nil {
			t.Fatal(err)
		}
	}
	if all := s.transport.Requests.Health.Free; !all.TryAcquire(16 << 20) {
		t.Error("streams hold some of the room for requests")
	} else {
		all.Release(16 << 20)
	}
	if err := watch(strings.Repeat("x", receive.MaxHealth+1)); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "service") {
		t.Errorf("a large request: %v", err)
	}
}
