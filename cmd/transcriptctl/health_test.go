package main

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/transcriptd/transcriptd/internal/testcerts"
)

// TestHealth: a server and its services that take calls end the probe with 0, a service that there is not with 3, and no server with 5.
func TestHealth(t *testing.T) {
	s := newStack(t)
	for _, service := range []string{"", "transcript.v1.TranscriptService", "transcript.v1.AdminService"} {
		if r := s.run("health", service); r.code != exitOK || r.out != "SERVING\n" || r.notes != "" {
			t.Errorf("%q: exit code %d, %q, %q", service, r.code, r.out, r.notes)
		}
	}
	if r := s.run("health", "-o", "json"); r.out != `{"status":"SERVING"}`+"\n" {
		t.Errorf("as json: %q", r.out)
	}
	if r := s.run("health", "transcript.v1.Nothing"); r.code != exitNotFound || r.out != "" || !strings.Contains(r.notes, `has no service "transcript.v1.Nothing"`) {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.notes)
	}
	s.stop()
	if r := s.run("health", "--timeout=5s"); r.code != exitUnavailable || r.out != "" || r.notes == "" {
		t.Errorf("without a server: exit code %d, %q, %q", r.code, r.out, r.notes)
	}
}

// TestHealthOfADrainingServer: a server that tells NOT_SERVING, as one that drains does, ends the probe with 5, and its answer is printed.
func TestHealthOfADrainingServer(t *testing.T) {
	told := health.NewServer()
	s := serveHealth(t, told)
	told.Shutdown()
	if r := s.run("health"); r.code != exitUnavailable || r.out != "NOT_SERVING\n" || !strings.Contains(r.notes, "takes no new calls") {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.notes)
	}
}

// TestHealthByAnotherName: a probe of this machine's own address holds the certificate to the name that clients dial.
func TestHealthByAnotherName(t *testing.T) {
	ca := testcerts.NewCA(t)
	trusts := "--ca=" + testcerts.Write(t, filepath.Join(t.TempDir(), "ca.pem"), ca.PEM())
	pair := ca.Issue(t, "server", time.Hour).TLS(t)
	s := serveHealth(t, health.NewServer(), grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	if r := s.run("health", trusts, "--server-name=localhost"); r.code != exitOK {
		t.Errorf("a name of the certificate: exit code %d, %q", r.code, r.notes)
	}
	if r := s.run("health", trusts, "--server-name=other.example"); r.code != exitUnavailable || !strings.Contains(r.notes, "other.example") {
		t.Errorf("another name: exit code %d, %q", r.code, r.notes)
	}
}

// serveHealth serves health alone, until the test ends.
func serveHealth(t *testing.T, told *health.Server, options ...grpc.ServerOption) *stack {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(options...)
	healthv1.RegisterHealthServer(g, told)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	t.Cleanup(func() {
		g.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return &stack{tb: t, addr: listener.Addr().String(), stop: g.Stop}
}
