package fair

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// TestTurns: of a party that has many waiters and one that has few, each gets one in each round; within a party the first to come is first.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSemaphore(1)
		if !s.TryAcquire(1) || s.TryAcquire(1) {
			t.Fatal("a semaphore of 1 gives 1, once")
		}
		var served []string
		begin := func(of string, n int) {
			for i := range n {
				go func() {
					if err := s.Acquire(context.WithValue(t.Context(), Party{}, of), 1); err != nil {
						t.Error(err)
					}
					served = append(served, fmt.Sprint(of, i)) // one at a time
					s.Release(1)
				}()
				synctest.Wait()
			}
		}
		begin("a", 5)
		begin("b", 2)
		begin("c", 1)
		if n := s.round.Len(); n != 3 {
			t.Errorf("%d parties wait, want 3", n)
		}
		s.Release(1)
		synctest.Wait()
		if want := []string{"a0", "b0", "c0", "a1", "b1", "a2", "a3", "a4"}; !slices.Equal(served, want) {
			t.Errorf("served %v, want %v", served, want)
		}
		if s.used != 0 || len(s.places) != 0 {
			t.Errorf("in the end %d are taken, %d parties known", s.used, len(s.places))
		}
	})
}

// TestSemaphoreIsLikeAModel holds random programs against lists: who is served, in what order, and what is left; some give up.
func TestSemaphoreIsLikeAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
			return step{
				what: rapid.SampledFrom([]string{"ask", "ask", "release", "give up"}).Draw(rt, "what"), of: rapid.IntRange(0, 2).Draw(rt, "of"),
				n: rapid.Int64Range(1, size).Draw(rt, "n"), at: rapid.IntRange(0, 99).Draw(rt, "at"),
			}
		}), 1, 40).Draw(rt, "steps")
		var fault error
		synctest.Test(t, func(*testing.T) { fault = program(steps) })
		if fault != nil {
			rt.Fatal(fault)
		}
	})
}

const size = 4

// step is one of a program: at chooses among those who hold, or wait.
type step struct {
	what   string
	of, at int
	n      int64
}

type asked struct {
	of, number int
	n          int64
	cancel     context.CancelFunc
}

// model is what the semaphore is to be: round has the parties in the order of their turns.
type model struct {
	free    int64
	round   []int
	waiting map[int][]*asked
	served  []*asked
}

func (m *model) serve() {
	for len(m.round) > 0 {
		of := m.round[0]
		first := m.waiting[of][0]
		if first.n > m.free {
			return
		}
		m.free -= first.n
		m.served = append(m.served, first)
		m.waiting[of] = m.waiting[of][1:]
		m.round = m.round[1:]
		if len(m.waiting[of]) > 0 {
			m.round = append(m.round, of)
		}
	}
}

func (m *model) ask(a *asked) {
	if len(m.waiting[a.of]) == 0 {
		m.round = append(m.round, a.of)
	}
	m.waiting[a.of] = append(m.waiting[a.of], a)
	m.serve()
}

func (m *model) leave(of, at int) {
	m.waiting[of] = slices.Delete(m.waiting[of], at, at+1)
	if len(m.waiting[of]) == 0 {
		m.round = slices.DeleteFunc(m.round, func(o int) bool { return o == of })
	}
	m.serve()
}

// run is a program on its way.
type run struct {
	model
	s    *Semaphore
	held []*asked // those whose release is still to come

	mu          sync.Mutex
	taken, gone map[int]bool // by number
}

func (r *run) ask(ctx context.Context, a *asked) {
	err := r.s.Acquire(context.WithValue(ctx, Party{}, a.of), a.n)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.taken[a.number] = true
	} else {
		r.gone[a.number] = true
	}
}

func program(steps []step) error {
	r := &run{s: NewSemaphore(size), model: model{free: size, waiting: map[int][]*asked{}}, taken: map[int]bool{}, gone: map[int]bool{}}
	ctx, end := context.WithCancel(context.Background())
	defer synctest.Wait()
	defer end()
	for number, step := range steps {
		switch {
		case step.what == "ask":
			ctx, cancel := context.WithCancel(ctx)
			a := &asked{of: step.of, number: number, n: step.n, cancel: cancel}
			r.model.ask(a)
			go r.ask(ctx, a)
		case step.what == "release" && len(r.held) > 0:
			r.release(step.at % len(r.held))
		case step.what == "give up" && len(r.round) > 0:
			of := r.round[step.of%len(r.round)]
			at := step.at % len(r.waiting[of])
			a := r.waiting[of][at]
			a.cancel()
			r.leave(of, at)
			if synctest.Wait(); !r.gone[a.number] {
				return fmt.Errorf("%d has not given up", number)
			}
		}
		if err := r.check(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) release(at int) {
	a := r.held[at]
	r.free += a.n
	r.mu.Lock()
	delete(r.taken, a.number)
	r.mu.Unlock()
	r.s.Release(a.n)
	r.held = slices.Delete(r.held, at, at+1)
	r.serve()
}

// check holds what became of the waiters against the model.
func (r *run) check() error {
	synctest.Wait()
	for _, a := range r.served {
		if !r.taken[a.number] {
			return fmt.Errorf("%d of party %d is not served", a.number, a.of)
		}
		r.held = append(r.held, a)
	}
	r.served = nil
	if len(r.taken) != len(r.held) || r.s.size-r.s.used != r.free {
		return fmt.Errorf("%d are served, want %d; %d are free, want %d", len(r.taken), len(r.held), r.s.size-r.s.used, r.free)
	}
	return nil
}
