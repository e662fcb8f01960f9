package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// childVariable makes the test binary be the daemon: the same main, in a process of its own.
const childVariable = "TRANSCRIPTD_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "1" {
		os.Exit(serveUntilSignal())
	}
	os.Exit(m.Run())
}

var announcement = regexp.MustCompile(`serves gRPC(?: over TLS)? on (\S+?)(?:, metrics and health on (https?://\S+?))?(?:, calls over HTTP on (https?://\S+))?; data in`)

// process is a running transcriptd.
type process struct {
	cmd          *exec.Cmd
	addr, admin  string
	http         string                           // the URL of calls over HTTP; empty: there are none
	credentials  credentials.TransportCredentials // those of clients; nil: plain text
	began        time.Time
	startup      time.Duration
	exited       chan struct{}
	exit         error
	mu           sync.Mutex
	stderr       bytes.Buffer
	announcement chan []string
}

// startProcess runs the daemon behind the words of wrapper (none: directly) and waits until it serves.
func startProcess(tb testing.TB, wrapper []string, args ...string) *process {
	tb.Helper()
	p := launchProcess(tb, wrapper, args...)
	if !p.serves(tb) {
		tb.Fatalf("the daemon ended before it served: %v\n%s", p.exit, p.log())
	}
	return p
}

// launchProcess runs the daemon behind the words of wrapper (none: directly), on a free port and without the HTTP side, unless args say otherwise.
func launchProcess(tb testing.TB, wrapper []string, args ...string) *process {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	words := append(append([]string(nil), wrapper...), self)
	words = append(words, append([]string{"--listen=127.0.0.1:0", "--admin-listen=off"}, args...)...)
	p := &process{exited: make(chan struct{}), announcement: make(chan []string, 1)}
	p.cmd = exec.Command(words[0], words[1:]...)
	p.cmd.Env = append(os.Environ(), childVariable+"=1")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := p.cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go p.watch(pipe)
	tb.Cleanup(func() { p.kill() })
	return p
}

// serves waits until the process serves; false: it has ended.
func (p *process) serves(tb testing.TB) bool {
	tb.Helper()
	select {
	case found := <-p.announcement:
		p.addr, p.admin, p.http, p.startup = found[1], found[2], found[3], time.Since(p.began)
		return true
	case <-p.exited:
		return false
	case <-time.After(60 * time.Second):
		tb.Fatalf("the daemon does not serve after a minute:\n%s", p.log())
		return false
	}
}

func (p *process) watch(pipe io.Reader) {
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.stderr.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		if found := announcement.FindStringSubmatch(lines.Text()); found != nil {
			p.announcement <- found
		}
	}
	p.exit = p.cmd.Wait()
	close(p.exited)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// kill ends the process and whatever it runs under with SIGKILL and waits for the end.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.exited
}

// terminate drains the process and fails unless it ends with code 0.
func (p *process) terminate(tb testing.TB) {
	tb.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		tb.Fatal(err)
	}
	p.waitExit(tb)
	if p.exit != nil {
		tb.Fatalf("after SIGTERM: %v\n%s", p.exit, p.log())
	}
}

func (p *process) waitExit(tb testing.TB) {
	tb.Helper()
	select {
	case <-p.exited:
	case <-time.After(60 * time.Second):
		tb.Fatalf("the daemon does not end\n%s", p.log())
	}
}

func (p *process) dial(tb testing.TB) *grpc.ClientConn {
	tb.Helper()
	return p.dialBy(tb, func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	})
}

// dialBy makes a connection whose connections dial makes.
func (p *process) dialBy(tb testing.TB, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *grpc.ClientConn {
	tb.Helper()
	network, addr := "tcp", p.addr
	if path, ok := socketPath(p.addr); ok {
		network, addr = "unix", path
	}
	by := p.credentials
	if by == nil {
		by = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient("passthrough:///localhost", grpc.WithTransportCredentials(by),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx, network, addr) }))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return conn
}

// callContext bounds a call in a test.
func callContext(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	tb.Cleanup(cancel)
	return ctx
}

func badgerFlag(dir string) string { return "--store=badger://" + strings.TrimSuffix(dir, "/") }

// rest waits for so long, or until the context ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
