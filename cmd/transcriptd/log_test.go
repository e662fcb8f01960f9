package main

import (
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestLogIsJSON: behind the line that says where the server is, every line of --log-format json is JSON, those of what goes wrong
// with a collector that is not there too.
func TestLogIsJSON(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "50")
	p := startProcess(t, nil, "--store=memory:", "--admin-listen=off", "--log-format=json", "--otlp-endpoint="+gone.Addr().String())
	if _, err := putText(callContext(t), transcriptv1.NewTranscriptServiceClient(p.dial(t)), "hello"); err != nil {
		t.Fatal(err)
	}
	const told = "traces are not sent"
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(p.log(), "traces") && time.Now().Before(end); {
		<-tick.C
	}
	p.terminate(t)
	_, log, _ := strings.Cut(p.log(), "\n")
	if !strings.Contains(log, told) {
		t.Errorf("the log does not tell that traces are not sent:\n%s", log)
	}
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %q", line)
		}
	}
}
