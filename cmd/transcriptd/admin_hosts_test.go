package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The admin side answers who asks this machine, and no page that leads a browser here by a name of its own.
func TestAdminHosts(t *testing.T) {
	cfg := &config{AdminListen: "admin.example:7421", AdminHost: []string{"Metrics.internal"}}
	routes := onlyOf(cfg.adminHosts(), adminRoutes(prometheus.NewRegistry(), func() bool { return true }, door{}))
	for host, want := range map[string]int{
		"localhost": 200, "localhost:7421": 200, "LOCALHOST.:7421": 200, "dev.localhost:7421": 200,
		"127.0.0.1:7421": 200, "[::1]:7421": 200, "[::1]": 200, "192.0.2.7:7421": 200, "": 200,
		"metrics.internal:7421": 200, "admin.example": 200,
		"attacker.example:7421": 421, "localhost.attacker.example": 421, "127.0.0.1.attacker.example:7421": 421, "x:y:z": 421,
	} {
		for _, path := range []string{"/metrics", "/healthz", "/readyz", "/debug/pprof/cmdline"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			routes.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s of %q: %d, want %d", path, host, w.Code, want)
			}
			if want != 200 && !strings.Contains(w.Body.String(), "--admin-host") {
				t.Errorf("%q is told %q", host, w.Body)
			}
		}
	}
}

// Nor does a running daemon.
func TestAdminRefusesOtherHosts(t *testing.T) {
	p := startProcess(t, nil, "--store=memory:", "--admin-listen=127.0.0.1:0")
	if code, _ := answer(t, p.admin+"/metrics", "attacker.example"); code != http.StatusMisdirectedRequest {
		t.Errorf("another host's metrics: %d", code)
	}
}

// A call that came to the wrong port is told of the right one.
func TestAdminTellsWhereCallsAre(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/transcript.v1.TranscriptService/ServerInfo", strings.NewReader("{}"))
	adminRoutes(prometheus.NewRegistry(), func() bool { return true }, door{}).ServeHTTP(w, r)
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "--http-listen") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Who sends or takes nothing does not keep a connection to the admin side.
func TestAdminHasTimeouts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := startAdmin(l, onlyOf(nil, adminRoutes(prometheus.NewRegistry(), func() bool { return true }, door{})), slog.New(slog.DiscardHandler))
	if s := a.server; s.ReadTimeout <= 0 || s.WriteTimeout < time.Minute || s.IdleTimeout <= 0 {
		t.Errorf("timeouts are %s, %s and %s", s.ReadTimeout, s.WriteTimeout, s.IdleTimeout)
	}
	if err := a.stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
