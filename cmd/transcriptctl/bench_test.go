package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/load"
	"github.com/transcriptd/transcriptd/server"
)

func TestBenchMistakes(t *testing.T) {
	s := newStack(t)
	for text, args := range map[string][]string{
		"--callers must be from 1 to 10000, is 0": {"--callers", "0"},
		"--turns must be from 1 to 100000, is -1": {"--turns=-1"},
		"--turns must be at most 1000 with ":      {"--mode", "assemble", "--turns", "1001"},
		"--duration must be more than 0, is 0s":   {"--duration", "0s"},
		"--mode must be one of ":                  {"--mode", "puts"},
		"namespace: must be ":                     {"--namespace", "No Such"},
	} {
		r := s.run(append([]string{"bench"}, args...)...)
		if r.code != exitUsage || !strings.Contains(r.notes, text) || r.out != "" {
			t.Errorf("%v: exit code %d, %s%s", args, r.code, r.out, r.notes)
		}
	}
}

func TestBenchUnreachable(t *testing.T) {
	s := newStack(t)
	s.stop()
	if r := s.run("bench"); r.code != exitUnavailable || !strings.Contains(r.notes, "Start it with 'transcriptd'") || r.out != "" {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.notes)
	}
}

// decoded is what bench prints with json.
func decoded(t *testing.T, r result) (b benchResult) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(r.out))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		t.Fatalf("%v: exit code %d, %s\n%s", err, r.code, r.out, r.notes)
	}
	return b
}

// The load ends by itself, what it tells agrees with what the server has, and figures agree with each other.
func TestBenchFigures(t *testing.T) {
	const turns, turnBytes = 5, 3000
	for mode, rpcs := range map[string][]string{
		"put": {"PutNode"}, "assemble": {"Assemble"}, "stream": {"StreamAssemble"}, "mixed": {"PutNode", "StreamAssemble"},
	} {
		s := newStack(t)
		r := s.run("bench", "--mode", mode, "--callers", "3", "--turns", "5", "--duration", "200ms", "-o", "json")
		b := decoded(t, r)
		if r.code != exitOK || b.Mode != mode || b.Callers != 3 || b.Turns != turns || b.Seconds < 0.2 || b.Interrupted || b.ServerVersion != "test" ||
			!strings.HasPrefix(b.Namespace, "bench-") || len(b.RPCs) != len(rpcs) {
			t.Fatalf("%s: exit code %d, %+v", mode, r.code, b)
		}
		nodes := int64(3 * turns)
		for i, rpc := range b.RPCs {
			each, l := int64(turnBytes), rpc.Latency
			switch rpc.Name {
			case "PutNode":
				nodes = rpc.Requests
			case "Assemble", "StreamAssemble":
				if mode != "mixed" { // where chains begin with one turn
					each *= turns
				}
			}
			if rpc.Name != rpcs[i] || rpc.Requests < 3 || rpc.Failed != 0 || len(rpc.Errors) != 0 ||
				l.P50 <= 0 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.Max || l.Average > l.Max ||
				!near(rpc.RequestsPerSecond*b.Seconds, float64(rpc.Requests)) ||
				rpc.BytesPerSecond < rpc.RequestsPerSecond*float64(each) {
				t.Errorf("%s: %+v", mode, rpc)
			}
		}
		stats := s.must("stats", "--namespace", b.Namespace, "--output", "json")
		var has struct {
			Nodes int64 `json:",string"`
		}
		if err := json.Unmarshal([]byte(stats), &has); err != nil || has.Nodes != nodes || b.Nodes != nodes {
			t.Errorf("%s: %d nodes put, %d told, %s, %v", mode, nodes, b.Nodes, stats, err)
		}
		if !strings.Contains(r.notes, count(nodes, "node")+" stay in namespace "+b.Namespace) {
			t.Errorf("%s: %s", mode, r.notes)
		}
	}
}

func near(a, b float64) bool { return a > 0.99*b && a < 1.01*b }

// A load in a namespace that has its chains already puts nothing there; the table and the lines of progress tell of it.
func TestBenchAgain(t *testing.T) {
	s := newStack(t)
	args := []string{"bench", "--namespace", "mine", "--mode", "stream", "--callers", "1", "--turns", "2", "--duration"}
	s.must(append(args, "1ms")...)
	r := s.run(append(args, "1100ms", "--progress")...)
	for _, want := range []string{"stream, 1 caller, chains of 2 turns", "test at " + s.addr, "mine", "StreamAssemble", "  requests/sec", "  latency p99"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	if r.code != exitOK || !strings.Contains(r.notes, "progress: 1.0 s, ") || strings.Contains(r.notes, "progress: 1.0 s, 0.0 ") {
		t.Errorf("exit code %d, %s", r.code, r.notes)
	}
	if stats := s.must("stats", "--namespace", "mine"); !strings.Contains(stats, "nodes     2\n") {
		t.Error(stats)
	}
}

// Ctrl-C ends the load with the figures so far.
func TestBenchInterrupted(t *testing.T) {
	s := newStack(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() {
		ended <- s.runWith(ctx, "", "bench", "--namespace", "mine", "--mode", "put", "--duration", "1h", "--callers", "2", "-o", "json")
	}()
	c, err := client.Dial(s.addr, client.WithNamespace("mine"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	within, giveUp := context.WithTimeout(t.Context(), 30*time.Second)
	defer giveUp()
	for nodes := int64(0); nodes < 10; { // polls
		stats, err := c.Stats(within)
		if err != nil {
			t.Fatal(err)
		}
		nodes = stats.GetNodes()
	}
	cancel()
	r := <-ended
	b := decoded(t, r)
	if r.code != exitInterrupted || !b.Interrupted || b.RPCs[0].Requests < 8 || b.RPCs[0].Failed != 0 || !strings.Contains(r.notes, "stay in namespace mine") {
		t.Errorf("exit code %d, %+v, %s", r.code, b, r.notes)
	}
}

// refusing serves a store, but refuses puts with an error: each, or each second one.
func refusing(t *testing.T, code codes.Code, each int64) *stack {
	t.Helper()
	var puts atomic.Int64
	return serveStore(t, memstore.New(memstore.Options{}), grpc.ChainUnaryInterceptor(
		func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			if info.FullMethod == transcriptv1.TranscriptService_PutNode_FullMethodName && puts.Add(1)%each == 0 {
				return nil, status.Error(code, "refused")
			}
			return handle(ctx, req)
		}))
}

// Requests that fail are counted by the reason, and are no failure of the command where others succeed.
func TestBenchTellsErrors(t *testing.T) {
	s := refusing(t, codes.ResourceExhausted, 2)
	args := []string{"bench", "--mode", "put", "--duration", "1ms", "--callers", "2"}
	r := s.run(append(args, "-o", "json")...)
	if rpc := decoded(t, r).RPCs[0]; r.code != exitOK || !slices.Equal(rpc.Errors, []load.Failures{{Reason: "ResourceExhausted", Requests: rpc.Failed}}) || rpc.Failed < 1 || rpc.Requests <= rpc.Failed {
		t.Errorf("exit code %d, %+v, %s", r.code, rpc, r.notes)
	}
	if table := s.must(args...); !strings.Contains(table, "  error ResourceExhausted  ") {
		t.Error(table)
	}
}

// Where no request succeeds the error is that of the first, and nothing is said to stay.
func TestBenchServesNothing(t *testing.T) {
	r := refusing(t, codes.Unimplemented, 1).run("bench", "--duration", "1ms", "--callers", "1")
	if r.code != exitFailed || !strings.Contains(r.notes, "older than this transcriptctl") || strings.Contains(r.notes, "stay in") {
		t.Errorf("exit code %d, %s", r.code, r.notes)
	}
}

// Read and append on the namespaces that it makes are all that it needs.
func TestBenchNeedsNoMoreThanItsNamespace(t *testing.T) {
	token := identity.NewToken()
	path := filepath.Join(t.TempDir(), "principals.json")
	text := fmt.Sprintf(`{"principals": [{"name": "bench", "grants": [{"roles": ["read", "append"], "namespaces": "bench-*"}], "tokens": [{"id": "a", "sha256": "%x"}]}]}`,
		identity.HashToken(token))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	callers, err := identity.Open(path, identity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = callers.Close() })
	s := serveAs(t, memstore.New(memstore.Options{}), server.Config{Version: "test", Authenticator: callers})
	t.Setenv(tokenVariable, token)
	s.must("bench", "--callers", "1", "--turns", "2", "--duration", "10ms")
	if r := s.run("bench", "--namespace", "other", "--duration", "10ms"); r.code != exitDenied {
		t.Errorf("%+v", r)
	}
}
