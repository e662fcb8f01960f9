// Package measure holds things against each other that are measured in turns, and figures against targets.
package measure

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Claim is what a figure is of, and what it is to reach. Only AtLeast, AtMost and Under make one.
type Claim struct {
	What string
	// Means is what the figure tells a user.
	Means string
	// Syncs says that the figure tells nothing where the disk does not sync.
	Syncs bool

	relation, unit string
	bound          float64
}

// AtLeast is a claim that is met from a bound on.
func AtLeast(bound float64, what string) Claim {
	return Claim{What: what, relation: "≥", bound: bound}
}

// AtMost is a claim that is met up to a bound.
func AtMost(bound float64, what string) Claim {
	return Claim{What: what, relation: "≤", bound: bound}
}

// Under is a claim that is met below a bound.
func Under(bound float64, what string) Claim { return Claim{What: what, relation: "<", bound: bound} }

// In is the claim with a unit.
func (c Claim) In(unit string) Claim {
	c.unit = " " + unit
	return c
}

// OnDisk is the claim of a figure that depends on the time that a sync takes.
func (c Claim) OnDisk() Claim {
	c.Syncs = true
	return c
}

// Meaning is the claim with what it tells a user.
func (c Claim) Meaning(means string) Claim {
	c.Means = means
	return c
}

// Target is the bound in words.
func (c Claim) Target() string { return fmt.Sprintf("%s %g%s", c.relation, c.bound, c.unit) }

// met is false of what is not a number.
func (c Claim) met(value float64) bool {
	switch c.relation {
	case "≥":
		return value >= c.bound
	case "≤":
		return value <= c.bound
	default:
		return value < c.bound
	}
}

// Figure is one figure of a row, and what it was made of.
type Figure struct {
	Row    int     `json:"row"`
	What   string  `json:"what"`
	Target string  `json:"target"`
	Value  float64 `json:"figure"`
	// Low and High are the quartiles of the rounds whose median the figure is, where it is one.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	Met  bool    `json:"met"`
	// Void says why the figure tells nothing; empty: it does.
	Void string `json:"void,omitempty"`
	// Beside are what else was measured.
	Beside []string `json:"beside,omitempty"`
	Means  string   `json:"-"`
}

// Figure holds a value against the claim.
func (c Claim) Figure(value float64, beside ...string) Figure {
	return Figure{What: c.What, Target: c.Target(), Value: value, Met: c.met(value), Beside: beside, Means: c.Means}
}

// Median holds the median of rounds against the claim.
func (c Claim) Median(rounds []float64, beside ...string) Figure {
	sorted := slices.Sorted(slices.Values(rounds))
	f := c.Figure(Median(sorted), beside...)
	f.Low, f.High = At(sorted, 0.25), At(sorted, 0.75)
	return f
}

// Nothing is a figure of the claim that tells nothing.
func (c Claim) Nothing(why string) Figure {
	return Figure{What: c.What, Target: c.Target(), Means: c.Means}.Voided(why)
}

// Voided is the figure, for a reason telling nothing.
func (f Figure) Voided(why string) Figure {
	f.Void, f.Met = why, false
	return f
}

// At is the value so far into a sorted list; 0 of none.
func At[T ~int64 | ~float64](sorted []T, share float64) T {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// Median is that of values in any order; not a number of none.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	switch n := len(sorted); {
	case n == 0:
		return math.NaN()
	case n%2 == 0:
		return (sorted[n/2-1] + sorted[n/2]) / 2
	default:
		return sorted[n/2]
	}
}

// Mean is that of at least one value.
func Mean(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// Milliseconds is a time as figures have it.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
