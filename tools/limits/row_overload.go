package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/transcriptd/transcriptd/tools/limits/internal/flood"
	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
)

var (
	goodput = measure.AtLeast(0.9, "puts served a second at twice saturation, relative to the peak").OnDisk().
		Meaning("Beyond what it can do, it does what it can, and says so to the others.")
	refusedClearly = measure.AtLeast(1, "puts refused with a clear status, of all that the server refused").
			Meaning("`OVERLOADED`: wait and repeat.")
	// Who is refused at once can wait and repeat; who hears nothing has lost all of the time that there was.
	silent = measure.AtMost(0.01, "puts without a status by their deadline, of all that were offered").
		Meaning("Who was let in and then waited its second for nothing.")
)

const (
	// offered is what a flood offers, in times of what was served lately, leastOffered what it has to be in most rounds: what can be
	// served varies. Else the figure tells nothing.
	offered, leastOffered = 2, 1.8
)

// isFlood tells what the loads of a round are, peaks or floods, in the order of Thue and Morse: what a store does next depends on what
// it did before, and in this order what comes back every two or four loads, as merges do, meets both kinds alike.
var isFlood = [...]bool{false, true, true, false, true, false, false, true}

// overload offers twice the puts a second that transcriptd can serve, on a clock that waits for nobody, and holds the puts that are
// served within their deadline, a second, against the peak: the most that it serves to callers who wait for each reply. At first some
// numbers of callers are tried, twice, and the number that was served most makes the peak. A flood offers twice the larger of what the
// last peak and the flood before were served.
//
// A round is four peaks and four floods; its share is the floods' mean over the peaks'. All begin once the store is at rest, all last
// as long, and the first while, in which queues fill, does not count.
//
// Who is not served is to be told so. A status that the server gives for it has to be clear, always. A put that has none by its deadline
// is counted by itself: its caller has waited for nothing.
func overload(ctx context.Context, e *env) ([]measure.Figure, error) {
	s, err := e.fresh()
	if err != nil {
		return nil, err
	}
	f, err := flood.New(s.process.Addr, s.namespace, "", e.deadline)
	if err != nil {
		return nil, err
	}
	e.ends(func() error {
		f.Close()
		return nil
	})
	o := &overloads{server: s, flood: f, refused: map[string]int{}}
	if err := o.saturate(ctx); err != nil {
		return nil, err
	}
	for range e.floods {
		if err := o.round(ctx); err != nil {
			return nil, err
		}
	}
	return o.figures(), nil
}

// overloads are the loads of one server.
type overloads struct {
	*server
	flood *flood.Flood
	// callers make the peak; lately is what was served a second in the last peak, and in the last flood.
	callers int
	lately  [2]float64
	// Of each round: the mean rate of puts served at the peak, offered in floods, and served in floods.
	peaks, offers, served []float64
	// Of all floods.
	refused                          map[string]int
	begun, unclear, silent, unserved int
	last                             [2]*flood.Tally
}

// saturate finds the number of callers that is served most, up and down: what comes first finds an empty store.
func (o *overloads) saturate(ctx context.Context) error {
	numbers, most := slices.Clone(o.e.saturating), 0.0
	for range 2 {
		for _, callers := range numbers {
			t, err := o.peak(ctx, callers)
			if err != nil {
				return err
			}
			o.e.note("%.0f a second with %d callers", t.Served.Rate(), callers)
			if t.Served.Rate() > most {
				o.callers, most = callers, t.Served.Rate()
			}
		}
		slices.Reverse(numbers)
	}
	if most == 0 {
		return errors.New("no put is served within its deadline")
	}
	o.lately = [2]float64{most, most}
	return nil
}

// peak is what callers get who wait for each reply.
func (o *overloads) peak(ctx context.Context, callers int) (*flood.Tally, error) {
	if err := o.rest(ctx); err != nil {
		return nil, err
	}
	return o.flood.Closed(ctx, callers, o.e.load)
}

// round measures its peaks and floods.
func (o *overloads) round(ctx context.Context) error {
	var peaks, offers, served []float64
	for _, isFlood := range isFlood {
		if !isFlood {
			t, err := o.peak(ctx, o.callers)
			if err != nil {
				return err
			}
			o.last[0], o.lately[0] = t, t.Served.Rate()
			peaks = append(peaks, t.Served.Rate())
			continue
		}
		if err := o.rest(ctx); err != nil {
			return err
		}
		t, err := o.flood.Open(ctx, offered*max(o.lately[0], o.lately[1]), o.e.load)
		if err != nil {
			return err
		}
		o.count(t)
		offers, served = append(offers, t.Offered()), append(served, t.Served.Rate())
	}
	o.peaks, o.offers = append(o.peaks, measure.Mean(peaks)), append(o.offers, measure.Mean(offers))
	o.served = append(o.served, measure.Mean(served))
	o.e.note("peaks %.0f a second, of %.0f offered %.0f were served", measure.Mean(peaks), measure.Mean(offers), measure.Mean(served))
	return nil
}

func (o *overloads) count(t *flood.Tally) {
	slices.Sort(t.Served.Took)
	o.last[1], o.lately[1] = t, t.Served.Rate()
	for how, n := range t.Refused {
		o.refused[how] += n
	}
	o.begun += t.Begun
	o.unclear += t.Unclear
	o.silent += t.Silent
	o.unserved += t.Unoffered
}

func (o *overloads) figures() []measure.Figure {
	var shares, times []float64
	for i, peak := range o.peaks {
		shares = append(shares, o.served[i]/peak)
		times = append(times, o.offers[i]/max(peak, o.served[i]))
	}
	slices.Sort(o.last[0].Served.Took)
	good := goodput.Median(shares,
		fmt.Sprintf("peaks by %d callers %.0f/s, floods offered %.0f/s, served %.0f/s", o.callers, measure.Mean(o.peaks), measure.Mean(o.offers), measure.Mean(o.served)),
		fmt.Sprintf("mean of all floods relative to the mean of all peaks: %.3g", measure.Mean(o.served)/measure.Mean(o.peaks)),
		fmt.Sprintf("served in the last peak: %s", &o.last[0].Served), fmt.Sprintf("served in the last flood: %s", &o.last[1].Served))
	if measure.Median(times) < leastOffered {
		good = good.Voided(fmt.Sprintf("%.2g times what was served was offered, less than %g; %d puts were not, since too many were under way",
			measure.Median(times), leastOffered, o.unserved))
	}
	refused, how := 0, []string{}
	for _, name := range slices.Sorted(maps.Keys(o.refused)) {
		refused += o.refused[name]
		how = append(how, fmt.Sprintf("%s: %d", name, o.refused[name]))
	}
	return []measure.Figure{
		good,
		refusedClearly.Figure(1-float64(o.unclear)/float64(max(1, refused)), how...),
		silent.Figure(float64(o.silent)/float64(max(1, o.begun)), fmt.Sprintf("%d of %d", o.silent, o.begun)),
	}
}
