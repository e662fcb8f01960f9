package bench

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Figure is one figure of a row, its target, and what it was made of.
type Figure struct {
	Row  int    `json:"row"`
	What string `json:"what"`
	// Target is a bound in words: "at least 0.85".
	Target string  `json:"target"`
	Figure float64 `json:"figure"`
	Met    bool    `json:"met"`
	// Void says that the figure tells nothing, and Why; it is neither met nor missed.
	Void bool   `json:"void"`
	Why  string `json:"why,omitempty"`
	// Low and High are the quartiles of the rounds whose median the figure is, where it is one.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// Measured are the sides that were held against each other, or whatever else went into the figure.
	Measured []Measured `json:"measured,omitempty"`
	// Busy is how often it was waited in vain, in the row, that a process comes to rest: what was measured next was measured
	// beside the work that it was still at.
	Busy int `json:"busy,omitempty"`
}

// Measured is what one side took, over all rounds.
type Measured struct {
	Name    string `json:"name"`
	Callers int    `json:"callers,omitempty"`
	// P50 and P99 are milliseconds a call; PerSecond, calls.
	P50       float64 `json:"p50_ms,omitempty"`
	P99       float64 `json:"p99_ms,omitempty"`
	PerSecond float64 `json:"per_second,omitempty"`
	// Value is anything else that was counted, in Unit.
	Value float64 `json:"value,omitempty"`
	Unit  string  `json:"unit,omitempty"`
}

// target is what a figure is to reach.
type target struct {
	bound float64
	// atLeast bounds from below; strict leaves the bound itself out.
	atLeast, strict bool
	unit            string
	// syncs is what fsync has to take, in microseconds, for a figure to tell something; 0: it does not depend on the disk.
	syncs float64
}

func atLeast(bound float64) target { return target{bound: bound, atLeast: true} }
func atMost(bound float64) target  { return target{bound: bound} }
func under(bound float64) target   { return target{bound: bound, strict: true} }

// in is the target with a unit.
func (t target) in(unit string) target {
	t.unit = unit
	return t
}

// onDisk is the target of a figure that tells nothing where fsync takes less than some microseconds.
func (t target) onDisk(syncs float64) target {
	t.syncs = syncs
	return t
}

func (t target) String() string {
	word := "at most"
	switch {
	case t.atLeast:
		word = "at least"
	case t.strict:
		word = "under"
	}
	s := fmt.Sprintf("%s %g", word, t.bound)
	if t.unit != "" {
		s += " " + t.unit
	}
	return s
}

// met is false of what is not a number.
func (t target) met(figure float64) bool {
	if t.atLeast {
		return figure >= t.bound
	}
	return figure < t.bound || figure == t.bound && !t.strict
}

// claim is what a figure is of, and its target. A row has its claims before it is measured.
type claim struct {
	what   string
	target target
}

// figure holds a value against a claim's target.
func figure(c claim, value float64, measured ...Measured) Figure {
	return Figure{What: c.what, Target: c.target.String(), Figure: value, Met: c.target.met(value), Measured: measured}
}

// ratios holds the median of paired ratios against a target.
func ratios(c claim, paired []float64, measured ...Measured) Figure {
	sorted := slices.Sorted(slices.Values(paired))
	f := figure(c, middle(sorted), measured...)
	f.Low, f.High = at(sorted, 0.25), at(sorted, 0.75)
	return f
}

// void is a figure that tells nothing.
func void(c claim, why string, measured ...Measured) Figure {
	return Figure{What: c.what, Target: c.target.String(), Void: true, Why: why, Measured: measured}
}

// voids are the figures of claims that all tell nothing, for one reason.
func voids(why string, claims ...claim) (figures []Figure) {
	for _, c := range claims {
		figures = append(figures, void(c, why))
	}
	return figures
}

// voided is f, void for a reason.
func (f Figure) voided(why string) Figure {
	f.Void, f.Met, f.Why = true, false, why
	return f
}

// at is the value so far into a sorted list; NaN of none.
func at[T ~int64 | ~float64](sorted []T, share float64) T {
	if len(sorted) == 0 {
		return T(math.NaN())
	}
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// middle is the median of a sorted list.
func middle(sorted []float64) float64 {
	if n := len(sorted); n > 0 && n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return at(sorted, 0.5)
}

func median(values []float64) float64 { return middle(slices.Sorted(slices.Values(values))) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
