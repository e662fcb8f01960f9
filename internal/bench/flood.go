package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

const (
	// callDeadline is each put's under overload.
	callDeadline = time.Second
	// streamsPerConnection is how many calls share a connection. transcriptd takes 256 of one at once, of which some may have
	// been answered but not ended yet; more wait in the client.
	streamsPerConnection = 192
	// fewestConnections there are, however few puts are under way.
	fewestConnections = 4
	// floodStep is how far apart calls begin that are due: a clock's tick.
	floodStep = time.Millisecond
)

// flood puts turns of many conversations, each of which has one put under way at most. A conversation whose put fails goes
// on from its last reply with another turn.
type flood struct {
	s        *server
	deadline time.Duration
	turns    [differentTurns]*encodedTurn
	wires    []*wire
	// whole ends, for a cause, once one of the wires was lost: its share of the puts would be refused by nobody. A load then ends
	// early, and what it counted is worth nothing.
	whole context.Context
	lost  context.CancelCauseFunc

	mu sync.Mutex
	// underWay are the calls of each wire.
	underWay []int
	// free are the conversations without a put under way; the one that was freed last is used next.
	free []*floodedChain
	made int
	most int
}

// floodedChain is a conversation. Who took it from free has it.
type floodedChain struct {
	number int
	salt   []byte
	head   string
	puts   int
}

// newFlood makes a flood of at most n puts under way. Connections are made as they are needed.
func (s *server) newFlood(n int) (*flood, error) {
	f := &flood{s: s, deadline: callDeadline, most: n}
	f.whole, f.lost = context.WithCancelCause(context.Background())
	first := s.e.seeds(differentTurns)
	for i := range f.turns {
		var err error
		if f.turns[i], err = encodeTurn(first + uint64(i)); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// connect makes connections until n puts under way need not wait for each other.
func (f *flood) connect(ctx context.Context, n int) error {
	for len(f.wires) < max(fewestConnections, (n+streamsPerConnection-1)/streamsPerConnection) {
		w, err := dialWire(ctx, f.s.addr, f.lost)
		if err != nil {
			return err
		}
		f.s.e.ends(w.close)
		f.wires, f.underWay = append(f.wires, w), append(f.underWay, 0)
	}
	return nil
}

// take takes a free conversation; nil where there are as many puts under way as there may be.
func (f *flood) take() *floodedChain {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.free); n > 0 {
		c := f.free[n-1]
		f.free = f.free[:n-1]
		return c
	}
	if f.made == f.most {
		return nil
	}
	f.made++
	return &floodedChain{number: f.made, salt: fmt.Appendf(nil, "%016x", rand.Uint64())}
}

// wire takes a place on the first connection that has one, as clients do that share their connections: what comes and goes
// together is read and written at once. Where none has, calls wait on the last one.
func (f *flood) wire() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n < len(f.wires)-1 && f.underWay[n] >= streamsPerConnection {
		n++
	}
	f.underWay[n]++
	return n
}

// put begins to put the next turn of a conversation; done is called once it is free again.
func (f *flood) put(c *floodedChain, done func(ending)) {
	call := &wireCall{
		namespace: f.s.namespace, parent: c.head, salt: c.salt, turn: f.turns[(c.number*7+c.puts)%differentTurns], call: callOf(c.number, c.puts),
		deadline: time.Now().Add(f.deadline),
	}
	c.puts++
	n := f.wire()
	call.done = func(e ending) {
		if e.unanswered != noAnswer && e.unanswered != neverSent {
			f.s.e.dog.heard()
		}
		if e.code == codes.OK {
			c.head = e.head
		}
		f.mu.Lock()
		f.free = append(f.free, c)
		f.underWay[n]--
		f.mu.Unlock()
		done(e)
	}
	f.wires[n].begin(call)
}

// puts is what became of puts.
type puts struct {
	// from and to bound the time in which puts that succeed are counted as good.
	from, to time.Time

	mu sync.Mutex
	// begun counts all, and unoffered those that did not begin since too many were under way.
	begun, unoffered int
	// refused counts those that failed before the caller gave up, by the status; unclear are those of them whose status does
	// not tell why.
	refused map[string]int
	unclear int
	// unanswered counts those that had no status by their deadline, by why.
	unanswered map[string]int
	// took are the times of the good ones, and told those of the refused ones until the caller knew, sorted in the end.
	took, told []time.Duration
}

func newPuts(from, to time.Time) *puts {
	return &puts{from: from, to: to, refused: map[string]int{}, unanswered: map[string]int{}}
}

// perSecond is how many were good, a second.
func (p *puts) perSecond() float64 { return float64(len(p.took)) / p.to.Sub(p.from).Seconds() }

// after is the time, in milliseconds, within which a share of the good ones was served; 0 of none.
func (p *puts) after(share float64) float64 {
	if len(p.took) == 0 {
		return 0
	}
	return milliseconds(at(p.took, share))
}

// end counts a put that began at a time.
func (p *puts) end(began time.Time, e ending) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.unanswered != "":
		p.unanswered[e.unanswered]++
	case e.code != codes.OK:
		p.told = append(p.told, now.Sub(began))
		p.refused[howRefused(e.code, e.reason)]++
		if !clearlyRefused(e.code, e.reason) {
			p.unclear++
		}
	case now.After(p.from) && now.Before(p.to):
		p.took = append(p.took, now.Sub(began))
	}
}

// sort makes ready for reading what was counted.
func (p *puts) sort() {
	slices.Sort(p.took)
	slices.Sort(p.told)
}

// counting begins to count puts: the good ones are those that succeed from now on for a while, but for the time of a
// deadline.
func (f *flood) counting(while time.Duration) *puts {
	now := time.Now()
	return newPuts(now.Add(f.deadline), now.Add(while))
}

// closed are the puts of so many callers who wait for each reply before the next put. Those count that open counts. An error
// where the context ended, or a connection.
func (f *flood) closed(ctx context.Context, callers int, while time.Duration) (*puts, error) {
	p := f.counting(while)
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			ended := make(chan struct{}, 1)
			for f.fault(ctx) == nil && time.Now().Before(p.to) {
				f.one(p, func() { ended <- struct{}{} })
				<-ended
			}
		})
	}
	running.Wait()
	p.sort()
	return p, f.fault(ctx)
}

// fault is why a load is over early, if it is.
func (f *flood) fault(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Cause(f.whole)
}

// one begins a put, unless too many are under way, and calls ended when it has ended.
func (f *flood) one(p *puts, ended func()) {
	c := f.take()
	p.mu.Lock()
	if c == nil {
		p.unoffered++
	} else {
		p.begun++
	}
	p.mu.Unlock()
	if c == nil {
		ended()
		return
	}
	began := time.Now()
	f.put(c, func(e ending) {
		p.end(began, e)
		ended()
	})
}

// open are puts that begin on a clock, rate a second for a while, whether or not earlier ones have ended; all have in the
// end. Good ones are those that succeed after the first deadline's time and before the while is over: before, the server
// fills its queues. An error where the context ended, or a connection.
func (f *flood) open(ctx context.Context, rate float64, while time.Duration) (*puts, error) {
	begin, p := time.Now(), f.counting(while)
	var running sync.WaitGroup
	tick := time.NewTicker(floodStep)
	defer tick.Stop()
	for due := 0; f.fault(ctx) == nil; <-tick.C {
		since := time.Since(begin)
		if since >= while {
			break
		}
		for ; due < int(rate*since.Seconds()); due++ {
			running.Add(1)
			f.one(p, running.Done)
		}
	}
	running.Wait()
	p.sort()
	return p, f.fault(ctx)
}

func howRefused(code codes.Code, reason string) string {
	if reason == "" {
		return code.String()
	}
	return code.String() + " " + reason
}

// clearlyRefused tells whether the status that a server gave a failed call says what its caller should do: wait and repeat,
// for too much is asked (OVERLOADED, or the deadline passed), or turn elsewhere (UNAVAILABLE with a reason).
func clearlyRefused(code codes.Code, reason string) bool {
	switch code {
	case codes.DeadlineExceeded:
		return true
	case codes.ResourceExhausted:
		return reason == "OVERLOADED"
	case codes.Unavailable:
		return reason != ""
	default:
		return false
	}
}
