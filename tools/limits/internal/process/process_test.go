package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A server that ends before it serves is told of with what it said.
func TestServerThatEndsAtOnce(t *testing.T) {
	_, err := Start("sh", "-c", "echo its last words >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "its last words") {
		t.Error(err)
	}
}

// serving runs a script that serves.
func serving(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start("sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A server ends when it is asked to; one that ended by itself, or fails, is an error.
func TestStop(t *testing.T) {
	const serves = `echo "x serves gRPC on 127.0.0.1:1; data in d" >&2;`
	good := serving(t, `trap "exit 0" INT; `+serves+` while :; do sleep 0.01; done`)
	if good.Addr != "127.0.0.1:1" {
		t.Error(good.Addr)
	}
	if n, err := Anonymous(good.PID()); n <= 0 || err != nil {
		t.Error(n, err)
	}
	if err := good.Stop(); err != nil {
		t.Error(err)
	}
	if err := serving(t, `trap "exit 4" INT; `+serves+` while :; do sleep 0.01; done`).Stop(); err == nil {
		t.Error("no error of one that fails")
	}
	gone := serving(t, serves)
	<-gone.ended
	if err := gone.Stop(); err == nil || !strings.Contains(err.Error(), "ended: exit status 0") {
		t.Error(err)
	}
}

// Servers run with default settings, whatever this process was given.
func TestServersHaveDefaults(t *testing.T) {
	got := withDefaults([]string{"PATH=/bin", "TRANSCRIPTD_CACHE_MIB=8", "GOGC=20", "GOMEMLIMIT=1GiB", "HOME=/root"})
	if want := []string{"PATH=/bin", "HOME=/root"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// A process that does nothing is at rest, if it is waited for; one that is gone cannot be.
func TestRest(t *testing.T) {
	idle := exec.Command("sleep", "60")
	if err := idle.Start(); err != nil {
		t.Fatal(err)
	}
	if rests, err := Rest(t.Context(), idle.Process.Pid, time.Minute); !rests || err != nil {
		t.Errorf("%t, %v", rests, err)
	}
	if rests, err := Rest(t.Context(), idle.Process.Pid, 0); rests || err != nil {
		t.Errorf("not waited for: %t, %v", rests, err)
	}
	_ = idle.Process.Kill() // it ends with the test
	_ = idle.Wait()
	if rests, err := Rest(t.Context(), idle.Process.Pid, time.Minute); rests || err == nil {
		t.Errorf("gone: %t, %v", rests, err)
	}
}

// Holes take nothing, what was written takes blocks; and a sync takes time.
func TestDisk(t *testing.T) {
	dir := t.TempDir()
	empty, err := DiskUsage(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "holes"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, 1<<20), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if n, err := DiskUsage(dir); err != nil || n-empty < 1<<20 || n-empty > 2<<20 {
		t.Errorf("%d after %d, %v", n, empty, err)
	}
	if d, err := Fsync(dir); d <= 0 || err != nil {
		t.Error(d, err)
	}
}
