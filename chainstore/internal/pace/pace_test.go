package pace

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// read reads n times bytes and rests where that is due, and tells how long that took.
func read(t *testing.T, p *Pace, n int, bytes int64) time.Duration {
	t.Helper()
	began := time.Now()
	for range n {
		p.Read(bytes)
		for p.Due() {
			if err := p.Rest(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	return time.Since(began)
}

// A reader takes as long as its rate says, but for what it may be ahead; one without a rate never rests.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pace{Rate: 1000}
		read(t, p, 1, 100) // what it may make up for at first
		if took := read(t, p, 5000, 3); took < 15*time.Second-2*Ahead || took > 15*time.Second+2*Ahead {
			t.Errorf("15,000 bytes at 1,000 a second took %s", took)
		}
		if took := read(t, p, 1, 60_000); took < time.Minute-2*Ahead || took > time.Minute+2*Ahead {
			t.Errorf("60,000 bytes at once took %s", took)
		}
		if took := read(t, &Pace{}, 1000, 1<<40); took != 0 {
			t.Errorf("without a rate it took %s", took)
		}
	})
}

// Time in which a reader could not read is not made up for, but for a little.
func TestLostTimeIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pace{Rate: 1000}
		read(t, p, 1, 1000)
		<-time.After(time.Hour)
		if took := read(t, p, 10, 1000); took < 10*time.Second-behind-Ahead {
			t.Errorf("10,000 bytes after an hour took %s", took)
		}
	})
}

// A rest ends with its context, however long it would be, and after its limit.
func TestRestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pace{Rate: 1}
		for range 1000 {
			p.Read(math.MaxInt64)
		}
		began := time.Now()
		if err := p.Rest(t.Context(), time.Second); err != nil || time.Since(began) != time.Second || !p.Due() {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Rest(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
