package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// modulePath is this module's.
const modulePath = "github.com/transcriptd/transcriptd"

// Program finds transcriptd: the path given, else one beside this program, else one built from the module that the current
// folder is in, if that is ours, else the one on PATH. What is built goes to dir.
func Program(ctx context.Context, path, dir string) (string, error) {
	if path != "" {
		found, err := exec.LookPath(path)
		if fault, ok := errors.AsType[*exec.Error](err); ok {
			err = fault.Err // without the name once more
		}
		return found, err
	}
	if self, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), "transcriptd")); err == nil {
			return beside, nil
		}
	}
	if module, err := exec.CommandContext(ctx, "go", "list", "-m").Output(); err == nil && strings.TrimSpace(string(module)) == modulePath {
		built := filepath.Join(dir, "transcriptd")
		out, err := exec.CommandContext(ctx, "go", "build", "-o", built, modulePath+"/cmd/transcriptd").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("build transcriptd: %w\n%s", err, out)
		}
		return built, nil
	}
	found, err := exec.LookPath("transcriptd")
	if err != nil {
		return "", errors.New("there is no transcriptd beside this program nor on PATH: name it with --transcriptd")
	}
	return found, nil
}

// process is a server in a process of its own.
type process struct {
	cmd *exec.Cmd
	// addr is where it serves gRPC; admin where transcriptd serves HTTP, with scheme.
	addr, admin string
	ended       chan struct{}
	err         error

	mu    sync.Mutex
	lines bytes.Buffer // the last of its standard error
}

// announcement is the line that a server prints once it serves.
var announcement = regexp.MustCompile(`serves gRPC on (\S+?)(?:, metrics and health on (http://\S+?))?; data in`)

// startTime is how long a server may take until it serves.
const startTime = 60 * time.Second

// startProcess runs a server and waits until it serves.
func startProcess(program string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Env = withDefaults(os.Environ())
	endWithParent(p.cmd)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	serves := make(chan []string, 1)
	go p.watch(stderr, serves)
	select {
	case found := <-serves:
		p.addr, p.admin = found[1], found[2]
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("before it served, %w", p.died())
	case <-time.After(startTime):
		return nil, errors.Join(fmt.Errorf("%s does not serve after %s\n%s", program, startTime, p.said()), p.kill())
	}
}

// withDefaults is an environment without what would change a server alone: transcriptd's own settings and those of Go's runtime,
// but for the number of processors, which holds for all sides.
func withDefaults(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "TRANSCRIPTD_") || slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GODEBUG"}, name)
	})
}

// watch reads what the process says, which must not block it, until it ends.
func (p *process) watch(stderr io.Reader, serves chan<- []string) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if found := announcement.FindStringSubmatch(lines.Text()); found != nil {
			serves <- found
		}
		p.mu.Lock()
		if p.lines.Len() > 64<<10 {
			p.lines.Reset()
		}
		p.lines.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
	}
	p.err = p.cmd.Wait()
	close(p.ended)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.TrimSpace(p.lines.String())
}

// errDied: a process ended that was not asked to.
var errDied = errors.New("ended by itself")

// died tells how a process ended that was not asked to, and what it said last.
func (p *process) died() error {
	return fmt.Errorf("%s %w: %s\n%s", p.cmd.Path, errDied, p.cmd.ProcessState, p.said())
}

// stop asks the process to end and waits until it has, which must be without an error.
func (p *process) stop() error {
	select {
	case <-p.ended:
		return p.died()
	default:
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(startTime):
		return errors.Join(fmt.Errorf("%s does not end", p.cmd.Path), p.kill())
	}
	switch {
	case p.err == nil:
		return nil
	case p.cmd.ProcessState.ExitCode() < 0: // by a signal, and another than it was sent
		return p.died()
	default:
		return fmt.Errorf("%s ended with %w\n%s", p.cmd.Path, p.err, p.said())
	}
}

// kill ends the process at once.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	<-p.ended
	return err
}
