package measure

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		claim  Claim
		target string
		value  float64
		met    bool
	}{
		{AtLeast(0.5, "a"), "≥ 0.5", 0.5, true}, {AtLeast(0.5, "a"), "≥ 0.5", 0.49, false},
		{AtMost(3, "a").In("MiB"), "≤ 3 MiB", 3, true}, {AtMost(3, "a"), "≤ 3", 3.1, false},
		{Under(1, "a"), "< 1", 0.9, true}, {Under(1, "a"), "< 1", 1, false},
		{AtLeast(1, "a"), "≥ 1", math.NaN(), false}, {AtMost(1, "a"), "≤ 1", math.NaN(), false}, {Under(1, "a"), "< 1", math.NaN(), false},
	} {
		if f := c.claim.Figure(c.value); f.Met != c.met || f.Target != c.target {
			t.Errorf("%+v", f)
		}
	}
}

func TestMedians(t *testing.T) {
	f := AtMost(2, "a").Median([]float64{4, 1, 3, 2, 5})
	if f.Value != 3 || f.Low != 2 || f.High != 4 || f.Met {
		t.Errorf("%+v", f)
	}
	if m := Median([]float64{4, 1}); m != 2.5 {
		t.Error(m)
	}
	if m := Median(nil); !math.IsNaN(m) {
		t.Error(m)
	}
	if v := AtMost(2, "a").Figure(1).Voided("why"); v.Met || v.Void != "why" || v.Value != 1 {
		t.Errorf("%+v", v)
	}
}

// Sides take turns, the first of a round another each time; each caller counts on from round to round.
func TestContest(t *testing.T) {
	var order []string
	var last atomic.Int64
	side := func(name string) *Side {
		return &Side{Name: name, Callers: 2, Call: func(_ context.Context, caller, i int) error {
			last.Store(int64(i))
			return nil
		}, Rest: func(context.Context) error {
			order = append(order, name)
			return nil
		}}
	}
	o, err := Contest(t.Context(), 2, 0, side("a"), side("b"))
	if err != nil || !slices.Equal(order, strings.Fields("a b b a a b")) || last.Load() != 2 {
		t.Errorf("%v, %v, %d", err, order, last.Load())
	}
	for _, o := range o {
		if len(o.Rounds) != 2 || len(o.Rounds[0].Took) != 2 || !slices.IsSorted(o.Rounds[1].Took) || o.Rounds[0].While <= 0 {
			t.Errorf("%+v", o.Rounds)
		}
	}
}

// An error of one caller ends the contest, and what the others wait for.
func TestContestFails(t *testing.T) {
	fault := errors.New("no")
	_, err := Contest(t.Context(), 1, time.Hour, &Side{Name: "a", Callers: 2, Call: func(ctx context.Context, caller, _ int) error {
		if caller == 0 {
			return fault
		}
		<-ctx.Done()
		return ctx.Err()
	}})
	if !errors.Is(err, fault) || !strings.HasPrefix(err.Error(), "a: ") {
		t.Error(err)
	}
}

// Rounds of one side are held against those of the other, each against its own.
func TestVersus(t *testing.T) {
	outcome := func(took ...time.Duration) *Outcome {
		o := &Outcome{Side: &Side{Name: "one"}}
		for _, d := range took {
			o.Rounds = append(o.Rounds, &Sample{Took: []time.Duration{d}, While: time.Second})
		}
		return o
	}
	f := Versus(AtMost(2, "a"), outcome(2, 8, 30), outcome(1, 2, 10), (*Sample).P50)
	if f.Value != 3 || len(f.Beside) != 2 || !strings.HasPrefix(f.Beside[0], "one: callers 1") {
		t.Errorf("%+v", f)
	}
}
