package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// side is one of the things that are held against each other.
type side struct {
	name string
	// limit says that it is what transcriptd is held against. Against a remote address it is not measured.
	limit   bool
	callers int
	// call is made again and again by each caller; i counts the caller's calls over all rounds. What it waits for ends
	// with its context, and an error ends the run.
	call func(ctx context.Context, caller, i int) error
	// settle, where there is one, waits after each round until the side does no more work in the background, lest the next
	// side is measured beside it.
	settle func(context.Context) error
	// calls is how often each caller has called so far.
	calls []int
}

// sample is what a side took in one round.
type sample struct {
	// took are the times of the calls, sorted.
	took []time.Duration
	// while is how long the round took.
	while time.Duration
	// calls is how many each caller made.
	calls []int
}

func (s *sample) p50() float64       { return milliseconds(at(s.took, 0.5)) }
func (s *sample) p99() float64       { return milliseconds(at(s.took, 0.99)) }
func (s *sample) perSecond() float64 { return float64(len(s.took)) / s.while.Seconds() }

// outcome is what a side took in all rounds; round i of one belongs to round i of the other.
type outcome struct {
	*side
	rounds []*sample
}

// measured is the median over all rounds.
func (o *outcome) measured() Measured {
	of := func(f func(*sample) float64) float64 {
		values := make([]float64, len(o.rounds))
		for i, s := range o.rounds {
			values[i] = f(s)
		}
		return median(values)
	}
	return Measured{
		Name: o.name, Callers: o.callers, P50: of((*sample).p50), P99: of((*sample).p99), PerSecond: of((*sample).perSecond),
	}
}

// over is a's value over b's, round by round.
func over(a, b *outcome, of func(*sample) float64) []float64 {
	paired := make([]float64, len(a.rounds))
	for i := range a.rounds {
		paired[i] = of(a.rounds[i]) / of(b.rounds[i])
	}
	return paired
}

// contest measures sides in turns: rounds, in each of which every side works for a while, in an order that changes. A limit
// has no rounds where it is not measured: see env.versus. Where profiles are wanted, they are taken of each side afterwards.
func (e *env) contest(ctx context.Context, while time.Duration, sides ...*side) ([]*outcome, error) {
	outcomes := make([]*outcome, len(sides))
	var order []*outcome
	for i, s := range sides {
		outcomes[i] = &outcome{side: s}
		s.calls = make([]int, s.callers)
		if !s.limit || e.Remote == "" {
			order = append(order, outcomes[i])
		}
	}
	for _, o := range order { // warm
		if _, err := o.work(ctx, while); err != nil {
			return nil, fmt.Errorf("%s: %w", o.name, err)
		}
	}
	for range e.rounds() {
		for _, o := range order {
			s, err := o.work(ctx, while)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.name, err)
			}
			o.rounds = append(o.rounds, s)
		}
		order = append(order[1:], order[0])
	}
	for _, o := range outcomes {
		if len(o.rounds) > 0 {
			if err := e.profileSide(ctx, o.side); err != nil {
				return nil, fmt.Errorf("profiles of %s: %w", o.name, err)
			}
		}
	}
	return outcomes, nil
}

// work is a round of a side: see calling.
func (s *side) work(ctx context.Context, while time.Duration) (*sample, error) {
	took, err := s.calling(ctx, while)
	if err == nil && s.settle != nil {
		err = s.settle(ctx)
	}
	return took, err
}

// calling lets all callers of a side call for a while, each at least once. It begins without garbage in this process.
func (s *side) calling(ctx context.Context, while time.Duration) (*sample, error) {
	runtime.GC()
	var (
		wait  sync.WaitGroup
		mu    sync.Mutex
		all   []time.Duration
		calls = make([]int, s.callers)
		fault error
	)
	begin := time.Now()
	for caller := range s.callers {
		wait.Go(func() {
			took, err := s.caller(ctx, caller, begin.Add(while))
			mu.Lock()
			defer mu.Unlock()
			all, calls[caller] = append(all, took...), len(took)
			if fault == nil {
				fault = err
			}
		})
	}
	wait.Wait()
	slices.Sort(all)
	return &sample{took: all, while: time.Since(begin), calls: calls}, fault
}

// caller calls until a time.
func (s *side) caller(ctx context.Context, caller int, until time.Time) (took []time.Duration, err error) {
	for begin := time.Now(); len(took) == 0 || begin.Before(until); {
		if err := s.call(ctx, caller, s.calls[caller]); err != nil {
			return took, err
		}
		s.calls[caller]++
		end := time.Now()
		took = append(took, end.Sub(begin))
		begin = end
	}
	return took, nil
}

// versus is the median of a's value over b's; void where b was not measured.
func (e *env) versus(c claim, a, b *outcome, of func(*sample) float64) Figure {
	if len(b.rounds) == 0 || len(a.rounds) == 0 {
		return void(c, "what it is held against runs beside a transcriptd of its own only", a.measured())
	}
	return ratios(c, over(a, b, of), a.measured(), b.measured())
}
