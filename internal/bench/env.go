package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/transcriptd/transcriptd/client"
)

// env is what a row has to work with.
type env struct {
	Options
	row     row
	machine Machine
	// dir is the run's own folder.
	dir string
	// program is transcriptd's.
	program string
	seed    *atomic.Uint64
	closers *[]func() error
	// serves is the transcriptd that was started last.
	serves *process
	// profiles counts what was profiled; own is where this process's profiles are served, once they are.
	profiles int
	own      string
	// waits is how long the run may still wait for processes to be at rest; busy is how often the row gave that up.
	waits *time.Duration
	busy  int
	// dog watches the row's calls.
	dog *watchdog
}

// Machine is what a run was made on.
type Machine struct {
	// Run is a number that no other run has.
	Run       uint64 `json:"-"`
	OS        string `json:"os"`
	CPUs      int    `json:"cpus"`
	GoVersion string `json:"go_version"`
	Dir       string `json:"dir"`
	// Transcriptd is what is measured: its version, and its file or address.
	Transcriptd string `json:"transcriptd"`
	// Fsync is the median of fdatasync after a write of 4 KiB, in microseconds, before the first row.
	Fsync float64 `json:"fsync_us"`
}

func newEnv(ctx context.Context, o Options) (_ *env, err error) {
	for _, n := range o.Rows {
		if !slices.Contains(Numbers(), n) {
			return nil, fmt.Errorf("there is no row %d", n)
		}
	}
	waits := time.Duration(math.MaxInt64)
	if o.Quick {
		waits = quickWaits
	}
	e := &env{Options: o, seed: new(atomic.Uint64), waits: &waits}
	e.seed.Store(1 << 32)
	made, err := os.MkdirTemp(o.Dir, "transcriptd-bench-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(made))
		}
	}()
	if e.dir, err = filepath.Abs(made); err != nil {
		return nil, err
	}
	if err := usable(o.Profile); err != nil {
		return nil, fmt.Errorf("profiles: %w", err)
	}
	if o.Remote == "" {
		if e.program, err = Program(ctx, o.Transcriptd, e.dir); err != nil {
			return nil, err
		}
	}
	measured, err := e.measured(ctx)
	if err != nil {
		return nil, err
	}
	fsync, err := medianSync(e.dir)
	if err != nil {
		return nil, err
	}
	e.machine = Machine{
		Run: rand.Uint64(),
		OS:  runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), GoVersion: runtime.Version(), Dir: filepath.Dir(e.dir),
		Transcriptd: measured, Fsync: fsync,
	}
	return e, nil
}

// measured tells which transcriptd is measured; an error where it does not answer.
func (e *env) measured(ctx context.Context) (string, error) {
	if e.Remote != "" {
		options := []client.Option{client.WithNamespace("bench"), client.WithInsecure(), client.WithRetry(client.Retry{Attempts: 1})}
		if e.Timeout > 0 {
			options = append(options, client.WithDeadline(e.Timeout))
		}
		c, err := client.Dial(e.Remote, options...)
		if err != nil {
			return "", err
		}
		stats, err := c.Stats(ctx)
		return fmt.Sprintf("transcriptd %s at %s", stats.GetServerVersion(), e.Remote), errors.Join(err, c.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	version, err := exec.CommandContext(ctx, e.program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", e.program, err)
	}
	line, _, _ := strings.Cut(string(version), "\n")
	if !strings.HasPrefix(line, "transcriptd ") {
		return "", fmt.Errorf("%s is no transcriptd, its version is %q: name one with --transcriptd", e.program, line)
	}
	path, err := filepath.Abs(e.program)
	return fmt.Sprintf("%s (%s)", line, path), err
}

// in is the environment of one row, with nothing started.
func (e *env) in(r row) *env {
	own := *e
	own.row, own.closers, own.dog = r, new([]func() error), new(watchdog)
	return &own
}

// measure runs the row and ends whatever it started. Where nothing is answered for Timeout it ends it, and says so.
func (e *env) measure(ctx context.Context) (figures []Figure, err error) {
	watched, end := e.dog.watch(ctx, e.Timeout)
	defer func() {
		end()
		for _, end := range slices.Backward(*e.closers) {
			if fault := end(); errors.Is(fault, errDied) {
				err = fault // which is why the row failed
			} else {
				err = errors.Join(err, fault)
			}
		}
		debug.FreeOSMemory() // of this process: the next row's begins as this one's did
	}()
	figures, err = e.row.run(watched, e)
	if ctx.Err() == nil && watched.Err() != nil {
		err = context.Cause(watched)
	}
	return figures, err
}

// ends lets f run when the row has ended, before what was handed to ends earlier.
func (e *env) ends(f func() error) { *e.closers = append(*e.closers, f) }

// rounds is how often sides are held against each other.
func (e *env) rounds() int {
	if e.Quick {
		return 3
	}
	return 9
}

// shorter is d, or where the run is quick a part of it.
func (e *env) shorter(d time.Duration, quick time.Duration) time.Duration {
	if e.Quick {
		return quick
	}
	return d
}

func (e *env) note(format string, args ...any) {
	if e.Notes != nil {
		fmt.Fprintf(e.Notes, format+"\n", args...)
	}
}

// folder makes a folder of the row's own, which goes with it.
func (e *env) folder(name string) (string, error) {
	dir, err := os.MkdirTemp(e.dir, name+"-")
	if err == nil {
		e.ends(func() error { return os.RemoveAll(dir) })
	}
	return dir, err
}
