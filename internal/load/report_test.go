package load

import (
	"testing"
	"time"
)

// Percentiles of any times are within 1 %, and no time is too short or too long to count.
func TestDistribution(t *testing.T) {
	var d distribution
	for i := 1; i <= 1000; i++ {
		d.add(time.Duration(i) * time.Millisecond)
	}
	for share, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second} {
		if got := d.quantile(share); got < want*99/100 || got > want*101/100 {
			t.Errorf("%v of them took %s, not %s", share, got, want)
		}
	}
	var edges distribution
	edges.add(0)
	edges.add(100 * time.Hour)
	if low, high := edges.quantile(0.5), edges.quantile(1); low > 2*time.Microsecond || high < time.Hour || edges.count != 2 {
		t.Errorf("%s and %s of %d", low, high, edges.count)
	}
}
