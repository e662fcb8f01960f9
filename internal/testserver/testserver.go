// Package testserver runs the full server over a connection in memory, for tests: the real interceptors, the real
// codec, a real store, a real client. It also holds the store over the wire, with which storetest tests all of that.
package testserver

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/server"
)

// Stack is a server and a connection to it.
type Stack struct {
	Conn   *grpc.ClientConn
	Server *server.Server
	GRPC   *grpc.Server

	listener *bufconn.Listener
}

// Start serves store until the test ends and returns a connection to it. The caller closes the store, after the test:
// by a Cleanup registered before Start, or not at all.
func Start(tb testing.TB, store chainstore.Store, dial ...grpc.DialOption) *grpc.ClientConn {
	tb.Helper()
	return StartWith(tb, store, server.Config{Version: "test"}, dial...).Conn
}

// StartMemory is Start with an empty store in memory, for tests that know no store.
func StartMemory(tb testing.TB, dial ...grpc.DialOption) *grpc.ClientConn {
	tb.Helper()
	store := memstore.New(memstore.Options{})
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	return Start(tb, store, dial...)
}

// StartWith is Start with a configuration, and gives all there is.
func StartWith(tb testing.TB, store chainstore.Store, cfg server.Config, dial ...grpc.DialOption) *Stack {
	tb.Helper()
	srv := server.New(store, cfg)
	return Serve(tb, srv, GRPC(tb, srv), dial...)
}

// GRPC makes a gRPC server of a server.
func GRPC(tb testing.TB, srv *server.Server, extra ...grpc.ServerOption) *grpc.Server {
	tb.Helper()
	g, err := srv.GRPC(extra...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// Serve serves a server by one of its gRPC servers until the test ends.
func Serve(tb testing.TB, srv *server.Server, grpcServer *grpc.Server, dial ...grpc.DialOption) *Stack {
	tb.Helper()
	s := &Stack{Server: srv, GRPC: grpcServer, listener: bufconn.Listen(1 << 20)}
	served := make(chan error, 1)
	go func() { served <- s.GRPC.Serve(s.listener) }()
	s.Conn = s.Dial(tb, dial...)
	tb.Cleanup(func() {
		s.GRPC.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // a test may end before Serve began
			tb.Errorf("serve: %v", err)
		}
	})
	return s
}

// ServeTCP serves a gRPC server on a port of loopback until the test ends, and gives its address.
func ServeTCP(tb testing.TB, grpcServer *grpc.Server) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- grpcServer.Serve(listener) }()
	tb.Cleanup(func() {
		grpcServer.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			tb.Errorf("serve: %v", err)
		}
	})
	return listener.Addr().String()
}

// Dial makes one more connection, closed when the test ends.
func (s *Stack) Dial(tb testing.TB, dial ...grpc.DialOption) *grpc.ClientConn {
	tb.Helper()
	dial = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.listener.DialContext(ctx) }),
	}, dial...)
	conn, err := grpc.NewClient("passthrough:///transcriptd", dial...)
	if err != nil {
		tb.Fatalf("dial: %v", err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(); err != nil {
			tb.Errorf("close the connection: %v", err)
		}
	})
	return conn
}

// HTTP serves what a gRPC server of the stack's serves over HTTP, on a port of loopback, until the test ends, and gives its URL.
func (s *Stack) HTTP(tb testing.TB, cfg server.HTTPConfig) (url string) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	http, err := s.Server.HTTP(s.GRPC, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- http.Serve(listener) }()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(http.Shutdown(ctx), <-served); err != nil {
			tb.Errorf("HTTP: %v", err)
		}
	})
	return "http://" + listener.Addr().String()
}
