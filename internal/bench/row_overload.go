package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/client"
)

// saturating are the numbers of callers of which the best makes the peak.
var saturating = [...]int{16, 64, 256, 1024}

const (
	// offeredOver is what a flood offers, in times of what was served lately.
	offeredOver = 2
	// leastOffered is what it has to be in most rounds, in times of the peak and of what was served then: what can be served
	// varies. Else the figure is void.
	leastOffered = 1.8
)

// restlessFor is how long each load lasts where there is no rest between them.
const restlessFor = 8 * time.Second

// maxUnderWay bounds the puts under way, and so what this process keeps for them: each may last for its deadline.
const maxUnderWay = 1 << 16

// What the figures of this row are of.
var (
	putsServed = claim{"puts served a second at twice the load that it can serve, of the peak's", atLeast(0.9).onDisk(syncsAtAll)}
	putsClear  = claim{"puts refused with a clear status, of all that the server refused", atLeast(1)}
	// Who is refused at once can wait and repeat; who hears nothing has lost all of the time that there was.
	putsSilent = claim{"puts without a status by their deadline, of all that were offered", atMost(0.01)}
)

// overload offers twice the puts a second that transcriptd can serve, on a clock that waits for nobody, and holds the puts
// that succeed within their deadline of a second, a second, against the peak: the most that it serves to callers who wait for
// each reply. At first 16, 64, 256 and 1,024 callers are tried, twice, and the number that was served most makes the peak. A
// flood offers twice what was served most lately, at the peak or in the flood before.
//
// A round is four peaks and four floods; its share is the floods' mean over the peaks'. What a store does next depends on what it did
// before: tables are merged in the load that makes them enough, which then serves half of what others do, and that may come back every
// few loads. So they come in an order in which both kinds stand equally often in each place of two and of four (isFlood). What all
// floods were served, of what all peaks were, stands beside the median. All begin once the store is done with what came before, if it
// ever is and Options.Restless does not forbid it, all last as long, and the first second, while queues fill, does not count. Each put
// is a turn on a conversation of its own. Both loads come from connections that spend as little of the machine on it as they can
// (wire.go), for to offer costs work as well, and there are so many that no put waits in the client for another to end. A bystander
// (bystander.go) shows what a flood leaves to others.
//
// Who is not served is to be told so. A status that the server gives for it has to be clear (clearlyRefused), always. A put
// that has none by its deadline is no part of that: its caller has waited for nothing, and such puts are counted by
// themselves. Both count over the whole of the floods.
func overload(ctx context.Context, e *env) (figures []Figure, err error) {
	s, err := e.transcriptd()
	if err != nil {
		return nil, err
	}
	f, err := s.newFlood(maxUnderWay)
	if err != nil {
		return nil, err
	}
	o := newOverloads(e, f)
	if err := o.saturate(ctx); err != nil {
		return nil, err
	}
	for range e.fewer(7, 2) {
		if err := o.round(ctx); err != nil {
			return nil, err
		}
	}
	return o.figures(), nil
}

// errNothingServed: what the peak is cannot be said.
var errNothingServed = errors.New("no put is served within its deadline")

// nothingServed is errNothingServed with what callers were told instead; where they were told nothing at all, it is also the
// SDK's error of a call that has no answer.
func nothingServed(p *puts) error {
	if n := total(p.unanswered); n == p.begun {
		return fmt.Errorf("%w: %w", errNothingServed, &client.Error{
			Code: codes.DeadlineExceeded, Reason: client.ErrDeadlineExceeded, Message: fmt.Sprintf("none of %d puts has a status", n),
		})
	}
	return fmt.Errorf("%w: %d refused %v, %d without a status", errNothingServed, total(p.refused), slices.Sorted(maps.Keys(p.refused)), total(p.unanswered))
}

// overloads are the rounds of a flood.
type overloads struct {
	e *env
	f *flood
	// while is how long a load lasts.
	while time.Duration
	// callers make the peak; peaked and flooded are how many puts a second the last peak and the last flood were served.
	callers         int
	peaked, flooded float64
	// Of each round: puts a second that peaks were served, and that floods offered and were served in time.
	peaks, offers, served []float64
	// Of each peak: a second, and milliseconds.
	peakRates, peak50, peak99 []float64
	// Of each flood: a second, and of those served milliseconds.
	offered, goods, flood50, flood99 []float64
	// Of all floods together, see puts; told are milliseconds.
	refused, unanswered       map[string]int
	begun, unclear, unoffered int
	told50, told99            []float64
	// Of the bystander, in all of the time in which floods' good puts are counted, see bystander.
	counted time.Duration
	calls   int
	took    []time.Duration
}

func newOverloads(e *env, f *flood) *overloads {
	o := &overloads{
		e: e, f: f, while: e.shorter(3*time.Second, 2*time.Second), refused: map[string]int{}, unanswered: map[string]int{},
	}
	if e.Restless {
		o.while = restlessFor
	}
	return o
}

// rest waits until the store is done with what came before, if it may.
func (o *overloads) rest(ctx context.Context) error {
	if o.e.Restless {
		return nil
	}
	return o.f.s.settled(ctx)
}

// saturate finds the number of callers that is served most.
func (o *overloads) saturate(ctx context.Context) error {
	numbers, most := slices.Clone(saturating[:]), 0.0
	var last *puts
	for range 2 { // and back: what comes first finds an empty store
		for _, callers := range numbers {
			var err error
			if last, err = o.closed(ctx, callers); err != nil {
				return err
			}
			o.e.note("%.0f a second with %d callers", o.peaked, callers)
			if o.peaked > most {
				o.callers, most = callers, o.peaked
			}
		}
		slices.Reverse(numbers)
	}
	if o.peaked = most; most == 0 {
		return nothingServed(last)
	}
	return nil
}

// closed are puts of so many callers who wait for each reply.
func (o *overloads) closed(ctx context.Context, callers int) (*puts, error) {
	if err := o.f.connect(ctx, callers); err != nil {
		return nil, err
	}
	if err := o.rest(ctx); err != nil {
		return nil, err
	}
	now, err := o.f.closed(ctx, callers, o.while)
	o.peaked = now.perSecond()
	return now, err
}

// isFlood tells what the loads of a round are, in turn: in the order of Thue and Morse, in which what comes back every two loads or every
// four meets both kinds alike, and so does what grows from load to load.
var isFlood = [...]bool{false, true, true, false, true, false, false, true}

// round measures its peaks and floods.
func (o *overloads) round(ctx context.Context) error {
	for _, flood := range isFlood {
		load := o.peak
		if flood {
			load = o.flood
		}
		if err := load(ctx); err != nil {
			return err
		}
	}
	mean := func(all []float64) float64 { return meanOf(all[len(all)-len(isFlood)/2:]) }
	o.peaks, o.served, o.offers = append(o.peaks, mean(o.peakRates)), append(o.served, mean(o.goods)), append(o.offers, mean(o.offered))
	o.e.note("peaks %.0f a second, of %.0f offered %.0f were served in time", mean(o.peakRates), mean(o.offered), mean(o.goods))
	return nil
}

// peak measures what callers get who wait for each reply.
func (o *overloads) peak(ctx context.Context) error {
	now, err := o.closed(ctx, o.callers)
	if err != nil {
		return err
	}
	if o.peaked == 0 {
		return nothingServed(now)
	}
	o.peakRates, o.peak50, o.peak99 = append(o.peakRates, o.peaked), append(o.peak50, now.after(0.5)), append(o.peak99, now.after(0.99))
	return nil
}

// flood offers more than was served lately.
func (o *overloads) flood(ctx context.Context) error {
	rate := offeredOver * max(o.peaked, o.flooded)
	if err := o.f.connect(ctx, min(maxUnderWay, int(rate*callDeadline.Seconds()))); err != nil {
		return err
	}
	if err := o.rest(ctx); err != nil {
		return err
	}
	b, err := o.f.s.bystander(ctx)
	if err != nil {
		return err
	}
	profiling, err := o.e.profile(ctx, o.while)
	flood, fault := o.f.open(ctx, rate, o.while)
	if err := errors.Join(err, fault, b.end(), profiling.stop()); err != nil {
		return err
	}
	o.addFlood(flood)
	calls, took := b.between(flood.from, flood.to)
	o.counted, o.calls, o.took = o.counted+flood.to.Sub(flood.from), o.calls+calls, append(o.took, took...)
	return nil
}

func (o *overloads) addFlood(flood *puts) {
	o.flooded = flood.perSecond()
	o.flood50, o.flood99 = append(o.flood50, flood.after(0.5)), append(o.flood99, flood.after(0.99))
	o.offered = append(o.offered, float64(flood.begun)/o.while.Seconds())
	o.goods = append(o.goods, o.flooded)
	for how, n := range flood.refused {
		o.refused[how] += n
	}
	for why, n := range flood.unanswered {
		o.unanswered[why] += n
	}
	if len(flood.told) > 0 {
		o.told50 = append(o.told50, milliseconds(at(flood.told, 0.5)))
		o.told99 = append(o.told99, milliseconds(at(flood.told, 0.99)))
	}
	o.begun += flood.begun
	o.unclear += flood.unclear
	o.unoffered += flood.unoffered
}

func (o *overloads) figures() []Figure {
	var shares, times []float64
	for i, peak := range o.peaks {
		shares = append(shares, o.served[i]/peak)
		times = append(times, o.offers[i]/max(peak, o.served[i]))
	}
	good := ratios(putsServed, shares)
	good.Measured = append(good.Measured,
		Measured{Name: "peak", Callers: o.callers, P50: median(o.peak50), P99: median(o.peak99), PerSecond: median(o.peakRates)})
	good.Measured = append(good.Measured,
		Measured{Name: "offered in floods", Value: median(o.offered), Unit: "a second"},
		Measured{Name: "served in time in floods", Value: median(o.goods), Unit: "a second"},
		Measured{Name: "mean of all floods, of the mean of all peaks", Value: meanOf(o.goods) / meanOf(o.peakRates), Unit: "of 1"},
		Measured{Name: "offered, of the larger of the peak and what was served", Value: median(times), Unit: "times"},
		Measured{Name: "p50 of those served in time", Value: median(o.flood50), Unit: "ms"},
		Measured{Name: "p99 of those served in time", Value: median(o.flood99), Unit: "ms"})
	good.Measured = append(good.Measured, o.fair()...)
	if median(times) < leastOffered {
		good = good.voided(fmt.Sprintf("much less than twice the peak was offered; %d puts were not, since too many were under way", o.unoffered))
	}
	all := []Figure{good, o.clear(), o.silent()}
	if o.e.Restless {
		for i := range all {
			all[i] = all[i].voided("without rest, so what the table says is not asked of it")
		}
	}
	return all
}

// fair tells what the bystander got, beside what the floods did, of all of them together.
func (o *overloads) fair() []Measured {
	all := []Measured{
		{Name: "share of a flood's puts that were served", Value: meanOf(o.goods) / meanOf(o.offered), Unit: "of 1"},
		{Name: "share of a bystander's puts that were served", Value: float64(len(o.took)) / float64(max(1, o.calls)), Unit: "of 1"},
		{Name: "a bystander's puts served", Value: float64(len(o.took)) / o.counted.Seconds(), Unit: "a second"},
	}
	if slices.Sort(o.took); len(o.took) > 0 {
		all = append(all,
			Measured{Name: "p50 of a bystander's puts served", Value: milliseconds(at(o.took, 0.5)), Unit: "ms"},
			Measured{Name: "p99 of a bystander's puts served", Value: milliseconds(at(o.took, 0.99)), Unit: "ms"})
	}
	return all
}

// clear is how many of the server's refusals tell what they are.
func (o *overloads) clear() Figure {
	refused, share := total(o.refused), 1.0
	if refused > 0 {
		share = 1 - float64(o.unclear)/float64(refused)
	}
	f := figure(putsClear, share, counts(o.refused, "puts")...)
	if len(o.told50) > 0 {
		f.Measured = append(f.Measured, Measured{Name: "p50 of the time until a refusal", Value: median(o.told50), Unit: "ms"},
			Measured{Name: "p99 of that time", Value: median(o.told99), Unit: "ms"})
	}
	return f
}

// silent is how many puts had no status.
func (o *overloads) silent() Figure {
	return figure(putsSilent, float64(total(o.unanswered))/float64(max(1, o.begun)), counts(o.unanswered, "puts")...)
}

func total(counted map[string]int) (n int) {
	for _, some := range counted {
		n += some
	}
	return n
}

// counts are what was counted, by name.
func counts(counted map[string]int, unit string) (all []Measured) {
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		all = append(all, Measured{Name: name, Value: float64(counted[name]), Unit: unit})
	}
	return all
}
