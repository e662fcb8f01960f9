package bench

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// asParent makes this test program start a server that serves for ever, tell its number and wait.
const asParent = "TRANSCRIPTD_BENCH_TEST_AS_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) == "" {
		os.Exit(m.Run())
	}
	p, err := startProcess("sh", "-c", "echo 'sh serves gRPC on nowhere; data in nothing' >&2; exec sleep 600")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.cmd.Process.Pid)
	<-p.ended
}

// A server does not outlive a bench that was killed.
func TestServersEndWithTheBench(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanned := fmt.Sscan(line, &child); err != nil || scanned != nil {
		t.Errorf("%q, %v", line, errors.Join(err, scanned))
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); child > 0 && running(child); <-tick.C {
		if time.Since(begin) > 10*time.Second {
			t.Fatal("its server is still there")
		}
	}
}

// running tells of a process that there is, and that has not ended: its parent may not have asked how it did.
func running(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	var state string
	_, err = fmt.Sscanf(string(status), "%d %s %s", new(int), new(string), &state)
	return err == nil && state != "Z"
}
