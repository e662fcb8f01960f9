package bench

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/client"
)

// A round has four peaks and four floods. What a flood offers is twice what was served most, at the last peak or in the flood before.
func TestRoundsOfOverload(t *testing.T) {
	e := rowEnv(t)
	s := serve(t, e, &heads{})
	var o *overloads
	err := errNothingServed
	for deadline := 20 * time.Millisecond; errors.Is(err, errNothingServed) && deadline < time.Minute; deadline *= 4 { // a busy machine needs more
		o = someOverloads(t, e, s, deadline)
		for round := 0; round < 2 && (round == 0 || err == nil); round++ {
			err = o.round(t.Context())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(o.peaks) != 2 || len(o.served) != 2 || len(o.offers) != 2 || len(o.goods) != 8 || len(o.peakRates) != 8 || len(o.peak99) != 8 {
		t.Errorf("%+v", o)
	}
	for i := range 2 {
		if peak, served := meanOf(o.peakRates[4*i:4*i+4]), meanOf(o.goods[4*i:4*i+4]); o.peaks[i] != peak || o.served[i] != served {
			t.Errorf("round %d: a peak of %g, not %g; %g served in floods, not %g", i, o.peaks[i], peak, o.served[i], served)
		}
	}
	if o.peaked != o.peakRates[7] || o.flooded != o.goods[7] {
		t.Errorf("lately: a peak of %g, a flood of %g", o.peaked, o.flooded)
	}
	if o.counted != 8*2*o.f.deadline || o.calls < len(o.took) || len(o.took) == 0 {
		t.Errorf("the bystander: %d of %d in %s", len(o.took), o.calls, o.counted)
	}
}

// someOverloads are rounds that have not begun yet, of puts with a deadline.
func someOverloads(t *testing.T, e *env, s *server, deadline time.Duration) *overloads {
	t.Helper()
	f, err := s.newFlood(2000)
	if err != nil {
		t.Fatal(err)
	}
	f.deadline = deadline
	o := newOverloads(e, f)
	o.while, o.callers = 3*deadline, 16
	return o
}

// A store gets no rest only where that is asked for.
func TestRestless(t *testing.T) {
	if _, known := processorTicks(os.Getpid()); !known {
		t.Skip("this system does not tell how busy a process is, so nothing is waited for")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, restless := range []bool{false, true} {
		e := rowEnv(t)
		e.Restless = restless
		s := serve(t, e, &heads{})
		s.process = &process{cmd: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}}
		o := newOverloads(e, &flood{s: s})
		if err := o.rest(over); (err == nil) != restless {
			t.Errorf("restless %v: %v", restless, err)
		}
	}
}

// What a load finds depends on those before: what comes back every two or four loads, and what grows from load to load, meets both kinds
// alike.
func TestLoadsTakeTurns(t *testing.T) {
	for _, every := range []int{1, 2, 4} {
		for from := range every {
			floods, all := 0, 0
			for i := from; i < len(isFlood); i += every {
				if all++; isFlood[i] {
					floods++
				}
			}
			if 2*floods != all {
				t.Errorf("of loads %d, %d, … %d of %d are floods", from, from+every, floods, all)
			}
		}
	}
	moment := 0
	for i, flood := range isFlood {
		if flood {
			moment += i
		} else {
			moment -= i
		}
	}
	if moment != 0 {
		t.Errorf("floods come later than peaks by %d places in all", moment)
	}
}

// What floods offer is twice the larger of the last peak and what the flood before was served.
func TestFloodsOfferTwice(t *testing.T) {
	e := rowEnv(t)
	s := serve(t, e, &heads{})
	for _, lately := range [][2]float64{{300, 500}, {500, 300}} {
		o := someOverloads(t, e, s, 100*time.Millisecond)
		o.peaked, o.flooded = lately[0], lately[1]
		if err := o.flood(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := o.offered[0] * o.while.Seconds(); got < 0.8*1000*o.while.Seconds() || got > 1000*o.while.Seconds() {
			t.Errorf("after %g: %g were offered, not 1000 a second", lately, got)
		}
	}
}

// The share of a round is that of its floods' mean in its peaks' mean.
func TestSharesOfOverload(t *testing.T) {
	o := newOverloads(rowEnv(t), nil)
	o.callers, o.peakRates = 256, []float64{100, 100, 50}
	o.peaks, o.served, o.offers = []float64{100, 100, 50}, []float64{80, 90, 100}, []float64{200, 210, 150}
	good := o.figures()[0]
	if good.Void || good.Figure != 0.9 || good.Measured[0].Callers != 256 || good.Measured[0].PerSecond != 100 {
		t.Errorf("%+v", good)
	}
	for _, m := range good.Measured {
		if m.Unit == "times" && m.Value != 2 {
			t.Errorf("%+v", m)
		}
	}
	o.e.Restless = true
	for _, f := range o.figures() {
		if !f.Void {
			t.Errorf("without rest: %+v", f)
		}
	}
	o.e.Restless = false
	if o.offers = []float64{170, 170, 500}; !o.figures()[0].Void {
		t.Errorf("with 1.7 times the peak in most rounds: %+v", o.figures()[0])
	}
}

// Where nothing is served, there is nothing to offer twice of. Where nothing is answered either, that is a call's error.
func TestOverloadOfNothing(t *testing.T) {
	for namespace, silent := range map[string]bool{"overloaded": false, "silent": true} {
		e := rowEnv(t)
		s := serve(t, e, &heads{})
		if silent {
			s.addr, _ = mute(t)
		}
		s.namespace = namespace
		var err error
		call := true
		for deadline := 5 * time.Millisecond; call && deadline < time.Minute; deadline *= 4 { // a busy machine needs more to refuse
			f, flooded := s.newFlood(2000)
			if flooded != nil {
				t.Fatal(flooded)
			}
			f.deadline = deadline
			o := newOverloads(e, f)
			o.while = 2 * deadline
			err = o.saturate(t.Context())
			if _, call = errors.AsType[*client.Error](err); silent {
				break
			}
		}
		if !errors.Is(err, errNothingServed) || call != silent {
			t.Errorf("%s: %v", namespace, err)
		}
		if e.Remote = "elsewhere"; e.nothingLeft(err) != silent {
			t.Errorf("%s: a run against a server elsewhere ends: %v", namespace, !silent)
		}
		if heard := e.dog.answers.Load() > 0; heard == silent {
			t.Errorf("%s: the watchdog heard of answers: %v", namespace, heard)
		}
	}
}

// What the bystander got is told of all floods together, as what the floods did is.
func TestFairnessUnderOverload(t *testing.T) {
	o := newOverloads(rowEnv(t), nil)
	o.goods, o.offered = []float64{10, 30, 20}, []float64{100, 100, 40}
	o.counted, o.calls, o.took = 2*time.Second, 8, []time.Duration{3 * time.Millisecond, time.Millisecond}
	want := []float64{0.25, 0.25, 1, 3, 3}
	for i, m := range o.fair() {
		if m.Value != want[i] {
			t.Errorf("%s: %g, not %g", m.Name, m.Value, want[i])
		}
	}
	if o.calls, o.took = 0, nil; len(o.fair()) != 3 || o.fair()[1].Value != 0 {
		t.Errorf("of nothing: %+v", o.fair())
	}
}

// The bystander's puts count while the flood's do, refused or not.
func TestBystanderCountsBetween(t *testing.T) {
	now := time.Now()
	b := &bystander{puts: []bystanderPut{
		{ended: now, took: 1, served: true},
		{ended: now.Add(time.Second), took: 2},
		{ended: now.Add(2 * time.Second), took: 3, served: true},
		{ended: now.Add(4 * time.Second), took: 4, served: true},
	}}
	if calls, took := b.between(now, now.Add(3*time.Second)); calls != 2 || len(took) != 1 || took[0] != 3 {
		t.Errorf("%d calls, %v", calls, took)
	}
}

// A bystander goes on where it is refused, until it is ended.
func TestBystanderGoesOn(t *testing.T) {
	for namespace, served := range map[string]bool{"some": true, "overloaded": false, "late": false} {
		s := serve(t, rowEnv(t), &heads{})
		s.namespace = namespace
		b, err := s.bystander(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.end(); err != nil || len(b.puts) == 0 || b.puts[0].served != served {
			t.Errorf("%s: %+v, %v", namespace, b.puts, err)
		}
	}
}

// What the server refused is judged by its status, and what nobody answered is no part of that but counted of all.
func TestOverloadTellsRefusalsFromSilence(t *testing.T) {
	o := newOverloads(rowEnv(t), nil)
	if clear, silent := o.clear(), o.silent(); !clear.Met || clear.Figure != 1 || !silent.Met || silent.Figure != 0 {
		t.Errorf("of nothing: %+v, %+v", clear, silent)
	}
	for range 2 {
		p := newPuts(time.Now(), time.Now().Add(time.Second))
		p.begun = 200
		for i := range 100 {
			e := ending{code: codes.ResourceExhausted, reason: "OVERLOADED"}
			if i >= 98 {
				e = unanswered(noAnswer)
			}
			p.end(time.Now(), e)
		}
		o.addFlood(p)
	}
	if clear, silent := o.clear(), o.silent(); !clear.Met || clear.Figure != 1 || !silent.Met || silent.Figure != 0.01 {
		t.Errorf("with a hundredth in silence: %+v, %+v", clear, silent)
	}
	p := newPuts(time.Now(), time.Now().Add(time.Second))
	p.end(time.Now(), ending{code: codes.Unavailable})
	p.end(time.Now(), unanswered(answeredLate))
	o.addFlood(p)
	if clear, silent := o.clear(), o.silent(); clear.Met || clear.Figure != 196.0/197 || silent.Met || silent.Figure != 5.0/400 {
		t.Errorf("with a refusal that is not clear, and one more in silence: %+v, %+v", clear, silent)
	}
}
