package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// chains is a service that numbers nodes and remembers which was put behind which.
type chains struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	mu      sync.Mutex
	parents map[string]string
	roots   map[string]int
	repeat  bool
}

func (c *chains) PutNode(_ context.Context, req *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := fmt.Sprint(len(c.parents))
	c.parents[id] = req.GetParent().GetNodeId()
	if req.Parent == nil {
		c.roots[req.Messages[0].Parts[0].GetText()]++
	}
	return &transcriptv1.PutNodeResponse{NodeId: id, Created: !c.repeat}, nil
}

// rowEnv is the environment of a row, without a transcriptd.
func rowEnv(t *testing.T) *env {
	t.Helper()
	e := (&env{seed: new(atomic.Uint64), dir: t.TempDir(), waits: new(time.Duration)}).in(row{number: 9})
	t.Cleanup(func() {
		for i := len(*e.closers) - 1; i >= 0; i-- {
			if err := (*e.closers)[i](); err != nil {
				t.Error(err)
			}
		}
	})
	return e
}

// serve serves a service to a row.
func serve(t *testing.T, e *env, service transcriptv1.TranscriptServiceServer) *server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	transcriptv1.RegisterTranscriptServiceServer(s, service)
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return &server{e: e, addr: listener.Addr().String(), namespace: "test"}
}

// Each caller appends to a chain of its own, and no two chains begin with the same root.
func TestWriters(t *testing.T) {
	const callers, calls = 40, 5
	service := &chains{parents: map[string]string{}, roots: map[string]int{}}
	e := rowEnv(t)
	w, err := e.putSide(t.Context(), "test", serve(t, e, service), callers)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for caller := range callers {
		wait.Go(func() {
			for i := range calls {
				if err := w.call(t.Context(), caller, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if len(service.roots) != callers || len(service.parents) != callers*(calls+1) {
		t.Fatalf("%d roots and %d nodes of %d callers", len(service.roots), len(service.parents), callers)
	}
	children := map[string]int{}
	for _, parent := range service.parents {
		children[parent]++
	}
	if children[""] != callers {
		t.Errorf("%d nodes without a parent", children[""])
	}
	for parent, n := range children {
		if parent != "" && n != 1 {
			t.Errorf("%d nodes behind one", n)
		}
	}
}

// A put that finds its node there is no put.
func TestWritersRefuseRepeats(t *testing.T) {
	e := rowEnv(t)
	s := serve(t, e, &chains{parents: map[string]string{}, roots: map[string]int{}, repeat: true})
	if _, err := e.putSide(t.Context(), "test", s, 1); !errors.Is(err, errNotCreated) {
		t.Errorf("%v", err)
	}
}

// A lone put is held against a transaction that Badger syncs, and what it is to one synced once stands beside.
func TestLonePutFigure(t *testing.T) {
	of := func(name string, took ...time.Duration) *outcome {
		o := &outcome{side: &side{name: name, callers: 1}}
		for _, d := range took {
			o.rounds = append(o.rounds, &sample{took: []time.Duration{d * time.Millisecond}, while: time.Second})
		}
		return o
	}
	f := new(env).lonePutFigure([]*outcome{
		of("ours", 12, 24, 30), of("echo and twice", 10, 16, 10), of("echo and once", 6, 8, 2), of("echo", 2, 1, 1), of("twice", 2, 7, 9),
	})
	if f.Figure != 1.5 || !f.Met {
		t.Errorf("%g, met: %v", f.Figure, f.Met)
	}
	if n := len(f.Measured); n != 7 || f.Measured[2].Name != "echo and once" || f.Measured[5].Value != 3 || f.Measured[6].Value != 3 || f.Measured[6].Unit != "times" {
		t.Errorf("beside it stands %+v", f.Measured)
	}
	if f = new(env).lonePutFigure([]*outcome{of("ours", 12), of("echo and twice"), of("echo and once"), of("echo"), of("twice")}); !f.Void {
		t.Errorf("beside a server elsewhere: %+v", f)
	}
}

// A side of two calls one and then the other, and the second no more where the first fails.
func TestSidesOneAfterTheOther(t *testing.T) {
	var called []string
	one := func(name string, err error) *side {
		return &side{name: name, limit: true, callers: 1, call: func(context.Context, int, int) error {
			called = append(called, name)
			return err
		}}
	}
	both := one("a", nil).and(one("b", nil))
	if err := both.call(t.Context(), 0, 0); err != nil || fmt.Sprint(called) != "[a b]" || both.name != "a and b" || !both.limit {
		t.Errorf("%v, %v, %+v", err, called, both)
	}
	if err := one("c", io.EOF).and(one("d", nil)).call(t.Context(), 0, 0); !errors.Is(err, io.EOF) || fmt.Sprint(called) != "[a b c]" {
		t.Errorf("%v, %v", err, called)
	}
	if one("a", nil).and(&side{}).call != nil {
		t.Error("a side that is not measured is called")
	}
}

// Beside a server elsewhere nothing is started that it would be held against.
func TestNoLimitsBesideRemote(t *testing.T) {
	e := rowEnv(t)
	e.Remote = "elsewhere"
	bare, err := e.bareSide(bare{"bare", openCommitter}, 3)
	if err != nil || !bare.limit || bare.call != nil {
		t.Errorf("a bare thing: %v, %v", bare, err)
	}
	behind, err := e.limitPuts(t.Context(), "echo", "memory", 3)
	if err != nil || !behind.limit || behind.call != nil {
		t.Errorf("a limit: %v, %v", behind, err)
	}
}

func TestMetrics(t *testing.T) {
	sets := 5
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "# HELP %s keys\n# TYPE %[1]s counter\n%[1]s %d\nother{code=\"a b\"} 1.5e+06\n", engineSets, sets)
	}))
	defer admin.Close()
	s := &server{e: rowEnv(t), process: &process{admin: admin.URL}}
	values, err := s.metrics(t.Context())
	if err != nil || values[engineSets] != 5 || values[`other{code="a b"}`] != 1.5e6 {
		t.Errorf("%v, %v", values, err)
	}
	grown, err := s.grown(t.Context(), []string{engineSets}, func() error { sets += 7; return nil })
	if err != nil || grown[0] != 7 {
		t.Errorf("grown by %v, %v", grown, err)
	}
	if _, err := s.grown(t.Context(), []string{engineGets}, func() error { return nil }); err == nil {
		t.Error("a metric that is not there has grown")
	}
	if _, err := new(server).metrics(t.Context()); !errors.Is(err, errNotOurs) {
		t.Errorf("of a server elsewhere: %v", err)
	}
}
