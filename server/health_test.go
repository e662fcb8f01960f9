package server

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc"
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

// TestStreamsOfHealthAreBounded: whoever opens streams of health gets so many, and is refused beyond, without a line of the log; once they
// have ended there are some again.
func TestStreamsOfHealthAreBounded(t *testing.T) {
	const most = 768
	var log bytes.Buffer
	s := New(memstore.New(memstore.Options{}), Config{Authenticator: byName{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	server, err := s.GRPC(grpc.MaxConcurrentStreams(2 * most)) // so that one connection is enough
	if err != nil {
		t.Fatal(err)
	}
	conn := serve(t, server)
	watch := func(ctx context.Context) error {
		stream, err := healthv1.NewHealthClient(conn).Watch(ctx, &healthv1.HealthCheckRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for range most {
		if err := watch(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if st, info := statusOf(t, watch(t.Context())); st.Code() != codes.ResourceExhausted || info.Reason != "OVERLOADED" {
		t.Errorf("one more is told %v", st)
	}
	if strings.Contains(log.String(), "finished call") {
		t.Errorf("the log has a line for each call that anybody makes:\n%s", log.String())
	}
	if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("health is asked for: %v", err)
	}
	leave()
	(&crowd{T: t}).until("there are some again", func() bool { return watch(t.Context()) == nil })
}
