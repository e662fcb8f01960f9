package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// heldStore is a store whose commits and reads of chains wait until they are let go, or their callers leave.
type heldStore struct {
	chainstore.Store
	came chan struct{} // of calls, as many as it has room for
	gate chan struct{}
}

func (s *heldStore) wait(ctx context.Context) error {
	select {
	case s.came <- struct{}{}:
	default:
	}
	select {
	case <-s.gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *heldStore) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Store.Commit(ctx, namespace, change)
}

func (s *heldStore) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Store.Chain(ctx, namespace, head, after)
}

func (s *heldStore) ChainNamed(ctx context.Context, namespace string, head chainstore.Ref, limit int) (chainstore.Chain, []string, bool, error) {
	if err := s.wait(ctx); err != nil {
		return nil, nil, false, err
	}
	return s.Store.ChainNamed(ctx, namespace, head, limit)
}

// crowd is a server that takes so few writes at once that a test can bring more.
type crowd struct {
	*testing.T
	transcriptv1.TranscriptServiceClient
	dial func(context.Context) (net.Conn, error)
	conn *grpc.ClientConn
	// credentials are those of clients.
	credentials credentials.TransportCredentials
	server      *Server
	store       *heldStore
	registry    *prometheus.Registry
	running     sync.WaitGroup
	logs        *lockedBuffer
	spans       *tracetest.SpanRecorder
	// received is how many bytes came to the server.
	received *atomic.Int64
}

func newCrowd(t *testing.T, most int64) *crowd {
	t.Helper()
	return newCrowdOver(t, most, linePlain)
}

func newCrowdOver(t *testing.T, most int64, over line) *crowd {
	t.Helper()
	c := &crowd{T: t, registry: prometheus.NewRegistry(), logs: &lockedBuffer{}, spans: tracetest.NewSpanRecorder()}
	ofServer, ofClients := over.credentials(t)
	c.credentials = ofClients
	c.store = &heldStore{
		Store: memstore.New(memstore.Options{}), came: make(chan struct{}, 10_000), gate: make(chan struct{}),
	}
	c.server = New(c.store, Config{
		Registerer: c.registry, Logger: slog.New(slog.NewTextHandler(c.logs, nil)),
		TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(c.spans)),
		Credentials:    ofServer,
	})
	c.server.transport.Admission.Most, c.server.transport.Admission.Free = most, most
	listener := bufconn.Listen(1 << 20)
	counting := &countingListener{Listener: listener}
	c.received = &counting.bytes
	grpcServer, err := c.server.GRPC()
	if err != nil {
		t.Fatal(err)
	}
	serving := make(chan error, 1)
	go func() { serving <- grpcServer.Serve(counting) }()
	c.dial = listener.DialContext
	c.conn, err = grpc.NewClient("passthrough:///localhost", grpc.WithTransportCredentials(c.credentials),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.dial(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	c.TranscriptServiceClient = transcriptv1.NewTranscriptServiceClient(c.conn)
	CollectsBeside(t, c.server)
	t.Cleanup(func() {
		_ = c.conn.Close()
		c.running.Wait()
		grpcServer.Stop()
		if err := <-serving; err != nil {
			t.Error(err)
		}
	})
	return c
}

// put puts a node; i makes it another.
func (c *crowd) put(ctx context.Context, i int) error {
	_, err := c.PutNode(ctx, &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{{
		Role:  transcriptv1.Role_ROLE_USER,
		Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: fmt.Sprint(i)}}},
	}}})
	return err
}

// writes are calls of every method that writes, by name; put is that of PutNode.
func (c *crowd) writes(put func(context.Context) error) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"PutNode": put,
		"PutNodes": func(ctx context.Context) error {
			_, err := c.PutNodes(ctx, &transcriptv1.PutNodesRequest{})
			return err
		},
		"PutArchivedNodes": func(ctx context.Context) error {
			_, err := c.PutArchivedNodes(ctx, &transcriptv1.PutArchivedNodesRequest{})
			return err
		},
		"Alias": func(ctx context.Context) error {
			_, err := c.Alias(ctx, &transcriptv1.AliasRequest{})
			return err
		},
		"DeleteAlias": func(ctx context.Context) error {
			_, err := c.DeleteAlias(ctx, &transcriptv1.DeleteAliasRequest{})
			return err
		},
		"DeleteAliases": func(ctx context.Context) error {
			_, err := c.DeleteAliases(ctx, &transcriptv1.DeleteAliasesRequest{})
			return err
		},
		"Compact": func(ctx context.Context) error {
			_, err := c.Compact(ctx, &transcriptv1.CompactRequest{})
			return err
		},
	}
}

// fill begins n writes, and waits until all are under way. The outcomes follow.
func (c *crowd) fill(ctx context.Context, n int) <-chan error {
	c.Helper()
	outcomes := make(chan error, n)
	for i := range n {
		c.running.Go(func() { outcomes <- c.put(ctx, i) })
	}
	for range n {
		select {
		case <-c.store.came:
		case err := <-outcomes:
			c.Fatalf("a write that fits ended with %v", err)
		}
	}
	return outcomes
}

// empties waits until no write counts as under way.
func (c *crowd) empties() {
	c.Helper()
	c.until("no write counts", func() bool { return c.server.transport.Admission.UnderWay.Load() == 0 })
}

// until waits for what comes to be.
func (c *crowd) until(what string, is func() bool) {
	c.Helper()
	tick, deadline := time.NewTicker(time.Millisecond), time.After(10*time.Second)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			c.Fatalf("after ten seconds it is not so that %s", what)
		}
	}
}

// refused asserts that a write was refused as OVERLOADED.
func (c *crowd) refused(err error) {
	c.Helper()
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.Reason == "OVERLOADED" && info.Domain == errorDomain {
			if status.Code(err) != codes.ResourceExhausted {
				c.Errorf("refused with %v", err)
			}
			return
		}
	}
	c.Errorf("a write too many ended with %v", err)
}

// counted is how many calls were refused by their head, which no other metric counts.
func (c *crowd) counted() float64 {
	c.Helper()
	return c.metric("transcriptd_server_refused_total")
}

// metric is a counter or gauge, or how often a histogram was told something, summed over the series with these values of
// labels.
func (c *crowd) metric(name string, values ...string) (sum float64) {
	c.Helper()
	families, err := c.registry.Gather()
	if err != nil {
		c.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			has := 0
			for _, l := range m.Label {
				if slices.Contains(values, l.GetValue()) {
					has++
				}
			}
			if has == len(values) {
				sum += m.Counter.GetValue() + m.Gauge.GetValue() + float64(m.Histogram.GetSampleCount())
			}
		}
		return sum
	}
	c.Fatalf("there is no metric %s", name)
	return 0
}

// lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Writes beyond the bound are refused at once; reads, health and reflection are not. What ends makes room.
func TestWritesBeyondTheBoundAreRefused(t *testing.T) {
	c := newCrowd(t, 20)
	outcomes := c.fill(t.Context(), 20)
	calls := c.writes(func(ctx context.Context) error { return c.put(ctx, 100) })
	for _, call := range calls {
		c.refused(call(t.Context()))
	}
	if n := c.counted(); n != float64(len(calls)) {
		t.Errorf("%v refusals are counted, not %d", n, len(calls))
	}
	if _, err := c.ResolveAlias(t.Context(), &transcriptv1.ResolveAliasRequest{Name: "nobody"}); status.Code(err) != codes.NotFound {
		t.Errorf("a read ended with %v", err)
	}
	if h, err := healthv1.NewHealthClient(c.conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil || h.Status != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("health is %v, %v", h, err)
	}
	close(c.store.gate)
	for range 20 {
		if err := <-outcomes; err != nil {
			t.Errorf("a write that was taken ended with %v", err)
		}
	}
	c.empties()
	if err := c.put(t.Context(), 101); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// However a write ends, its place is given back: callers who leave, deadlines, connections that break, requests that no
// handler sees, and refusals themselves.
func TestPlacesAreGivenBack(t *testing.T) {
	c := newCrowd(t, 10)
	for range 3 {
		ctx, leave := context.WithCancel(t.Context())
		outcomes := c.fill(ctx, 10)
		c.refused(c.put(t.Context(), 100))
		leave()
		for range 10 {
			if err := <-outcomes; status.Code(err) != codes.Canceled {
				t.Errorf("left, and got %v", err)
			}
		}
		c.empties()
	}
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := c.put(soon, 0); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("after the deadline: %v", err)
	}
	c.empties()
	bad := grpc.ForceCodec(nonsense{})
	if err := c.conn.Invoke(t.Context(), transcriptv1.TranscriptService_PutNode_FullMethodName, nil, nil, bad); err == nil {
		t.Error("nonsense was put")
	}
	c.empties()
	outcomes := c.fill(t.Context(), 10)
	_ = c.conn.Close()
	for range 10 {
		if err := <-outcomes; err == nil {
			t.Error("a write without a connection succeeded")
		}
	}
	c.empties()
}

// nonsense is a codec whose requests nobody understands.
type nonsense struct{}

func (nonsense) Marshal(any) ([]byte, error) { return []byte{0xff, 0xff}, nil }
func (nonsense) Unmarshal([]byte, any) error { return io.ErrUnexpectedEOF }
func (nonsense) Name() string                { return "proto" }

// A server that drains says so, however many writes are under way.
func TestDrainingWinsOverOverload(t *testing.T) {
	c := newCrowd(t, 5)
	outcomes := c.fill(t.Context(), 5)
	c.server.Drain()
	for _, ctx := range []context.Context{t.Context(), due(t, time.Hour)} {
		if err := c.put(ctx, 100); status.Code(err) != codes.Unavailable {
			t.Errorf("draining: %v", err)
		}
	}
	close(c.store.gate)
	for range 5 {
		if err := <-outcomes; err != nil {
			t.Errorf("a write that was taken ended with %v", err)
		}
	}
	c.empties()
}
