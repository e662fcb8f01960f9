// Package process runs servers in processes of their own, and looks at what they take of a Linux machine.
package process

import (
	"bufio"
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
	"syscall"
	"time"
)

// module is transcriptd's.
const module = "github.com/transcriptd/transcriptd"

// Build builds a command of transcriptd's module into a folder, from the sources that this program is built from.
func Build(ctx context.Context, dir, command string) (program string, err error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("run it with GOWORK=off go -C tools/limits run . : the module of transcriptd is not found from here: %w", err)
	}
	program = filepath.Join(dir, command)
	build := exec.CommandContext(ctx, "go", "-C", strings.TrimSpace(string(root)), "build", "-o", program, "./cmd/"+command)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", command, err, out)
	}
	return program, nil
}

// Process is a server.
type Process struct {
	cmd *exec.Cmd
	// Addr is where it serves gRPC.
	Addr  string
	ended chan struct{}
	err   error

	mu   sync.Mutex
	said []string // the last lines of its standard error
}

// announcement is the line that a server prints once it serves.
var announcement = regexp.MustCompile(`serves gRPC on (\S+?)[,;]`)

// patience is how long a server may take until it serves, and until it has ended.
const patience = time.Minute

// Start runs a server and waits until it serves. It ends with this process, however that ends.
func Start(program string, args ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Env = withDefaults(os.Environ())
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	serves := make(chan string, 1)
	go p.watch(stderr, serves)
	select {
	case p.Addr = <-serves:
		return p, nil
	case <-p.ended:
		return nil, p.died()
	case <-time.After(patience):
		_ = p.cmd.Process.Kill() // it serves nobody
		return nil, fmt.Errorf("%s does not serve after %s", program, patience)
	}
}

// withDefaults is an environment without what would change a server alone: transcriptd's settings and those of Go's collector.
func withDefaults(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "TRANSCRIPTD_") || slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GODEBUG"}, name)
	})
}

// watch reads what the process says, which must not block it, until it ends.
func (p *Process) watch(stderr io.Reader, serves chan<- string) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if found := announcement.FindStringSubmatch(lines.Text()); found != nil {
			serves <- found[1]
		}
		p.mu.Lock()
		p.said = append(p.said, lines.Text())
		p.said = p.said[max(0, len(p.said)-100):]
		p.mu.Unlock()
	}
	p.err = p.cmd.Wait()
	close(p.ended)
}

// died tells how a process ended that was not asked to, or not in the way in which it did, and what it said last.
func (p *Process) died() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("%s ended: %s\n%s", p.cmd.Path, p.cmd.ProcessState, strings.Join(p.said, "\n"))
}

// Stop asks the process to end and waits until it has. An error where it had ended before, or fails.
func (p *Process) Stop() error {
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
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("%s does not end", p.cmd.Path), p.cmd.Process.Kill())
	}
	if p.err != nil {
		return p.died()
	}
	return nil
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }
