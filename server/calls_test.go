package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// gated is a store whose reads and writes wait.
type gated struct {
	chainstore.Store
	// entered gets a value when a call has come, open lets it go on.
	entered chan struct{}
	open    chan struct{}
}

func newGated() *gated {
	return &gated{Store: memstore.New(memstore.Options{}), entered: make(chan struct{}, 100), open: make(chan struct{})}
}

func (g *gated) wait(ctx context.Context) error {
	g.entered <- struct{}{}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gated) Commit(ctx context.Context, namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	if err := g.wait(ctx); err != nil {
		return nil, err
	}
	return g.Store.Commit(ctx, namespace, change)
}

func (g *gated) Alias(ctx context.Context, namespace, name string) (*chainstore.Alias, error) {
	if err := g.wait(ctx); err != nil {
		return nil, err
	}
	return g.Store.Alias(ctx, namespace, name)
}

func TestDrain(t *testing.T) {
	g := newGated()
	r := newRig(t, g)
	health := healthv1.NewHealthClient(r.Conn)
	check := func(service string, want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		got, err := health.Check(r.ctx(), &healthv1.HealthCheckRequest{Service: service})
		if err != nil || got.Status != want {
			t.Errorf("health of %q is %v, %v, want %v", service, got.GetStatus(), err, want)
		}
	}
	services := []string{"", "transcript.v1.TranscriptService", "transcript.v1.AdminService"}
	for _, s := range services {
		check(s, healthv1.HealthCheckResponse_SERVING)
	}
	running := make(chan error, 1)
	go func() {
		_, err := r.PutNode(r.ctx(), &PutNode{Messages: []*Message{user("x")}, Aliases: []*Update{{Name: "a"}}})
		running <- err
	}()
	<-g.entered
	r.Server.Drain()
	for _, s := range services {
		check(s, healthv1.HealthCheckResponse_NOT_SERVING)
	}
	_, err := r.PutNode(r.ctx(), &PutNode{Messages: []*Message{user("x")}})
	r.fails(err, codes.Unavailable, "DRAINING", "")
	_, err = r.frames(&Assemble{Head: byAlias("a")})
	r.fails(err, codes.Unavailable, "DRAINING", "")
	close(g.open)
	if err := <-running; err != nil {
		t.Errorf("a call that ran when draining began: %v", err)
	}
	if _, err := g.Store.Alias(r.ctx(), "default", "a"); err != nil {
		t.Errorf("what the running call put is not there: %v", err)
	}
}

// TestWatchersOfHealthDoNotHoldUpTheEnd: who watches is told, also before the server drains or that the service is unknown, and
// then the stream ends and the server can stop.
func TestWatchersOfHealthDoNotHoldUpTheEnd(t *testing.T) {
	const serving, notServing = healthv1.HealthCheckResponse_SERVING, healthv1.HealthCheckResponse_NOT_SERVING
	for name, step := range map[string]struct {
		service  string
		first    healthv1.HealthCheckResponse_ServingStatus
		withdraw bool
	}{
		"told as it drains":  {"", serving, false},
		"told before":        {"", serving, true},
		"an unknown service": {"none", healthv1.HealthCheckResponse_SERVICE_UNKNOWN, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			stream, err := healthv1.NewHealthClient(r.Conn).Watch(r.ctx(), &healthv1.HealthCheckRequest{Service: step.service})
			if err != nil {
				t.Fatal(err)
			}
			told := func(want healthv1.HealthCheckResponse_ServingStatus) {
				t.Helper()
				if m, err := stream.Recv(); err != nil || m.Status != want {
					t.Fatalf("%v, %v", m, err)
				}
			}
			told(step.first)
			if step.withdraw {
				r.Server.Withdraw()
				told(notServing)
			}
			r.Server.Drain()
			if step.first == serving && !step.withdraw {
				told(notServing)
			}
			stopped := make(chan struct{})
			go func() {
				r.GRPC.GracefulStop()
				close(stopped)
			}()
			select {
			case <-stopped:
			case <-time.After(10 * time.Second):
				t.Error("the server waits for who watches its health")
			}
		})
	}
}

// TestCallersWhoGiveUp: cancelled calls and passed deadlines are told from faults, in the reply and in the log.
func TestCallersWhoGiveUp(t *testing.T) {
	g := newGated()
	r := newRig(t, g)
	ctx, cancel := context.WithCancel(r.ctx())
	done := make(chan error, 1)
	go func() {
		_, err := r.PutNode(ctx, &PutNode{Messages: []*Message{user("x")}})
		done <- err
	}()
	<-g.entered
	cancel()
	if f := failureOf(<-done); f.code != codes.Canceled {
		t.Errorf("a cancelled call: %v", f.all)
	}
	arrived := false
	for wait := 10 * time.Millisecond; !arrived && wait < 10*time.Second; wait *= 2 { // or it is over before it arrives
		ctx, cancel := context.WithTimeout(r.ctx(), wait)
		_, err := r.ResolveAlias(ctx, &transcriptv1.ResolveAliasRequest{Name: "a"})
		if f := failureOf(err); f.code != codes.DeadlineExceeded {
			t.Errorf("a call out of time: %v", f.all)
		}
		cancel()
		select {
		case <-g.entered:
			arrived = true
		default:
		}
	}
	// A client whose deadline passes resets the stream, so the server sees one or the other.
	eventually(t, "both calls are logged", func() bool {
		logs := r.logs.String()
		return strings.Count(logs, `"Canceled"`)+strings.Count(logs, `"DeadlineExceeded"`) >= 2
	})
	if strings.Contains(r.logs.String(), `"ERROR"`) {
		t.Errorf("callers who give up are logged as faults: %s", r.logs.String())
	}
}

// eventually polls, without sleeping for longer than it takes.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

// TestLogLines: a line has the method, the code, the time it took and sizes.
func TestLogLines(t *testing.T) {
	r := newRig(t)
	nodes, _, _ := r.broken()
	r.assemble(&Assemble{Head: byID(nodes[10])})
	if _, err := r.frames(&Assemble{Head: byID(nodes[10])}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "three lines", func() bool { return strings.Count(r.logs.String(), "\n") >= 3 })
	ids := map[any]bool{}
	for _, line := range strings.Split(strings.TrimSpace(r.logs.String()), "\n") {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"grpc.service", "grpc.method", "grpc.code", "grpc.duration", "request_bytes", "reply_bytes", "request_id"} {
			if fields[name] == nil || fields[name] == float64(0) {
				t.Errorf("no %s in %s", name, line)
			}
		}
		if ids[fields["request_id"]] {
			t.Errorf("two calls have one id: %s", line)
		}
		ids[fields["request_id"]] = true
	}
}

func TestMetricsCountCalls(t *testing.T) {
	r := newRig(t)
	r.put("", user("x"))
	_, err := r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: "nobody"})
	r.fails(err, codes.NotFound, "ALIAS_NOT_FOUND", "name")
	families := must[[]string](r)(func() ([]string, error) {
		all, err := r.registry.Gather()
		var lines []string
		for _, f := range all {
			for _, m := range f.Metric {
				if m.Counter.GetValue() == 1 {
					lines = append(lines, f.GetName()+fmt.Sprint(m.Label))
				}
			}
		}
		return lines, err
	}())
	all := strings.Join(families, "\n")
	for _, want := range []string{`"PutNode"`, `"ResolveAlias"`, `"NotFound"`, `"OK"`} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing counts %s: %s", want, all)
		}
	}
}

// TestReflection: grpcurl needs no files.
func TestReflection(t *testing.T) {
	r := newRig(t)
	stream, err := reflectionv1.NewServerReflectionClient(r.Conn).ServerReflectionInfo(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"transcript.v1.TranscriptService", "transcript.v1.AdminService", "grpc.health.v1.Health"} {
		if !strings.Contains(reply.String(), want) {
			t.Errorf("no %s in %v", want, reply)
		}
	}
}

// TestCompression: a client that asks for gzip gets it.
func TestCompression(t *testing.T) {
	r := newRig(t)
	id := r.put("", user(strings.Repeat("x", 100_000)))
	reply, err := r.Assemble(r.ctx(), &Assemble{Head: byID(id)}, grpc.UseCompressor("gzip"))
	if err != nil || len(reply.Messages) != 1 {
		t.Errorf("%v, %v", reply, err)
	}
}

// TestSameNodeFromMany: many callers put one node, one of them writes it, all succeed.
func TestSameNodeFromMany(t *testing.T) {
	r := newRig(t)
	parent := r.put("", system("s"))
	const callers = 64
	created := make(chan bool, callers)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			reply, err := r.PutNode(r.ctx(), &PutNode{Parent: byID(parent), Messages: []*Message{user("same")}})
			if err != nil {
				t.Error(err)
			}
			created <- reply.GetCreated()
		})
	}
	wg.Wait()
	close(created)
	n := 0
	for c := range created {
		if c {
			n++
		}
	}
	equal(r, "the callers who wrote the node", n, 1)
	stats := must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{}))
	equal(r, "the nodes", stats.Nodes, 2)
}

// TestNeighbours: refused requests among good ones fail alone.
func TestNeighbours(t *testing.T) {
	r := newRig(t)
	parent := r.put("", system("s"))
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for k := range 10 {
				_, err := r.PutNode(r.ctx(), &PutNode{Parent: byID(parent), Messages: []*Message{user(fmt.Sprint(i, k))}})
				if err != nil {
					t.Errorf("a good request: %v", err)
				}
			}
		})
		wg.Go(func() {
			for k := range 10 {
				req := &PutNode{Parent: byID(absent), Messages: []*Message{user("x")}}
				want := codes.NotFound
				if k%2 == 0 {
					req.Messages, want = []*Message{{}}, codes.InvalidArgument
				}
				if _, err := r.PutNode(r.ctx(), req); failureOf(err).code != want {
					t.Errorf("a bad request: %v", err)
				}
			}
		})
	}
	wg.Wait()
	stats := must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{}))
	equal(r, "the nodes", stats.Nodes, 321)
}

// TestNobodyWaitsForAStuckCaller: while one write waits, bad requests and reads are answered.
func TestNobodyWaitsForAStuckCaller(t *testing.T) {
	g := newGated()
	r := newRig(t, g)
	ctx, cancel := context.WithCancel(r.ctx())
	done := make(chan error, 1)
	go func() {
		_, err := r.PutNode(ctx, &PutNode{Messages: []*Message{user("x")}})
		done <- err
	}()
	<-g.entered
	_, err := r.PutNode(r.ctx(), &PutNode{Messages: []*Message{{}}})
	r.fails(err, codes.InvalidArgument, "INVALID_FIELD", "messages[0].role")
	_, err = r.Assemble(r.ctx(), &Assemble{Head: byID(absent)})
	r.fails(err, codes.NotFound, "NODE_NOT_FOUND", "head")
	cancel()
	if err := <-done; failureOf(err).code != codes.Canceled {
		t.Errorf("the stuck call: %v", err)
	}
}

// failing is a store that cannot write.
type failing struct {
	chainstore.Store
	err error
}

func (f *failing) Commit(context.Context, string, *chainstore.Change) (*chainstore.Committed, error) {
	return nil, fmt.Errorf("segment 7: %w", f.err)
}

func TestStoresThatFail(t *testing.T) {
	for err, want := range map[error]struct {
		code   codes.Code
		reason string
		logged bool
	}{
		chainstore.ErrDiskFull:     {codes.ResourceExhausted, "DISK_FULL", false},
		chainstore.ErrTooManyFiles: {codes.ResourceExhausted, "TOO_MANY_FILES", true},
		chainstore.ErrOverloaded:   {codes.ResourceExhausted, "OVERLOADED", false},
		chainstore.ErrFailed:       {codes.Unavailable, "STORE_FAILED", true},
		chainstore.ErrClosed:       {codes.Unavailable, "DRAINING", false},
		chainstore.ErrTooLarge:     {codes.InvalidArgument, "LIMIT_EXCEEDED", false},
		chainstore.ErrCorrupt:      {codes.DataLoss, "NODE_CORRUPT", true},
		errors.New("a bug"):        {codes.Internal, "INTERNAL", true},
	} {
		r := newRig(t, &failing{memstore.New(memstore.Options{}), err})
		_, got := r.PutNode(r.ctx(), &PutNode{Messages: []*Message{user("x")}})
		f := r.fails(got, want.code, want.reason, "")
		if strings.Contains(f.all, "segment 7") {
			t.Errorf("the caller is told the cause: %s", f.all)
		}
		if strings.Contains(r.logs.String(), "segment 7") != want.logged {
			t.Errorf("%v: the cause is in the log: %t", err, !want.logged)
		}
	}
}
