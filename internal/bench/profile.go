package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"
)

// blockRate is one event in so many nanoseconds of waiting.
const blockRate = 10_000

// profiling takes profiles of a stretch of time. A nil profiling takes none.
type profiling struct {
	group *errgroup.Group
	// allocs writes what was allocated so far.
	allocs func(when string) error
}

// profile begins to take profiles of this process and of the row's transcriptd, for a while that begins now, until stop.
// They are in files named after the row, a number, and what is profiled if it is named: row-09-1-NAME-server-cpu.pprof. Of
// allocations there are two, before and after.
func (e *env) profile(ctx context.Context, while time.Duration, name ...string) (*profiling, error) {
	return e.profileAll(ctx, while, e.transcriptdAdmin(), name)
}

// profileSide takes profiles of a side after its rounds, while it calls alone, so that neither the rounds nor the other
// sides are in them, nor they in the rounds.
func (e *env) profileSide(ctx context.Context, s *side) error {
	if e.Profile == "" {
		return nil
	}
	name, admin := []string{s.name}, ""
	if s.callers > 1 {
		name = append(name, fmt.Sprintf("by %d", s.callers))
	}
	if !s.limit {
		admin = e.transcriptdAdmin()
	}
	while := e.shorter(10*time.Second, time.Second)
	p, err := e.profileAll(ctx, while, admin, name)
	if err != nil {
		return err
	}
	_, err = s.calling(ctx, while)
	if err = errors.Join(err, p.stop()); err == nil && s.settle != nil {
		err = s.settle(ctx)
	}
	return err
}

// transcriptdAdmin is where the row's transcriptd tells of itself; empty where there is none.
func (e *env) transcriptdAdmin() string {
	if e.serves == nil {
		return ""
	}
	return e.serves.admin
}

// profileAll begins to take profiles of this process, and of the server with that admin side if there is one.
func (e *env) profileAll(ctx context.Context, while time.Duration, admin string, name []string) (*profiling, error) {
	if e.Profile == "" {
		return nil, nil
	}
	own, err := e.ownAdmin(ctx)
	if err != nil {
		return nil, err
	}
	admins := map[string]string{"client": own}
	if admin != "" {
		admins["server"] = admin
	}
	file := e.profileFiles(name...)
	p := &profiling{group: new(errgroup.Group), allocs: func(when string) (err error) {
		for of, admin := range admins {
			// Go tells of an allocation once garbage was collected after it.
			err = errors.Join(err, e.collect(ctx, admin), e.download(ctx, admin+"/debug/pprof/allocs", 0, file(of, "allocs-"+when)))
		}
		return err
	}}
	if err := p.allocs("before"); err != nil {
		return nil, err
	}
	runtime.SetBlockProfileRate(blockRate)
	seconds := max(1, int(while.Seconds()))
	for of, admin := range admins {
		for kind, path := range map[string]string{"cpu": "profile", "block": "block"} {
			url := fmt.Sprintf("%s/debug/pprof/%s?seconds=%d", admin, path, seconds)
			p.group.Go(func() error { return e.download(ctx, url, time.Duration(seconds)*time.Second, file(of, kind)) })
		}
	}
	return p, nil
}

// stop ends the profiles; where the while that they are of is not over, it waits for that.
func (p *profiling) stop() error {
	if p == nil {
		return nil
	}
	runtime.SetBlockProfileRate(0)
	return errors.Join(p.allocs("after"), p.group.Wait())
}

// profileLoad takes profiles while the row's transcriptd is under a load that lasts for a while from now on: of the last of
// it, and of what is in use of the server's heap at its end.
func (e *env) profileLoad(ctx context.Context, while time.Duration) error {
	if e.Profile == "" {
		return nil
	}
	const name, margin = "under load", 3 * time.Second // for all of it to be under load
	stretch := e.shorter(30*time.Second, 2*time.Second)
	if err := pause(ctx, while-stretch-margin); err != nil {
		return err
	}
	p, err := e.profile(ctx, stretch, name)
	if err != nil {
		return err
	}
	return errors.Join(pause(ctx, stretch), p.stop(), e.profileHeap(ctx, name))
}

// profileHeap writes what is in use of the heap of the row's transcriptd, as of its last collection, if it has one.
func (e *env) profileHeap(ctx context.Context, name string) error {
	admin := e.transcriptdAdmin()
	if e.Profile == "" || admin == "" {
		return nil
	}
	file := e.profileFiles(name)
	return e.download(ctx, admin+"/debug/pprof/heap", 0, file("server", "heap"))
}

// profileFiles names the next files of the row, and tells of them.
func (e *env) profileFiles(name ...string) (file func(of, kind string) string) {
	e.profiles++
	prefix := fmt.Sprintf("row-%02d-%d", e.row.number, e.profiles)
	for _, words := range name {
		prefix += "-" + strings.Join(strings.FieldsFunc(strings.ReplaceAll(words, ",", ""), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}), "-")
	}
	e.note("profiles %s-*", filepath.Join(e.Profile, prefix))
	return func(of, kind string) string {
		return filepath.Join(e.Profile, prefix+"-"+of+"-"+kind+".pprof")
	}
}

// ownAdmin serves this process's profiles as transcriptd does its own, so that both are taken in one way, until the row
// ends.
func (e *env) ownAdmin(ctx context.Context) (string, error) {
	if e.own != "" {
		return e.own, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // until it is closed
	e.ends(server.Close)
	e.own = "http://" + listener.Addr().String()
	return e.own, nil
}

// usable makes a folder for profiles, if there is to be one, and tells why none can be written there.
func usable(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".bench-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// download writes into a file what an admin side answers after a while.
func (e *env) download(ctx context.Context, url string, while time.Duration, file string) error {
	return e.ask(ctx, url, while, func(answer io.Reader) error {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, answer)
		return errors.Join(err, f.Close())
	})
}

// collect lets the process with that admin side collect its garbage.
func (e *env) collect(ctx context.Context, admin string) error {
	return e.ask(ctx, admin+"/debug/pprof/heap?gc=1", 0, func(answer io.Reader) error {
		_, err := io.Copy(io.Discard, answer)
		return err
	})
}

// ask hands use what an admin side answers after a while, to read it to its end. Where that takes longer by the row's Timeout,
// the error says so: the watchdog could not tell such a while from silence.
func (e *env) ask(ctx context.Context, url string, while time.Duration, use func(answer io.Reader) error) error {
	within, cancel := ctx, func() {}
	if e.Timeout > 0 {
		within, cancel = context.WithTimeoutCause(ctx, while+e.Timeout, silent(while+e.Timeout))
	}
	defer cancel()
	err := get(within, url, use)
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return fmt.Errorf("%s: %w", url, context.Cause(within))
	}
	return err
}

func get(ctx context.Context, url string, use func(answer io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	return use(res.Body)
}

// profileFirstReads opens transcriptd's store n times, and takes a profile of the processor's time from before the first
// stream of chainAlias after each: what opening takes is not in it. A read gives a sample or two, so that only all of these
// profiles together say something.
func (s *server) profileFirstReads(ctx context.Context, n int) error {
	if s.e.Profile == "" {
		return nil
	}
	file := s.e.profileFiles()
	for i := range n {
		r, err := s.reopened(ctx)
		if err != nil {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error {
			return s.e.download(ctx, s.process.admin+"/debug/pprof/profile?seconds=1", time.Second, file("server", fmt.Sprintf("cpu-%02d", i+1)))
		})
		group.Go(func() error {
			return errors.Join(pause(ctx, 200*time.Millisecond), r.stream(ctx, chainAlias)) // the profile has begun
		})
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}
