// Package drill loses stores and brings them back: transcriptd and transcriptctl as processes, killed, and on disks that are full.
package drill

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/client"
)

var drills = flag.Int("drill", 0, "how often each drill is done; 0: none is")

// programs are the two that are drilled, built once.
type programs struct{ daemon, console string }

// build builds them, or skips the test.
func build(t *testing.T) programs {
	t.Helper()
	if *drills == 0 {
		t.Skip("builds and kills processes: ask for it with -drill=3")
	}
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-o", dir+"/", "../../cmd/...")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return programs{daemon: filepath.Join(dir, "transcriptd"), console: filepath.Join(dir, "transcriptctl")}
}

func (p programs) storeFlag(dir string) string { return "--store=badger://" + dir }

// ended is how a program ended.
type ended struct {
	code       int
	out, notes string
}

// run runs a program to its end.
func run(ctx context.Context, program string, args ...string) ended {
	cmd := exec.CommandContext(ctx, program, args...)
	var out, notes bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &notes
	err := cmd.Run()
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		code = -2
		notes.WriteString(err.Error())
	}
	return ended{code, out.String(), notes.String()}
}

// must runs a program, which must end with code 0, and returns what it printed.
func must(t *testing.T, program string, args ...string) string {
	t.Helper()
	r := run(t.Context(), program, args...)
	if r.code != 0 {
		t.Fatalf("%s %s: exit code %d\n%s", filepath.Base(program), strings.Join(args, " "), r.code, r.notes)
	}
	return r.out
}

// refused runs a program, which must end with another code than 0, and returns what it said.
func refused(t *testing.T, program string, args ...string) ended {
	t.Helper()
	r := run(t.Context(), program, args...)
	if r.code == 0 {
		t.Fatalf("%s %s is not refused\n%s", filepath.Base(program), strings.Join(args, " "), r.notes)
	}
	if r.code < 0 || strings.Contains(r.notes, "panic") || strings.Contains(r.notes, "goroutine ") {
		t.Fatalf("%s %s: exit code %d\n%s", filepath.Base(program), strings.Join(args, " "), r.code, r.notes)
	}
	return r
}

var serves = regexp.MustCompile(`serves gRPC on (\S+?)[,;]`)

// daemon is a transcriptd that serves.
type daemon struct {
	addr   string
	cmd    *exec.Cmd
	exited chan struct{}
	mu     sync.Mutex
	notes  bytes.Buffer
}

// start starts a transcriptd over a folder, and waits until it serves.
func (p programs) start(t *testing.T, dir string, more ...string) *daemon {
	t.Helper()
	d := &daemon{exited: make(chan struct{})}
	d.cmd = exec.Command(p.daemon, append([]string{"--listen=127.0.0.1:0", "--admin-listen=off", p.storeFlag(dir)}, more...)...)
	pipe, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go d.watch(pipe, said)
	t.Cleanup(d.kill)
	select {
	case d.addr = <-said:
	case <-d.exited:
		t.Fatalf("transcriptd ended before it served\n%s", d.log())
	case <-time.After(time.Minute):
		t.Fatalf("transcriptd does not serve after a minute\n%s", d.log())
	}
	return d
}

func (d *daemon) watch(pipe io.Reader, said chan<- string) {
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		d.mu.Lock()
		d.notes.WriteString(lines.Text() + "\n")
		d.mu.Unlock()
		if found := serves.FindStringSubmatch(lines.Text()); found != nil {
			said <- found[1]
		}
	}
	_ = d.cmd.Wait()
	close(d.exited)
}

func (d *daemon) log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.notes.String()
}

// kill kills it.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.exited
}

// stop ends it as an operator does.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.exited:
	case <-time.After(time.Minute):
		t.Fatalf("transcriptd does not end\n%s", d.log())
	}
}

// address is the flag of transcriptctl.
func (d *daemon) address() string { return "--addr=" + d.addr }

// client speaks to a namespace; "" is that of the server's default.
func (d *daemon) client(t *testing.T, namespace string) *client.Client {
	t.Helper()
	c, err := client.Dial(d.addr, client.WithNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// killedOnTheWay starts a program and kills it when its file, or folder, is larger than so many bytes, or when it has ended by itself: then it
// is true.
func killedOnTheWay(t *testing.T, large func() bool, kill func(*os.Process), program string, args ...string) (finished bool) {
	t.Helper()
	var notes bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stderr = &notes
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Logf("%v\n%s", err, notes.String())
			}
			return err == nil
		case <-time.After(5 * time.Millisecond):
			if large() {
				kill(cmd.Process)
				if err := <-done; err == nil {
					return true // it had ended before
				}
				return false
			}
		}
	}
}

// sizeOf is the bytes of a file, 0 without it.
func sizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}
