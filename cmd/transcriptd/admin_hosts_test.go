package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// The admin side answers who asks this machine, and no page that leads a browser here by a name of its own.
func TestAdminHosts(t *testing.T) {
	cfg := &config{AdminListen: "admin.example:7421", AdminHost: []string{"Metrics.internal"}}
	routes := cfg.adminHosts().only(adminRoutes(prometheus.NewRegistry(), func() bool { return true }))
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
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "attacker.example"
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := reply.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if reply.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("another host's metrics: %s", reply.Status)
	}
}
