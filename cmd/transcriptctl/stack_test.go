package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/server"
)

// stack is a server on a loopback port. Once stop returned, nothing is committed any more.
type stack struct {
	tb   testing.TB
	addr string
	stop func()
}

func newStack(tb testing.TB) *stack {
	tb.Helper()
	return serveStore(tb, memstore.New(memstore.Options{}))
}

// serveStore serves a store until the test ends or stop is called, and closes it then.
func serveStore(tb testing.TB, store chainstore.Store, options ...grpc.ServerOption) *stack {
	tb.Helper()
	return serveAs(tb, store, server.Config{Version: "test"}, options...)
}

func serveAs(tb testing.TB, store chainstore.Store, as server.Config, options ...grpc.ServerOption) *stack {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	g, err := server.New(store, as).GRPC(options...)
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	stop := sync.OnceFunc(func() {
		g.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			tb.Error(err)
		}
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(stop)
	return &stack{tb: tb, addr: listener.Addr().String(), stop: stop}
}

// result is what a run of the tool left behind.
type result struct {
	out, notes string
	code       int
}

// run runs the tool against the stack, as its process would.
func (s *stack) run(args ...string) result {
	s.tb.Helper()
	return s.runWith(context.Background(), "", args...)
}

func (s *stack) runWith(ctx context.Context, stdin string, args ...string) result {
	s.tb.Helper()
	var out, notes bytes.Buffer
	err := run(ctx, append([]string{"--addr", s.addr}, args...), strings.NewReader(stdin), &out, &notes)
	code := report(&notes, err)
	return result{out: out.String(), notes: notes.String(), code: code}
}

// must is run for what must succeed; it gives standard output.
func (s *stack) must(args ...string) string {
	s.tb.Helper()
	r := s.run(args...)
	if r.code != exitOK {
		s.tb.Fatalf("transcriptctl %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.notes)
	}
	return r.out
}
