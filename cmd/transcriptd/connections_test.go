package main

import (
	"log/slog"
	"net"
	"testing"

	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// A few connections are taken where the store keeps all descriptors that are left, and again once they are closed.
func TestAFewConnectionsAreTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &sparing{Listener: l, log: slog.New(slog.DiscardHandler), usage: func() badgerdb.Usage {
		return badgerdb.Usage{Used: 900, Limit: 1000, Kept: 500}
	}}
	accepted := make(chan net.Conn)
	go func() {
		for {
			conn, err := s.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	var first net.Conn
	for range alwaysTaken {
		dial()
		first = <-accepted
	}
	refused := dial()
	if _, err := refused.Read(make([]byte, 1)); err == nil {
		t.Error("one more is not closed")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	_ = first.Close() // counts once
	dial()
	if conn := <-accepted; conn == nil {
		t.Error("none is taken though one was closed")
	}
	if n := s.open.Load(); n != alwaysTaken {
		t.Errorf("%d are open", n)
	}
}

// The HTTP side leaves a quarter of all descriptors to gRPC, beside what the store keeps.
func TestTheHTTPSideLeavesDescriptorsToGRPC(t *testing.T) {
	for part, want := range map[int64]bool{0: true, 4: false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &sparing{Listener: l, part: part, log: slog.New(slog.DiscardHandler), usage: func() badgerdb.Usage {
			return badgerdb.Usage{Used: 600, Limit: 1000, Kept: 200}
		}}
		s.open.Store(alwaysTaken)
		accepted := make(chan error)
		go func() { _, err := s.Accept(); accepted <- err }()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if want {
			if err := <-accepted; err != nil {
				t.Error(err)
			}
		} else if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("a connection that takes of the quarter is not closed")
		}
		_, _ = conn.Close(), l.Close()
		if !want {
			t.Log(<-accepted)
		}
	}
}
