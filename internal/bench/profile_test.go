package bench

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/client"
)

// profiles are the files that a row has written, in a folder.
type profiles struct{ dir string }

// profiled runs a row of a quick run of a program with profiles.
func profiled(t *testing.T, program string, run func(context.Context, *env) error) profiles {
	t.Helper()
	p := profiles{filepath.Join(t.TempDir(), "profiles")}
	e, err := newEnv(t.Context(), Options{Quick: true, Dir: t.TempDir(), Profile: p.dir, Transcriptd: program})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(e.dir); err != nil {
			t.Error(err)
		}
	}()
	_, err = e.in(row{4, "profiled", func(ctx context.Context, e *env) ([]Figure, error) { return nil, run(ctx, e) }, nil}).measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// are fails unless the profiles are these.
func (p profiles) are(t *testing.T, want ...string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i] = filepath.Join(p.dir, want[i])
	}
	slices.Sort(want)
	if !slices.Equal(files, want) {
		t.Fatalf("there are the profiles %q, not %q", files, want)
	}
}

var accounted = regexp.MustCompile(`Showing nodes accounting for (-?[0-9.]+)`)

// top is what Go's tool tells of functions of some name, in any unit, by profiles together.
func (p profiles) top(t *testing.T, unit, function string, names ...string) float64 {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", append([]string{"tool", "pprof", "-top", "-nodefraction=0", "-sample_index=" + unit, "-focus=" + function}, names...)...)
	c.Dir = p.dir
	var problems bytes.Buffer
	c.Stderr = &problems
	out, err := c.Output()
	told := accounted.FindSubmatch(out)
	if err != nil || told == nil {
		t.Fatalf("%q: %v\n%s%s", c.Args, err, problems.Bytes(), out)
	}
	n, err := strconv.ParseFloat(string(told[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// timesAndAllocations are the profiles that are taken of a process.
func timesAndAllocations(prefix string) []string {
	return []string{prefix + "allocs-before.pprof", prefix + "allocs-after.pprof", prefix + "block.pprof", prefix + "cpu.pprof"}
}

func TestProfiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds transcriptd")
	}
	program, err := Program(t.Context(), "", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(*testing.T, string){
		"contest": profilesOfContest, "first reads": profilesOfFirstReads, "load": profilesOfLoad,
	} {
		t.Run(name, func(t *testing.T) { test(t, program) })
	}
}

// Each side of a contest has profiles of its own, transcriptd's with those of its process. A server that answers the same
// chain again and again hardly collects garbage; what it allocates for that is told all the same, and what putting the chain
// took is not.
func profilesOfContest(t *testing.T, program string) {
	const ours, theirs = "row-04-1-transcriptd-by-4-", "row-04-2-1000-at-a-limit-by-2-"
	p := profiled(t, program, func(ctx context.Context, e *env) error {
		s, err := e.reading(ctx, nil, chain{chainAlias, 0, fewTurns})
		if err != nil {
			return err
		}
		readers := make([]*reader, 4)
		for i := range readers {
			if readers[i], err = s.reader(); err != nil {
				return err
			}
		}
		_, err = e.contest(ctx, 10*time.Millisecond,
			&side{name: "transcriptd", callers: len(readers), call: func(ctx context.Context, caller, _ int) error {
				return readers[caller].assemble(ctx, chainAlias, "")
			}},
			&side{name: "1,000 at a limit", limit: true, callers: 2, call: func(context.Context, int, int) error {
				bytes.Repeat([]byte("limit"), 1<<20)
				return nil
			}})
		return err
	})
	p.are(t, slices.Concat(timesAndAllocations(ours+"client-"), timesAndAllocations(ours+"server-"), timesAndAllocations(theirs+"client-"))...)
	for _, c := range []struct {
		of, function string
		told         bool
	}{
		{ours + "server-", "_Assemble_Handler", true},
		{ours + "server-", "_PutNodes_Handler", false},
		{ours + "client-", "bench.*assemble", true},
		{ours + "client-", "bytes.Repeat", false},
		{theirs + "client-", "bytes.Repeat", true},
		{theirs + "client-", "bench.*assemble", false},
	} {
		allocated := p.top(t, "alloc_space", c.function, "-base", c.of+"allocs-before.pprof", c.of+"allocs-after.pprof")
		took := p.top(t, "cpu", c.function, c.of+"cpu.pprof")
		if (allocated > 0) != c.told || (took > 0) != c.told {
			t.Errorf("%s: %s allocates %g and takes %g", c.of, c.function, allocated, took)
		}
	}
	for _, of := range []string{ours + "server-", ours + "client-"} {
		if waited := p.top(t, "delay", "", of+"block.pprof"); waited <= 0 {
			t.Errorf("%s: nothing waits", of)
		}
	}
}

// A server that is opened for each read has a profile of each; together they tell of reads, and not of opening.
func profilesOfFirstReads(t *testing.T, program string) {
	p := profiled(t, program, func(ctx context.Context, e *env) error {
		s, err := e.reading(ctx, nil, chain{chainAlias, 0, someTurns})
		if err != nil {
			return err
		}
		return s.profileFirstReads(ctx, 3)
	})
	all := []string{"row-04-1-server-cpu-01.pprof", "row-04-1-server-cpu-02.pprof", "row-04-1-server-cpu-03.pprof"}
	p.are(t, slices.Clone(all)...)
	if took := p.top(t, "cpu", "main.main", all...); took > 0 {
		t.Errorf("opening takes %g", took)
	}
}

// A load has profiles of its last seconds, and of what is in use of the heap.
func profilesOfLoad(t *testing.T, program string) {
	p := profiled(t, program, func(ctx context.Context, e *env) error {
		s, err := e.transcriptd()
		if err != nil {
			return err
		}
		if _, err := s.fill(ctx, chainAlias, 0, fewTurns); err != nil {
			return err
		}
		return e.profileLoad(ctx, 0)
	})
	const load, heap = "row-04-1-under-load-", "row-04-2-under-load-server-heap.pprof"
	p.are(t, append(append(timesAndAllocations(load+"client-"), timesAndAllocations(load+"server-")...), heap)...)
	if used := p.top(t, "inuse_space", "badger", heap); used <= 0 {
		t.Errorf("the database uses %g of the heap", used)
	}
}

// An admin side that hangs, before its answer or within, is not waited for longer than the row's Timeout allows.
func TestAdminSideThatHangs(t *testing.T) {
	for name, begin := range map[string]func(http.ResponseWriter){
		"before its answer": func(http.ResponseWriter) {},
		"within": func(w http.ResponseWriter) {
			_, _ = w.Write([]byte("the first of it"))
			_ = http.NewResponseController(w).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				begin(w)
				<-r.Context().Done()
			}))
			defer admin.Close()
			e := rowEnv(t)
			e.Timeout = 20 * time.Millisecond
			for what, err := range map[string]error{
				"a profile":    e.download(t.Context(), admin.URL, 5*time.Millisecond, filepath.Join(t.TempDir(), "profile")),
				"a collection": e.collect(t.Context(), admin.URL),
			} {
				if !errors.Is(err, client.ErrDeadlineExceeded) || !strings.Contains(err.Error(), admin.URL) {
					t.Errorf("%s: %v", what, err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := e.collect(ctx, admin.URL); !errors.Is(err, context.Canceled) {
				t.Errorf("given up: %v", err)
			}
		})
	}
}
