package bench

import (
	"fmt"
	"math"
	"slices"
)

// mostOf is the most anonymous memory, in bytes.
func mostOf(memory []residence) (most float64) {
	for _, r := range memory {
		most = max(most, float64(r.anonymous))
	}
	return most
}

// halves are the first half and the second.
func (l *load) halves() (first, second []residence) {
	return l.memory[:len(l.memory)/2], l.memory[len(l.memory)/2:]
}

// growth is that of anonymous memory in the second half, in bytes a minute.
func (l *load) growth() float64 {
	_, second := l.halves()
	return 60 * slopeOf(anonymous(second))
}

// growthError is the standard error of growth, in bytes a minute, and whether there are enough blocks to tell. It is that of
// a line through the means of blocks: of values a second apart, each says nearly what the one before said.
func (l *load) growthError() (bytes float64, known bool) {
	_, second := l.halves()
	var means []float64
	for block := range slices.Chunk(anonymous(second), blockSeconds) {
		if len(block) == blockSeconds {
			means = append(means, meanOf(block))
		}
	}
	return 60.0 / blockSeconds * slopeError(means), len(means) > 2
}

func anonymous(memory []residence) (bytes []float64) {
	for _, r := range memory {
		bytes = append(bytes, float64(r.anonymous))
	}
	return bytes
}

func meanOf(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// slopeOf is the slope of the line of least squares through values at 0, 1, 2, …; 0 of less than two.
func slopeOf(values []float64) float64 {
	middle := float64(len(values)-1) / 2
	var above, below float64
	for i, v := range values {
		x := float64(i) - middle
		above, below = above+x*v, below+x*x
	}
	if below == 0 {
		return 0
	}
	return above / below
}

// slopeError is the standard error of slopeOf, of values that depend on each other by nothing but the line; 0 of less than
// three.
func slopeError(values []float64) float64 {
	n := float64(len(values))
	if n < 3 {
		return 0
	}
	slope, mean := slopeOf(values), meanOf(values)
	var squares, below float64
	for i, v := range values {
		x := float64(i) - (n-1)/2
		off := v - mean - slope*x
		squares, below = squares+off*off, below+x*x
	}
	return math.Sqrt(squares / (n - 2) / below)
}

func (l *load) measured() []Measured {
	var all int64
	for _, r := range l.memory {
		all = max(all, r.all)
	}
	_, second := l.halves()
	return append(l.sides,
		mebibytes("anonymous at the start", float64(l.memory[0].anonymous)),
		mebibytes("anonymous in the second half, mean", meanOf(anonymous(second))),
		mebibytes("resident at most, mapped files too", float64(all)))
}

// worth is what tells whether the growth is more than ups and downs.
func (l *load) worth() (all []Measured) {
	if off, known := l.growthError(); known {
		all = append(all, Measured{
			Name: fmt.Sprintf("standard error of that, from means of %d s", blockSeconds), Value: off / (1 << 20), Unit: "MiB/min",
		})
	}
	first, second := l.halves()
	return append(all,
		mebibytes("the most in the first half", mostOf(first)), mebibytes("the most in the second half", mostOf(second)))
}

func mebibytes(name string, bytes float64) Measured {
	return Measured{Name: name, Value: bytes / (1 << 20), Unit: "MiB"}
}
