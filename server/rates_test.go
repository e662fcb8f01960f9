package server

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
)

// byName knows whoever says a name.
type byName map[string]*identity.Principal

func (b byName) Authenticate(shown identity.Credentials) (*identity.Principal, error) {
	if len(shown.Authorization) == 1 && b[shown.Authorization[0]] != nil {
		return b[shown.Authorization[0]], nil
	}
	return nil, identity.ErrUnauthenticated
}

// TestRates: who makes more calls than its rate allows is told RATE_LIMITED, and when to come back, before a request has come, whatever its
// deadline; others go on, and health is told to everybody.
func TestRates(t *testing.T) {
	seen := &crowd{T: t, registry: prometheus.NewRegistry()}
	every := []identity.Grant{{Roles: identity.Read | identity.Append, Namespaces: identity.Everything}}
	g := serveGuarded(t, New(memstore.New(memstore.Options{}), Config{
		Registerer: seen.registry,
		Authenticator: byName{
			"bounded": {Name: "bounded", Grants: every, Rate: identity.Rate{PerSecond: 0.01, Burst: 3}},
			"free":    {Name: "free", Grants: every},
		},
	}), nil)
	rpc := transcriptv1.NewTranscriptServiceClient(g.conn)
	put := func(who string, within time.Duration) error {
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "authorization", who), within)
		defer cancel()
		_, err := rpc.PutNode(ctx, text(1))
		return err
	}
	for range 3 {
		if err := put("bounded", time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	for _, within := range []time.Duration{time.Second, time.Minute} {
		st, info := statusOf(t, put("bounded", within))
		if st.Code() != codes.ResourceExhausted || info.Reason != "RATE_LIMITED" {
			t.Fatalf("over its rate it is told %v", st)
		}
		var retry *errdetails.RetryInfo
		for _, d := range st.Details() {
			if r, ok := d.(*errdetails.RetryInfo); ok {
				retry = r
			}
		}
		if after := retry.GetRetryDelay().AsDuration(); after < 50*time.Second || after > 100*time.Second {
			t.Errorf("it is told to come back after %s, a call comes every 100 s", after)
		}
	}
	for range 20 {
		if err := put("free", time.Minute); err != nil {
			t.Fatal(err)
		}
		if _, err := healthv1.NewHealthClient(g.conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := seen.metric("transcriptd_server_over_rate_total", "bounded"); n != 2 {
		t.Errorf("%v calls are counted as over the rate of who made them, want 2", n)
	}
}

// TestWritesAreSharedByPrincipals: who has few writes under way is taken while another has as many as there may be, by whatever names.
func TestWritesAreSharedByPrincipals(t *testing.T) {
	every := []identity.Grant{{Roles: identity.Append, Namespaces: identity.Everything}}
	store := &waitingStore{Store: memstore.New(memstore.Options{}), opened: make(chan struct{})}
	s := New(store, Config{Authenticator: byName{
		"greedy": {Name: "acme/ada", Entry: "acme", Grants: every}, "greedy too": {Name: "acme/bob", Entry: "acme", Grants: every},
		"modest": {Name: "modest", Grants: every}, "third": {Name: "third", Grants: every},
	}})
	s.transport.Admission.Free, s.transport.Admission.Most = 8, 32
	g, seen := serveGuarded(t, s, nil), &crowd{T: t}
	end := sync.OnceFunc(func() { close(store.opened) })
	t.Cleanup(end) // before the server stops, which waits for them
	rpc := transcriptv1.NewTranscriptServiceClient(g.conn)
	put := func(who string) chan error {
		done := make(chan error, 1)
		go func() {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", who)
			_, err := rpc.PutNode(ctx, text(len(who)))
			done <- err
		}()
		return done
	}
	waiting := func(who string, n int64) (all []chan error) {
		for range n {
			had := s.transport.Admission.UnderWay.Load()
			all = append(all, put(who))
			seen.until("a write is under way", func() bool { return s.transport.Admission.UnderWay.Load() > had })
		}
		return all
	}
	refused := func(who string) {
		t.Helper()
		if st, info := statusOf(t, <-put(who)); st.Code() != codes.ResourceExhausted || info.Reason != "OVERLOADED" {
			t.Errorf("beyond its share %s is told %v", who, st)
		}
	}
	taken := append(waiting("greedy", 16), waiting("greedy too", 16)...) // alone
	refused("greedy")
	refused("greedy too")
	taken = append(taken, waiting("modest", 8)...)
	refused("modest")
	refused("greedy")
	taken = append(taken, waiting("third", 5)...)
	refused("third")
	end()
	for _, done := range taken {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// waitingStore has commits wait.
type waitingStore struct {
	chainstore.Store
	opened chan struct{}
}

func (s *waitingStore) Commit(ctx context.Context, namespace string, c *chainstore.Change) (*chainstore.Committed, error) {
	<-s.opened
	return s.Store.Commit(ctx, namespace, c)
}
