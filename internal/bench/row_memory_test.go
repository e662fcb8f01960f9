package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestMemoryIsReadFromStatus: both numbers, in bytes; without either the system does not tell.
func TestMemoryIsReadFromStatus(t *testing.T) {
	const status = "Name:\ttranscriptd\nVmHWM:\t  999 kB\nVmRSS:\t  300 kB\nRssAnon:\t     200 kB\nRssFile:\t   100 kB\n"
	got, err := parseStatus([]byte(status))
	if want := (residence{all: 300 << 10, anonymous: 200 << 10}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, name := range []string{"VmRSS:", "RssAnon:"} {
		for _, with := range []string{"Rss:", name + " many"} {
			if _, err := parseStatus([]byte(strings.Replace(status, name, with, 1))); !errors.Is(err, errNoProc) {
				t.Errorf("with %q for %q: %v", with, name, err)
			}
		}
	}
	if _, err := memoryOf(-1); !errors.Is(err, errNoProc) {
		t.Errorf("of no process: %v", err)
	}
}

// TestGrowthIsThatOfTheSecondHalf: a heap that fills and then grows by a MiB a minute, with noise that goes up and down.
func TestGrowthIsThatOfTheSecondHalf(t *testing.T) {
	l := &load{}
	for second := range int64(600) {
		mib := 2 * second // while the heap fills
		if second >= 300 {
			mib = 400
		}
		l.memory = append(l.memory, residence{anonymous: mib<<20 + second*(1<<20)/60 + (second%2)<<20})
	}
	if got := l.growth() / (1 << 20); math.Abs(got-1) > 0.01 {
		t.Errorf("%g MiB a minute", got)
	}
	if got := mostOf(l.memory) / (1 << 20); got < 598 || got > 609 {
		t.Errorf("%g MiB at most", got)
	}
	for _, few := range [][]float64{nil, {1}, {1, 1}} {
		if got := slopeOf(few); got != 0 {
			t.Errorf("%v has slope %g", few, got)
		}
	}
}

// TestGrowthTellsWhatItIsWorth: memory that goes up and down for a minute at a time has a slope, and an error that says how
// little it is worth; what grows steadily has next to none, though it has the same slope.
func TestGrowthTellsWhatItIsWorth(t *testing.T) {
	saw, steady := &load{}, &load{}
	for second := range int64(600) {
		up := second % 120
		if up >= 60 {
			up = 120 - up
		}
		saw.memory = append(saw.memory, residence{anonymous: 300<<20 + up<<20})
		steady.memory = append(steady.memory, residence{anonymous: 300<<20 + second<<20/30 + second%2<<20})
	}
	off, known := saw.growthError()
	if growth := math.Abs(saw.growth()); !known || off < growth || off < 1<<20 {
		t.Errorf("growth of %g, error %g", growth, off)
	}
	off, known = steady.growthError()
	if growth := steady.growth() / (1 << 20); !known || math.Abs(growth-2) > 0.01 || off > 1<<10 {
		t.Errorf("growth of %g MiB, error %g", growth, off)
	}
	worth := steady.worth()
	if len(worth) != 3 || worth[1].Value < 309 || worth[1].Value > 311 || worth[2].Value < 319 || worth[2].Value > 321 {
		t.Errorf("%+v", worth)
	}
	saw.memory = saw.memory[:4*blockSeconds+2] // two blocks, and a value
	if _, known := saw.growthError(); known || len(saw.worth()) != 2 {
		t.Error("two blocks tell")
	}
}

// TestSlopeError: of 1, 2, 4, 5, whose line is 1.4 a step and off by 0.1, -0.3, 0.3 and -0.1.
func TestSlopeError(t *testing.T) {
	if got, want := slopeError([]float64{1, 2, 4, 5}), math.Sqrt(0.2/2/5); math.Abs(got-want) > 1e-12 {
		t.Errorf("%g, want %g", got, want)
	}
	for _, few := range [][]float64{nil, {1}, {1, 2}} {
		if got := slopeError(few); got != 0 {
			t.Errorf("%v has error %g", few, got)
		}
	}
}

// TestTargets: only under is strict, and what is not a number meets none.
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		t                  target
		less, equal, above bool
		text               string
	}{
		{atLeast(1), false, true, true, "at least 1"},
		{atMost(1), true, true, false, "at most 1"},
		{under(1).in("MiB"), true, false, false, "under 1 MiB"},
	} {
		if c.t.met(0.9) != c.less || c.t.met(1) != c.equal || c.t.met(1.1) != c.above || c.t.met(math.NaN()) || c.t.String() != c.text {
			t.Errorf("%s", c.t)
		}
	}
}

// batches is a service that names a chain's end by the chain's number and length, and streams what is not decoded.
type batches struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	mu     sync.Mutex
	chains int
	frames []string
}

func (b *batches) PutNodes(_ context.Context, req *transcriptv1.PutNodesRequest) (*transcriptv1.PutNodesResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	chain, length := b.chains, 0
	if parent := req.GetNodes()[0].GetParent().GetNodeId(); parent == "" {
		b.chains++
	} else if _, err := fmt.Sscanf(parent, "%d/%d", &chain, &length); err != nil {
		return nil, err
	}
	res := &transcriptv1.PutNodesResponse{}
	for i := range req.GetNodes() {
		res.Nodes = append(res.Nodes, &transcriptv1.PutNodeResponse{NodeId: fmt.Sprintf("%d/%d", chain, length+i+1)})
	}
	return res, nil
}

func (b *batches) StreamAssemble(_ *transcriptv1.StreamAssembleRequest, out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]) error {
	for _, text := range b.frames {
		frame := &transcriptv1.StreamAssembleResponse{HeadId: text}
		if err := out.Send(frame); err != nil {
			return err
		}
	}
	return nil
}

// TestFillingPutsChainsUntilMoreSaysNo: by several callers, each chain of so many turns, and every head is told.
func TestFillingPutsChainsUntilMoreSaysNo(t *testing.T) {
	e := rowEnv(t)
	s := serve(t, e, &batches{})
	f := &filling{s: s}
	if err := f.fillWhile(t.Context(), func() (bool, error) { return false, nil }); err != nil || len(f.heads) != memoryFillers {
		t.Fatalf("%d heads, %v", len(f.heads), err)
	}
	for _, head := range f.heads {
		if !strings.HasSuffix(head, "/1000") {
			t.Errorf("the chain that ends in %s is not %d turns", head, memoryChain)
		}
	}
	broken := errors.New("broken")
	if m := f.measured(); len(f.requests.took) != memoryFillers*memoryChain/memoryBatch || len(m) != 2 || m[1].Value <= 0 {
		t.Errorf("%d requests are told as %+v", len(f.requests.took), m)
	}
	if err := f.fillWhile(t.Context(), func() (bool, error) { return true, broken }); !errors.Is(err, broken) {
		t.Errorf("%v, want what more said", err)
	}
}

// TestStreamsAreWhole: a stream's frames count with all their bytes, and a chain that comes short is an error. The first frame
// of each is told.
func TestStreamsAreWhole(t *testing.T) {
	e := rowEnv(t)
	service := &batches{frames: []string{strings.Repeat("x", 1<<20), strings.Repeat("y", 2<<20)}}
	s := serve(t, e, service)
	first := new(waits)
	side, err := streamingSide(s, []string{"a", "b"}, first.add)
	if err != nil {
		t.Fatal(err)
	}
	if err := side.call(t.Context(), 0, 0); err != nil {
		t.Errorf("of 3 MiB: %v", err)
	}
	service.frames = service.frames[:1]
	if err := side.call(t.Context(), 0, 1); err == nil {
		t.Error("a chain of 1 MiB passed for 1,000 turns")
	}
	if len(first.took) != 2 || first.took[0] <= 0 {
		t.Errorf("first frames came after %v", first.took)
	}
}

// TestWaited: the longest is the last of what was added in any order.
func TestWaited(t *testing.T) {
	w := new(waits)
	for _, ms := range []time.Duration{3, 9, 1, 2} {
		w.add(ms * time.Millisecond)
	}
	m := w.sample(2*time.Second).waited("calls", 7)
	if len(m) != 2 || m[0].Callers != 7 || m[0].P50 != 3 || m[0].PerSecond != 2 || m[1].Name != "calls: the longest" || m[1].Value != 9 || m[1].Unit != "ms" {
		t.Errorf("%+v", m)
	}
}
