package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestNotifySupervisor: systemd is told READY=1 once calls are served, and STOPPING=1 when a drain begins; also on a socket without a file.
func TestNotifySupervisor(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "notify"), "@transcriptd-test-" + filepath.Base(t.TempDir())} {
		socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = socket.Close() })
		told := func() string {
			t.Helper()
			_ = socket.SetReadDeadline(time.Now().Add(time.Minute))
			state := make([]byte, 100)
			n, err := socket.Read(state)
			if err != nil {
				t.Fatal(err)
			}
			return string(state[:n])
		}
		t.Setenv(supervisorVariable, path)
		p := startProcess(t, nil, "--store=memory:", "--admin-listen=off")
		if state := told(); state != stateReady {
			t.Errorf("told %q at the start", state)
		}
		if err := ask(t, transcriptv1.NewTranscriptServiceClient(p.dial(t))); err != nil {
			t.Error(err)
		}
		p.terminate(t)
		if state := told(); state != stateStopping {
			t.Errorf("told %q at the end", state)
		}
	}
}

// TestNotifyNobody: a socket that is not there keeps nothing from being served, and one line of the log tells.
func TestNotifyNobody(t *testing.T) {
	t.Setenv(supervisorVariable, filepath.Join(t.TempDir(), "not-there"))
	p := startProcess(t, nil, "--store=memory:", "--admin-listen=off")
	p.terminate(t)
	if log := p.log(); !strings.Contains(log, "systemd could not be told") {
		t.Errorf("the log:\n%s", log)
	}
}
