package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A process that does not come to rest is given up, and whoever reads the figures is told.
func TestBusyProcessIsToldOf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system does not tell how busy a process is")
	}
	ctx, rest := context.WithCancel(t.Context())
	defer rest()
	for range 2 * runtime.NumCPU() {
		go func() {
			for ctx.Err() == nil { // as a process is that merges
			}
		}()
	}
	var notes bytes.Buffer
	e := rowEnv(t)
	e.Notes = &notes
	*e.waits = quietFor / 2
	one, other := claim{"one", atMost(1)}, claim{"other", atMost(1)}
	figures, err := e.figures(t.Context(), row{9, "puts", func(ctx context.Context, e *env) ([]Figure, error) {
		err := e.quiet(ctx, os.Getpid())
		return []Figure{figure(one, 1), figure(other, 1)}, errors.Join(err, e.quiet(ctx, os.Getpid()))
	}, []claim{one, other}}, 0)
	if err != nil || len(figures) != 2 || figures[0].Busy != 2 || figures[1].Busy != 2 {
		t.Errorf("%+v, %v", figures, err)
	}
	if strings.Count(notes.String(), "still at work") != 2 {
		t.Errorf("%s", notes.String())
	}
	if *e.waits > 0 {
		t.Errorf("%s of the run's time for waiting are left", *e.waits)
	}
}

// A process that is at rest is not waited for, whatever time there is, and nor is one that the system tells nothing of.
func TestProcessAtRest(t *testing.T) {
	e := rowEnv(t)
	*e.waits = 0
	idle := exec.Command("cat") // which reads what is never written
	in, err := idle.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := idle.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = errors.Join(in.Close(), idle.Wait()) }()
	for _, pid := range []int{-1, idle.Process.Pid} {
		if err := e.quiet(t.Context(), pid); err != nil || e.busy != 0 {
			t.Errorf("process %d: given up %d times, %v", pid, e.busy, err)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	if _, known := processorTicks(os.Getpid()); !known {
		t.Error("the processor time of this process is not known")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := e.quiet(ended, os.Getpid()); !errors.Is(err, context.Canceled) {
		t.Errorf("once its context has ended: %v", err)
	}
}

// A quick run that has taken too long begins no other row, and says so of each of its figures; any other goes on.
func TestQuickRunEnds(t *testing.T) {
	e := rowEnv(t)
	measured := 0
	one, other := claim{"one", atMost(1)}, claim{"other", atLeast(2).in("bytes")}
	r := row{9, "puts", func(context.Context, *env) ([]Figure, error) {
		measured++
		return []Figure{figure(one, 1), figure(other, 2)}, nil
	}, []claim{one, other}}
	for _, want := range []struct {
		quick bool
		taken time.Duration
		void  bool
	}{{true, quickWithin, false}, {true, quickWithin + time.Second, true}, {false, time.Hour, false}} {
		e.Quick = want.quick
		before := measured
		figures, err := e.figures(t.Context(), r, want.taken)
		if err != nil || len(figures) != 2 || (measured == before) != want.void {
			t.Fatalf("%+v: %+v, %v", want, figures, err)
		}
		for i, c := range r.claims {
			if f := figures[i]; f.What != c.what || f.Target != c.target.String() || f.Row != 9 || f.Void != want.void || f.Met == want.void {
				t.Errorf("%+v: %+v", want, f)
			}
		}
	}
}
