package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"time"

	"golang.org/x/sync/errgroup"
)

// serverProfiles are what transcriptd's admin side tells of a stretch of time, by the names of their files.
var serverProfiles = map[string]string{"cpu": "profile", "allocs": "allocs", "block": "block"}

// blockRate is one event in so many nanoseconds of waiting.
const blockRate = 10_000

// profiling takes profiles of one contest. A nil profiling takes none.
type profiling struct {
	group *errgroup.Group
	cpu   *os.File
	name  func(of, kind string) string
}

// profile begins to take profiles, of this process until stop and of the row's transcriptd for a while, in files named
// after the row: row-09-1-server-cpu.pprof. In this process's, each sample has the label side.
func (e *env) profile(ctx context.Context, while time.Duration) (*profiling, error) {
	if e.Profile == "" {
		return nil, nil
	}
	if err := os.MkdirAll(e.Profile, 0o755); err != nil {
		return nil, err
	}
	e.contests++
	prefix := fmt.Sprintf("row-%02d-%d", e.row.number, e.contests)
	p := &profiling{group: new(errgroup.Group), name: func(of, kind string) string {
		return filepath.Join(e.Profile, prefix+"-"+of+"-"+kind+".pprof")
	}}
	if e.serves != nil && e.serves.admin != "" {
		seconds := max(1, int(while.Seconds()))
		for kind, path := range serverProfiles {
			url := fmt.Sprintf("%s/debug/pprof/%s?seconds=%d", e.serves.admin, path, seconds)
			p.group.Go(func() error { return download(ctx, url, p.name("server", kind)) })
		}
	}
	var err error
	if p.cpu, err = os.Create(p.name("client", "cpu")); err != nil {
		return nil, err
	}
	runtime.SetBlockProfileRate(blockRate)
	return p, pprof.StartCPUProfile(p.cpu)
}

// stop writes the client's profiles and waits for the server's.
func (p *profiling) stop() error {
	if p == nil {
		return nil
	}
	pprof.StopCPUProfile()
	runtime.SetBlockProfileRate(0)
	err := errors.Join(p.cpu.Close(), p.group.Wait())
	for _, kind := range []string{"allocs", "block"} {
		f, failed := os.Create(p.name("client", kind))
		if failed == nil {
			failed = errors.Join(pprof.Lookup(kind).WriteTo(f, 0), f.Close())
		}
		err = errors.Join(err, failed)
	}
	return err
}

// download writes what an address answers into a file.
func download(ctx context.Context, url, file string) error {
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
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, res.Body)
	return errors.Join(err, f.Close())
}
