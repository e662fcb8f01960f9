package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// twoTenants serves two principals, who may everything.
func twoTenants(t *testing.T) (*guardedServer, *crowd) {
	t.Helper()
	seen := &crowd{T: t, registry: prometheus.NewRegistry()}
	every := []identity.Grant{{Roles: ^identity.Role(0), Namespaces: identity.Everything}}
	return serveGuarded(t, New(memstore.New(memstore.Options{}), Config{
		Registerer:    seen.registry,
		Authenticator: byName{"one": {Name: "one", Grants: every}, "other": {Name: "other", Grants: every}},
	}), nil), seen
}

// as is a context of calls of somebody.
func as(t *testing.T, who string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", who)
}

// TestATenantWhoseRequestsStall: requests of one principal that do not come leave room for those of another, which do not wait until they are
// ended.
func TestATenantWhoseRequestsStall(t *testing.T) {
	for method, room := range map[string]struct {
		kind  string
		bytes int64
		call  func(context.Context, transcriptv1.TranscriptServiceClient) error
	}{
		transcriptv1.TranscriptService_ResolveAlias_FullMethodName: {"reads", receive.ReadsBytes, func(ctx context.Context, rpc transcriptv1.TranscriptServiceClient) error {
			_, err := rpc.ResolveAlias(ctx, &transcriptv1.ResolveAliasRequest{Name: "nobody"})
			return err
		}},
		transcriptv1.TranscriptService_PutNode_FullMethodName: {"writes", receive.WritesBytes, func(ctx context.Context, rpc transcriptv1.TranscriptServiceClient) error {
			_, err := rpc.PutNode(ctx, text(1))
			return err
		}},
	} {
		t.Run(room.kind, func(t *testing.T) {
			g, seen := twoTenants(t)
			stalled, leave := context.WithCancel(as(t, "one"))
			defer leave()
			rooms := int(room.bytes / receive.MaxRequest)
			for range 2 * rooms {
				if _, err := g.conn.NewStream(stalled, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method); err != nil {
					t.Fatal(err)
				}
			}
			for seen.metric("transcriptd_server_requests_waiting", room.kind) < float64(rooms) {
				<-time.After(time.Millisecond)
			}
			ctx, cancel := context.WithTimeout(as(t, "other"), receive.Timeout*3/4)
			defer cancel()
			rpc := transcriptv1.NewTranscriptServiceClient(g.conn)
			for range 50 {
				if err := room.call(ctx, rpc); status.Code(err) != codes.NotFound && err != nil {
					t.Fatalf("a call of another principal: %v", err)
				}
			}
		})
	}
}

// TestATenantWhoseChecksTakeLong: one principal's calls of Verify, which take as long as it likes, leave places for another's.
func TestATenantWhoseChecksTakeLong(t *testing.T) {
	g, _ := twoTenants(t)
	kept := text(100_000)
	kept.Aliases = []*transcriptv1.AliasUpdate{{Name: "kept"}}
	if _, err := transcriptv1.NewTranscriptServiceClient(g.conn).PutNode(as(t, "one"), kept); err != nil {
		t.Fatal(err)
	}
	long, leave := context.WithCancel(as(t, "one"))
	defer leave()
	rpc := transcriptv1.NewAdminServiceClient(g.conn)
	for range 2 * maxVerifies {
		if _, err := rpc.Verify(long, &transcriptv1.VerifyRequest{MaxBytesPerSecond: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for g.server.verifies.TryAcquire(maxVerifies - maxVerifiesOf + 1) { // until it has its share
		g.server.verifies.Release(maxVerifies - maxVerifiesOf + 1)
		<-time.After(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(as(t, "other"), 5*time.Second)
	defer cancel()
	stream, err := rpc.Verify(ctx, &transcriptv1.VerifyRequest{Namespace: "other"})
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("another principal is told %v", err)
	}
}

// TestStrangersOnAConnectionOfATenant: strangers who share a connection with somebody who is known, as behind a proxy, do not have it wait. Time
// stands still but where everything waits, so that calls which do not wait take none. gRPC holds a lock while the tap of a call waits, with which
// time stands still for good.
func TestStrangersOnAConnectionOfATenant(t *testing.T) {
	defer time.AfterFunc(time.Minute, func() { panic("calls beside strangers wait") }).Stop()
	synctest.Test(t, func(t *testing.T) {
		g, seen := twoTenants(t)
		rpc := transcriptv1.NewTranscriptServiceClient(g.conn)
		resolve := func(ctx context.Context) error {
			_, err := rpc.ResolveAlias(ctx, &transcriptv1.ResolveAliasRequest{Name: "nobody"})
			return err
		}
		ctx, leave := context.WithCancel(t.Context())
		var strangers sync.WaitGroup
		defer strangers.Wait()
		defer leave()
		if err := resolve(as(t, "one")); status.Code(err) != codes.NotFound {
			t.Fatal(err)
		}
		for range 50 {
			strangers.Go(func() {
				for ctx.Err() == nil {
					_ = resolve(ctx) // is refused
				}
			})
		}
		refused := func() float64 { return seen.metric("transcriptd_server_strangers_refused_total", "UNAUTHENTICATED") }
		began := time.Now()
		for refused() < 6000 { // more than are refused without a wait
			if err := resolve(as(t, "one")); status.Code(err) != codes.NotFound {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("calls beside strangers wait for %s", took)
		}
	})
}
