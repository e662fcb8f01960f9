package server

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
)

// BenchmarkRefusals makes puts of 64 KiB that are refused by their head: by admission, and since nobody knows who calls.
func BenchmarkRefusals(b *testing.B) {
	for name, c := range map[string]struct {
		cfg  Config
		code codes.Code
		left time.Duration
	}{
		"overloaded": {Config{}, codes.ResourceExhausted, time.Second}, "overloaded_far": {Config{}, codes.ResourceExhausted, time.Minute},
		"strangers":     {Config{Authenticator: nobody{identity.ErrUnauthenticated}}, codes.Unauthenticated, time.Second},
		"strangers_far": {Config{Authenticator: nobody{identity.ErrUnauthenticated}}, codes.Unauthenticated, time.Minute},
	} {
		b.Run(name, func(b *testing.B) {
			s := New(memstore.New(memstore.Options{}), c.cfg)
			s.transport.Admission.Most, s.transport.Admission.Free = 0, 0
			server, err := s.GRPC()
			if err != nil {
				b.Fatal(err)
			}
			listener := bufconn.Listen(1 << 20)
			go func() { _ = server.Serve(listener) }() // ends with Stop
			defer server.Stop()
			conn, err := grpc.NewClient("passthrough:///", grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			client := transcriptv1.NewTranscriptServiceClient(conn)
			req := &transcriptv1.PutNodeRequest{Salt: make([]byte, 64<<10)}
			b.ReportAllocs()
			for b.Loop() {
				ctx, cancel := context.WithTimeout(b.Context(), c.left)
				if _, err := client.PutNode(ctx, req); status.Code(err) != c.code {
					b.Fatal(err)
				}
				cancel()
			}
		})
	}
}
