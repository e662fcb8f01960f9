package measure

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Side is one of the things that are held against each other.
type Side struct {
	Name    string
	Callers int
	// Call is made again and again by each caller; i counts the caller's calls over all rounds. An error ends the contest.
	Call func(ctx context.Context, caller, i int) error
	// Rest, where there is one, waits after each round until the side does no more work in the background.
	Rest func(context.Context) error
	// calls is how often each caller has called so far.
	calls []int
}

// Sample is what a side took in one round.
type Sample struct {
	// Took are the times of the calls, sorted.
	Took []time.Duration
	// While is how long the round took.
	While time.Duration
}

// P50 is the median of the calls' times, in milliseconds.
func (s *Sample) P50() float64 { return Milliseconds(At(s.Took, 0.5)) }

// P99 is the time, in milliseconds, within which 99 % of the calls had their reply.
func (s *Sample) P99() float64 { return Milliseconds(At(s.Took, 0.99)) }

// Rate is how many calls there were a second.
func (s *Sample) Rate() float64 { return float64(len(s.Took)) / s.While.Seconds() }

// String tells of the calls, the longest too: percentiles hide that all callers were held up now and then.
func (s *Sample) String() string {
	return fmt.Sprintf("p50 %.4g ms, p99 %.4g ms, longest %.4g ms, %.5g/s", s.P50(), s.P99(), Milliseconds(At(s.Took, 1)), s.Rate())
}

// Outcome is what a side took in all rounds; round i of one belongs to round i of another.
type Outcome struct {
	*Side
	Rounds []*Sample
}

// String tells the medians over all rounds.
func (o *Outcome) String() string {
	of := func(f func(*Sample) float64) float64 {
		values := make([]float64, len(o.Rounds))
		for i, s := range o.Rounds {
			values[i] = f(s)
		}
		return Median(values)
	}
	return fmt.Sprintf("%s: callers %d, p50 %.4g ms, p99 %.4g ms, %.5g/s",
		o.Name, max(1, o.Callers), of((*Sample).P50), of((*Sample).P99), of((*Sample).Rate))
}

// Versus holds a's value over b's against a claim, round by round.
func Versus(c Claim, a, b *Outcome, of func(*Sample) float64) Figure {
	ratios := make([]float64, len(a.Rounds))
	for i := range a.Rounds {
		ratios[i] = of(a.Rounds[i]) / of(b.Rounds[i])
	}
	return c.Median(ratios, a.String(), b.String())
}

// Contest measures sides in turns: rounds, in each of which every side works for a while, in an order that changes, after one
// that does not count.
func Contest(ctx context.Context, rounds int, while time.Duration, sides ...*Side) ([]*Outcome, error) {
	outcomes := make([]*Outcome, len(sides))
	for i, s := range sides {
		outcomes[i] = &Outcome{Side: s}
	}
	order := slices.Clone(outcomes)
	for round := -1; round < rounds; round++ {
		for _, o := range order {
			s, err := o.Round(ctx, while)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.Name, err)
			}
			if round >= 0 {
				o.Rounds = append(o.Rounds, s)
			}
		}
		order = append(order[1:], order[0])
	}
	return outcomes, nil
}

// Round lets all callers of a side call for a while, each at least once, and then waits until the side is at rest. It begins
// without garbage in this process.
func (s *Side) Round(ctx context.Context, while time.Duration) (*Sample, error) {
	runtime.GC()
	if s.calls == nil {
		s.calls = make([]int, s.Callers)
	}
	var mu sync.Mutex
	sample, begin := new(Sample), time.Now()
	group, ctx2 := errgroup.WithContext(ctx)
	for caller := range s.Callers {
		group.Go(func() error {
			took, err := s.caller(ctx2, caller, begin.Add(while))
			mu.Lock()
			defer mu.Unlock()
			sample.Took = append(sample.Took, took...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	sample.While = time.Since(begin)
	slices.Sort(sample.Took)
	if s.Rest == nil {
		return sample, nil
	}
	return sample, s.Rest(ctx)
}

// caller calls until a time.
func (s *Side) caller(ctx context.Context, caller int, until time.Time) (took []time.Duration, err error) {
	for begin := time.Now(); len(took) == 0 || begin.Before(until); {
		if err := s.Call(ctx, caller, s.calls[caller]); err != nil {
			return took, err
		}
		s.calls[caller]++
		end := time.Now()
		took = append(took, end.Sub(begin))
		begin = end
	}
	return took, nil
}
