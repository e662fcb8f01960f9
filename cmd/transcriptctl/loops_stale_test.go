package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server"
)

// TestGuardLoses: a run whose agent goes on between the list and the end is not ended, which is said and no failure; others are.
func TestGuardLoses(t *testing.T) {
	var s *stack
	var works sync.Once
	meanwhile := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if put, ok := req.(*transcriptv1.PutNodeRequest); ok && len(put.Messages) == 0 {
			works.Do(func() { s.must("put", "--text", "still here", "--parent", "chat/b", "--alias", "chat/b") })
		}
		return handler(ctx, req)
	}
	s = serveStore(t, memstore.New(memstore.Options{}), grpc.ChainUnaryInterceptor(meanwhile))
	for _, alias := range []string{"chat/b", "chat/c"} {
		s.must("put", "--text", alias, "--alias", alias)
	}
	waitFor(t, func() bool { return listedIn(s.must("loops", "--stale", "0s")) == 2 })
	r := s.run("loops", "--stale", "0s", "--end", "cancelled", "--output", "json")
	fates := map[string]string{}
	for line := range strings.Lines(r.out) {
		var l staleLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err, line)
		}
		fates[l.Alias] = l.Fate
	}
	if r.code != exitOK || fates["chat/b"] != "movedOn" || fates["chat/c"] != "ended" || !strings.Contains(r.notes, "1 run ended, 1 moved on") {
		t.Errorf("exit code %d, %v, %q", r.code, fates, r.notes)
	}
	if out := s.must("describe", "chat/b"); !strings.Contains(out, "loop: open") {
		t.Errorf("the run that goes on is %s", out)
	}
}

// TestGuardOfManyRuns: more runs than a page has are ended, each once, while the list goes on.
func TestGuardOfManyRuns(t *testing.T) {
	now := time.Unix(firstSecond, 0)
	var mu sync.Mutex
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	s := serveAs(t, memstore.New(memstore.Options{Now: clock}), server.Config{Version: "test", Now: clock})
	var lines strings.Builder
	const n = 1100
	for i := range n {
		lines.WriteString(chatLine(t, fmt.Sprint(i), fmt.Sprint("question ", i)))
	}
	s.importText(lines.String()).sums(t)
	mu.Lock()
	now = now.Add(time.Hour)
	mu.Unlock()
	if r := s.run("loops", "--stale", "1h", "chat/"); r.out != "" {
		t.Errorf("what is as old as the limit is stale: %.200s", r.out)
	}
	if out := s.must("loops", "--stale", "59m", "--end", "stopped", "chat/"); strings.Count(out, "stopped") != n {
		t.Errorf("%d runs were ended, of %d", strings.Count(out, "stopped"), n)
	}
	if out := s.must("loops", "--stale", "0s"); out != "" {
		t.Errorf("these are left: %.200s", out)
	}
}

// TestPutWithoutMessages: an outcome alone ends a run; nothing is put without metadata, or beside messages.
func TestPutWithoutMessages(t *testing.T) {
	s := serveStore(t, memstore.New(memstore.Options{}))
	s.must("put", "--text", "hello", "--alias", "chat/1")
	outcome := []string{"put", "--no-messages", "--metadata", "run/end=stopped", "--parent", "chat/1", "--alias", "chat/1"}
	for _, args := range [][]string{{"put", "--no-messages"}, append(outcome, "--text", "more"), append(outcome, "answer.json")} {
		if r := s.run(args...); r.code != exitUsage || !strings.Contains(r.notes, "--no-messages goes with --metadata") {
			t.Errorf("%q: exit code %d, %s", args, r.code, r.notes)
		}
	}
	s.must(outcome...)
	if out := s.must("loops", "chat/1"); listedIn(out) != 1 || !strings.Contains(out, "  stopped             1  ") {
		t.Errorf("the run is %s", out)
	}
}
