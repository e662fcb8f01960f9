package main

import (
	"net/http"
	"syscall"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestDrainDelay: health and readyz tell of the end while calls on new connections are still taken.
func TestDrainDelay(t *testing.T) {
	p := startProcess(t, nil, "--store=memory:", "--admin-listen=127.0.0.1:0", "--drain-delay=1h")
	beginDrain(t, p, watchHealth(t, p))
	if got := statusOf(t, p.admin+"/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("readyz is %d", got)
	}
	if got := statusOf(t, p.admin+"/healthz"); got != http.StatusOK {
		t.Errorf("healthz is %d", got)
	}
	conn := p.dial(t)
	if reply, err := putText(callContext(t), transcriptv1.NewTranscriptServiceClient(conn), "late"); err != nil || !reply.GetCreated() {
		t.Errorf("a call in the delay: %v, %v", reply, err)
	}
	health, err := healthpb.NewHealthClient(conn).Check(callContext(t), &healthpb.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health in the delay: %v, %v", health, err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil { // a second one waits for nothing
		t.Fatal(err)
	}
	p.waitExit(t)
}

// TestDrainDelayEnds: behind the delay the server drains and ends by itself.
func TestDrainDelayEnds(t *testing.T) {
	p := startProcess(t, nil, "--store=memory:", "--admin-listen=off", "--drain-delay=100ms")
	p.terminate(t)
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	code, _ := answer(t, url, "")
	return code
}
