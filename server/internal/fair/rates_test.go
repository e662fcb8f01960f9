package fair

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestRates: a party begins a burst at once and so many a second from then on, whatever others do; a refusal takes no token, and tells when
// there is one.
func TestRates(t *testing.T) {
	r, now := NewRates(), time.Unix(1000, 0)
	began := func(party string, seconds int) (n int) {
		for tick := range seconds * 100 {
			if wait := r.Take(party, 20, 5, now.Add(time.Duration(tick)*10*time.Millisecond)); wait == 0 {
				n++
			} else if wait > 50*time.Millisecond {
				t.Fatalf("the next token comes after %s, 20 come in a second", wait)
			}
		}
		return n
	}
	for _, party := range []string{"a", "b"} {
		if n := began(party, 10); n < 200 || n > 205 {
			t.Errorf("%s begins %d calls in 10 s, want 200 and 5 at once", party, n)
		}
	}
	if wait := r.Take("c", 0.5, 0, now); wait != 0 {
		t.Errorf("the first call of a party waits %s", wait)
	}
	if wait := r.Take("c", 0.5, 0, now); wait != 2*time.Second {
		t.Errorf("the second call waits %s, want 2s", wait)
	}
	if wait := r.Take("never", 1e-300, 1, now) + r.Take("never", 1e-300, 1, now); wait < 100*365*24*time.Hour {
		t.Errorf("a call a longer time than there is: it waits %s", wait)
	}
	if wait := r.Take("c", 100, 10, now); wait != 10*time.Millisecond {
		t.Errorf("with a larger rate it waits %s, want 10ms", wait)
	}
}

// TestRatesForget: of parties that come once, as names in tokens may, few are kept; those that have begun more than they may are.
func TestRatesForget(t *testing.T) {
	r, now := NewRates(), time.Unix(1000, 0)
	for range 3 {
		r.Take("busy", 0.0001, 2, now)
	}
	for i := range 100_000 {
		now = now.Add(10 * time.Millisecond)
		r.Take(fmt.Sprint(i), 10, 10, now)
		if len(r.buckets) > 2*leastKept {
			t.Fatalf("%d parties are kept", len(r.buckets))
		}
	}
	if wait := r.Take("busy", 0.0001, 2, now); wait == 0 {
		t.Error("a party that has begun too many is forgotten")
	}
}

// TestRefusedSideBySide: calls that are refused side by side take nothing of what comes next, and neither waits for the other.
func TestRefusedSideBySide(t *testing.T) {
	now := time.Unix(1000, 0)
	for range 200 {
		r := NewRates()
		r.Take("a", 1, 1, now)
		var refused sync.WaitGroup
		for range 4 {
			refused.Go(func() {
				for range 500 {
					if wait := r.Take("a", 1, 1, now); wait != time.Second {
						t.Errorf("a token comes after 1s, and a call is to wait %s", wait)
						return
					}
				}
			})
		}
		refused.Wait()
		if wait := r.Take("a", 1, 1, now.Add(time.Second)); wait != 0 || t.Failed() {
			t.Fatalf("a second later a call is to wait %s", wait)
		}
	}
}
