package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/turns"
	"github.com/transcriptd/transcriptd/tools/limits/internal/process"
	"github.com/transcriptd/transcriptd/tools/limits/internal/raw"
)

// scale is how much is measured for how long.
type scale struct {
	// rounds of sides that each call for a while.
	rounds int
	round  time.Duration
	// restWithin is how long a process is waited for to be at rest.
	restWithin time.Duration
	// chain and deep are the lengths of chains.
	chain, deep int
	// putters are the numbers of callers that put.
	putters [2]int
	// deepChains are put to in turns with shallow ones, putsPerChain times.
	deepChains, putsPerChain int
	// busy is how many callers put, and stream, beside what is measured.
	busy int
	// fill is what the store of row 20 takes on disk, loaded how long it is under load.
	fill   int64
	loaded time.Duration
	// saturating are the numbers of callers of which the best makes the peak; floods are rounds of loads, each so long, of puts that
	// have a deadline.
	saturating     []int
	floods         int
	load, deadline time.Duration
}

var full = scale{
	rounds: 9, round: time.Second, restWithin: time.Minute, chain: 1000, deep: 10_000, putters: [2]int{64, 256},
	deepChains: 6, putsPerChain: 10, busy: 64, fill: 2e9, loaded: 10 * time.Minute,
	saturating: []int{16, 64, 256, 1024}, floods: 7, load: 3 * time.Second, deadline: time.Second,
}

// brief is a look. It has the sizes of full, but for row 20, whose figures tell nothing then.
var brief = func() scale {
	s := full
	s.rounds, s.round, s.restWithin = 3, 300*time.Millisecond, 10*time.Second
	s.deepChains, s.fill, s.loaded = 2, 200e6, time.Minute
	s.floods, s.load = 2, 2*time.Second
	return s
}()

// env is what rows have to work with.
type env struct {
	scale
	note func(format string, args ...any)
	// dir is the run's own folder.
	dir string
	// transcriptd and transcriptctl are programs, limits the command that serves a limit.
	transcriptd, transcriptctl string
	limits                     []string
	// transcripts is the folder of the real conversations; empty: there is none.
	transcripts string
	fsync       time.Duration
	seed        atomic.Uint64
	closers     []func() error
}

// newEnv builds what is measured. The folder is the caller's to remove.
func newEnv(ctx context.Context, size scale, transcripts string, note func(string, ...any)) (_ *env, err error) {
	e := &env{scale: size, note: note, transcripts: transcripts}
	e.seed.Store(1 << 32)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	e.limits = []string{self, limitCommand}
	if e.dir, err = os.MkdirTemp("", "transcriptd-limits-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(e.dir))
		}
	}()
	if e.transcriptd, err = process.Build(ctx, e.dir, "transcriptd"); err != nil {
		return nil, err
	}
	if e.transcriptctl, err = process.Build(ctx, e.dir, "transcriptctl"); err != nil {
		return nil, err
	}
	e.fsync, err = process.Fsync(e.dir)
	// Who offers a load on the processors of the server that is measured should take little of them.
	debug.SetGCPercent(400)
	return e, err
}

func (e *env) machine() string {
	return fmt.Sprintf("Measured on %s/%s, %d processors, %s, a sync of %s takes %d µs.",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), os.TempDir(), e.fsync.Microseconds())
}

// ends lets f run when the row has ended, before what was handed to ends earlier.
func (e *env) ends(f func() error) { e.closers = append(e.closers, f) }

// end ends what the row began.
func (e *env) end() (err error) {
	for _, f := range slices.Backward(e.closers) {
		err = errors.Join(err, f())
	}
	e.closers = nil
	debug.FreeOSMemory() // the next row's process begins as this one's did
	return err
}

// seeds are numbers that nobody else has in this run, so that nothing is put twice.
func (e *env) seeds(n int) (first uint64) { return e.seed.Add(uint64(n)) - uint64(n) }

// folder makes a folder of the row's own.
func (e *env) folder() (string, error) {
	dir, err := os.MkdirTemp(e.dir, "row-")
	if err == nil {
		e.ends(func() error { return os.RemoveAll(dir) })
	}
	return dir, err
}

// rest waits until a process is at rest, so that what it still does is not done while the next thing is measured.
func (e *env) rest(ctx context.Context, pid int) error {
	idle, err := process.Rest(ctx, pid, e.restWithin)
	if err == nil && !idle && e.restWithin > 0 {
		e.note("a process is still at work after %s: what is measured next is measured beside that", e.restWithin)
	}
	return err
}

// server is one that a row talks to: transcriptd, or a limit.
type server struct {
	e         *env
	process   *process.Process
	dir       string
	namespace string
}

// server starts a program, whose flags depend on the folder of its data. It ends with the row.
func (e *env) server(program string, flags func(dir string) []string) (*server, error) {
	dir, err := e.folder()
	if err != nil {
		return nil, err
	}
	s := &server{e: e, dir: dir, namespace: "limits"}
	e.ends(func() error {
		if s.process == nil {
			return nil
		}
		return s.process.Stop()
	})
	s.process, err = process.Start(program, flags(dir)...)
	return s, err
}

// fresh starts a transcriptd on a fresh store with default flags.
func (e *env) fresh() (*server, error) { return e.server(e.transcriptd, transcriptdFlags) }

func transcriptdFlags(dir string) []string {
	return []string{"--listen=127.0.0.1:0", "--admin-listen=off", "--store=badger://" + dir, "--log-level=error"}
}

// limit starts a limit.
func (e *env) limit(kind string, args ...string) (*server, error) {
	return e.server(e.limits[0], func(dir string) []string {
		return append(append(slices.Clone(e.limits[1:]), kind, dir), args...)
	})
}

// stop drains and closes transcriptd.
func (s *server) stop() error {
	running := s.process
	s.process = nil
	return running.Stop()
}

// restart closes and opens transcriptd's store: what is read then comes from compressed tables, as it does from any store that has
// been there for a while.
func (s *server) restart() (err error) {
	if err := s.stop(); err != nil {
		return err
	}
	s.process, err = process.Start(s.e.transcriptd, transcriptdFlags(s.dir)...)
	return err
}

func (s *server) rest(ctx context.Context) error { return s.e.rest(ctx, s.process.PID()) }

// conn makes a connection, which ends with the row.
func (s *server) conn() (*grpc.ClientConn, error) {
	conn, err := raw.Dial(s.process.Addr)
	if err == nil {
		s.e.ends(conn.Close)
	}
	return conn, err
}

// rpc is the generated client on a connection of its own.
func (s *server) rpc() (transcriptv1.TranscriptServiceClient, error) {
	conn, err := s.conn()
	return transcriptv1.NewTranscriptServiceClient(conn), err
}

// reader is a raw client on a connection of its own.
func (s *server) reader() (*raw.Reader, error) {
	conn, err := s.conn()
	return &raw.Reader{Conn: conn, Namespace: s.namespace}, err
}

// sdk is the SDK's client on a connection of its own.
func (s *server) sdk() (*client.Client, error) {
	conn, err := s.conn()
	return client.New(conn, client.WithNamespace(s.namespace)), err
}

// fill puts a chain of turns.
func (s *server) fill(ctx context.Context, alias string, first uint64, n int) (head string, err error) {
	c, err := s.sdk()
	if err != nil {
		return "", err
	}
	return turns.Fill(ctx, c, alias, first, n, func(int) {})
}
