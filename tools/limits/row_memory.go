package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transcriptd/transcriptd/internal/turns"
	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
	"github.com/transcriptd/transcriptd/tools/limits/internal/process"
	"github.com/transcriptd/transcriptd/tools/limits/internal/raw"
)

var (
	memoryMost = measure.AtMost(512, "anonymous memory under load: the most").In("MiB").Meaning("What to give the process.")
	// Memory goes up and down with what is written and merged just then, so a slope of less than twice its error tells nothing.
	memoryGrowth = measure.Under(1, "anonymous memory under load: growth in the second half").In("MiB/min").
			Meaning("A slope of less than twice its standard error, which stands beside it, is none.")
)

// memoryUnderLoad fills a store, starts transcriptd on it again with default flags, and lets callers stream chains chosen over the
// whole store while as many put turns onto chains of their own. Each caller has a connection of its own. RssAnon is read each second.
//
// The most is over all of it; the slope is that of the line of least squares through the second half. Memory goes up and down by more
// than the slope's target in a minute, so beside it stand its standard error and the most in either half: what grows grows in those.
func memoryUnderLoad(ctx context.Context, e *env) ([]measure.Figure, error) {
	s, err := e.fresh()
	if err != nil {
		return nil, err
	}
	heads, err := s.fillTo(ctx, e.fill)
	if err != nil {
		return nil, err
	}
	memory, beside, err := s.underLoad(ctx, heads)
	if err != nil {
		return nil, err
	}
	half := len(memory) / 2
	if half == 0 {
		return nil, errors.New("the load was too short to look at memory twice")
	}
	figures := []measure.Figure{
		memoryMost.Figure(slices.Max(memory), beside...),
		memoryGrowth.Figure(60*slope(memory[half:]), fmt.Sprintf("standard error %.3g MiB/min", slopeError(memory[half:])),
			fmt.Sprintf("the most in the first half %.0f MiB, in the second %.0f", slices.Max(memory[:half]), slices.Max(memory[half:]))),
	}
	if e.loaded < full.loaded {
		for i := range figures {
			figures[i] = figures[i].Voided("a short load on a small store tells nothing of a long one on a large store")
		}
	}
	return figures, nil
}

// fillers put chains at once.
const fillers = 8

// fillTo puts chains until the store takes at least so many bytes of the disk, at rest, starts the server on it again, and tells
// the chains' heads.
func (s *server) fillTo(ctx context.Context, bytes int64) (heads []string, err error) {
	for used := int64(0); used < bytes; {
		s.e.note("a store of %d MB is filled to %d", used/1e6, bytes/1e6)
		// What is in logs takes more than it does in tables.
		more, err := s.fillWhileBelow(ctx, bytes+bytes/20)
		if err != nil {
			return nil, err
		}
		heads = append(heads, more...)
		if err := s.restart(); err != nil {
			return nil, err
		}
		if used, err = process.DiskUsage(s.dir); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// fillWhileBelow lets several callers put chains, one at least each.
func (s *server) fillWhileBelow(ctx context.Context, bytes int64) (heads []string, err error) {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for range fillers {
		c, err := s.sdk()
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			for used := int64(0); used < bytes; {
				head, err := turns.Fill(ctx, c, "", s.e.seeds(s.e.chain), s.e.chain, func(int) {})
				if err != nil {
					return err
				}
				mu.Lock()
				heads = append(heads, head)
				mu.Unlock()
				if used, err = process.DiskUsage(s.dir); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return heads, err
}

// underLoad lets callers stream and put for a while, and tells the server's memory in MiB each second, and what callers waited for.
func (s *server) underLoad(ctx context.Context, heads []string) (memory []float64, beside []string, err error) {
	streams, err := s.streams(heads)
	if err != nil {
		return nil, nil, err
	}
	puts, err := s.puts("PutNode of a turn", s.e.busy)
	if err != nil {
		return nil, nil, err
	}
	puts.Rest = nil
	watching, end := context.WithCancel(ctx)
	watched := make(chan error, 1)
	go func() {
		var err error
		memory, err = s.watch(watching)
		watched <- err
	}()
	samples := make([]*measure.Sample, 2)
	group, working := errgroup.WithContext(ctx)
	for i, side := range []*measure.Side{streams, puts} {
		group.Go(func() (err error) {
			samples[i], err = side.Round(working, s.e.loaded)
			return err
		})
	}
	err = group.Wait()
	end()
	if ended := <-watched; err == nil {
		err = ended
	}
	if err != nil {
		return nil, nil, err
	}
	return memory, []string{fmt.Sprintf("%s: %s", streams.Name, samples[0]), fmt.Sprintf("%s: %s", puts.Name, samples[1])}, nil
}

// streams stream one of the chains after the other, each caller in an order of its own.
func (s *server) streams(heads []string) (*measure.Side, error) {
	readers := make([]*raw.Reader, s.e.busy)
	for i := range readers {
		var err error
		if readers[i], err = s.reader(); err != nil {
			return nil, err
		}
	}
	name := fmt.Sprintf("StreamAssemble of %d turns", s.e.chain)
	return &measure.Side{Name: name, Callers: s.e.busy, Call: func(ctx context.Context, caller, i int) error {
		random := rand.New(rand.NewPCG(uint64(caller), uint64(i)))
		n := 0
		err := readers[caller].Stream(ctx, raw.ByID(heads[random.IntN(len(heads))]), func(frame []byte) { n += len(frame) })
		if err == nil && n < leastTurn*s.e.chain {
			err = fmt.Errorf("a chain of %d turns came as %d bytes", s.e.chain, n)
		}
		return err
	}}, nil
}

// leastTurn is less than any turn has, in bytes.
const leastTurn = 3000

// watch reads the server's memory, in MiB, each second until ctx ends.
func (s *server) watch(ctx context.Context) (memory []float64, err error) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		bytes, err := process.Anonymous(s.process.PID())
		if err != nil {
			return nil, err
		}
		memory = append(memory, float64(bytes)/(1<<20))
		if n := len(memory); n%60 == 0 {
			s.e.note("after %d s: %.0f MiB, %.0f at most", n, memory[n-1], slices.Max(memory))
		}
		select {
		case <-ctx.Done():
			return memory, nil
		case <-second.C:
		}
	}
}

// slope is that of the line of least squares through values at 0, 1, 2, …; 0 of less than two.
func slope(values []float64) float64 {
	var above, below float64
	for i, v := range values {
		x := float64(i) - float64(len(values)-1)/2
		above, below = above+x*v, below+x*x
	}
	if below == 0 {
		return 0
	}
	return above / below
}

// blockSeconds is how long memory is taken to depend on what it was.
const blockSeconds = 30

// slopeError is the standard error of the slope, a minute: that of a line through the means of blocks, since of values a second apart
// each says nearly what the one before said. 0 of less than three blocks.
func slopeError(values []float64) float64 {
	var means []float64
	for block := range slices.Chunk(values, blockSeconds) {
		if len(block) == blockSeconds {
			means = append(means, measure.Mean(block))
		}
	}
	n := float64(len(means))
	if n < 3 {
		return 0
	}
	mean, slope := measure.Mean(means), slope(means)
	var squares, below float64
	for i, v := range means {
		x := float64(i) - (n-1)/2
		off := v - mean - slope*x
		squares, below = squares+off*off, below+x*x
	}
	return 60 / blockSeconds * math.Sqrt(squares/(n-2)/below)
}
