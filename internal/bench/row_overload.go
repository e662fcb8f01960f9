package bench

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// saturating are the numbers of callers of which the best is the peak's.
var saturating = [...]int{16, 64, 256, 1024}

// mostSilent is the share of puts that may have no status by their deadline: who is refused at once can wait and repeat; who
// hears nothing has lost all of the time that there was.
const mostSilent = 0.01

// maxUnderWay bounds the puts under way, and so what this process keeps for them: each may last for its deadline.
const maxUnderWay = 1 << 16

// overload offers twice the puts a second that transcriptd can serve, on a clock that waits for nobody, and holds the puts
// that succeed within their deadline of a second, a second, against the most that it serves to callers who wait for each
// reply: 16, 64, 256 or 1,024 of them, whichever is best at first. A round is a peak, two floods, each of twice the better of
// the two peaks before it, and a peak. All last as long, the first second, while queues fill, does not count, and they begin
// once the store is done with what came before; still, what one has written may be merged while the next puts, and so either
// comes first once. Each put is a turn on a conversation of its own. Both loads come from connections that spend as little of
// the machine on it as they can (wire.go), for to offer costs work as well, and there are so many that no put waits in the
// client for another to end. A bystander, an ordinary client with one put at a time and a connection of its own, shows what a
// flood leaves to others.
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
	o := &overloads{e: e, f: f, refused: map[string]int{}, unanswered: map[string]int{}}
	if err := o.saturate(ctx); err != nil {
		return nil, err
	}
	for range (e.rounds() + 1) / 2 { // each is two
		if err := o.round(ctx); err != nil {
			return nil, err
		}
	}
	return o.figures(), nil
}

// errNothingServed: what the peak is cannot be said.
var errNothingServed = errors.New("no put is served within its deadline")

// overloads are the rounds of a flood.
type overloads struct {
	e *env
	f *flood
	// callers is how many gave the best peak at first; last is the peak before the present round.
	callers int
	last    *puts

	shares, peaks, offered, goods []float64
	// Of the puts at the peak, and of those served in the flood: milliseconds.
	peak50, peak99, flood50, flood99 []float64
	// Of all floods together, see puts; told are milliseconds.
	refused, unanswered       map[string]int
	begun, unclear, unoffered int
	told50, told99            []float64
	// Of the bystander: the share of its puts that succeeded, how many a second, and how long they took.
	served, servedPerSecond, served99 []float64
}

// while is how long a load lasts.
func (o *overloads) while() time.Duration { return o.e.shorter(3*time.Second, 2*time.Second) }

// saturate finds the number of callers that gives the peak.
func (o *overloads) saturate(ctx context.Context) error {
	for _, callers := range saturating {
		if err := o.f.connect(ctx, callers); err != nil {
			return err
		}
		now, err := o.peak(ctx, callers)
		if err != nil {
			return err
		}
		o.e.note("%.0f a second with %d callers", now.perSecond(), callers)
		if o.last == nil || now.perSecond() > o.last.perSecond() {
			o.last, o.callers = now, callers
		}
	}
	if len(o.last.took) == 0 {
		return errNothingServed
	}
	return nil
}

// peak is what so many callers get who wait for each reply.
func (o *overloads) peak(ctx context.Context, callers int) (*puts, error) {
	if err := o.f.s.settled(ctx); err != nil {
		return nil, err
	}
	return o.f.closed(ctx, callers, o.while()), ctx.Err()
}

// round measures the peak and the flood, twice each.
func (o *overloads) round(ctx context.Context) error {
	first, err := o.peak(ctx, o.callers)
	if err != nil {
		return err
	}
	rate := 2 * max(first.perSecond(), o.last.perSecond())
	var good float64
	for range 2 {
		flood, err := o.flood(ctx, rate)
		if err != nil {
			return err
		}
		good += flood.perSecond()
	}
	last, err := o.peak(ctx, o.callers)
	if err != nil {
		return err
	}
	peak := first.perSecond() + last.perSecond()
	if peak == 0 {
		return errNothingServed
	}
	o.last = last
	o.shares = append(o.shares, good/peak)
	o.addPeaks(first, last)
	o.e.note("peaks %.0f and %.0f a second; of %.0f offered %.0f were served in time", first.perSecond(), last.perSecond(), rate, good/2)
	return nil
}

// flood offers so many puts a second.
func (o *overloads) flood(ctx context.Context, rate float64) (*puts, error) {
	if err := o.f.connect(ctx, min(maxUnderWay, int(rate*callDeadline.Seconds()))); err != nil {
		return nil, err
	}
	if err := o.f.s.settled(ctx); err != nil {
		return nil, err
	}
	b, err := o.f.s.bystander(ctx)
	if err != nil {
		return nil, err
	}
	profiling, err := o.e.profile(ctx, o.while())
	flood := o.f.open(ctx, rate, o.while())
	if err := errors.Join(err, b.end(), profiling.stop(), ctx.Err()); err != nil {
		return nil, err
	}
	o.addFlood(flood)
	o.addBystander(b)
	return flood, nil
}

func (o *overloads) addPeaks(peaks ...*puts) {
	for _, p := range peaks {
		o.peaks = append(o.peaks, p.perSecond())
		o.peak50, o.peak99 = append(o.peak50, p.after(0.5)), append(o.peak99, p.after(0.99))
	}
}

func (o *overloads) addFlood(flood *puts) {
	o.flood50, o.flood99 = append(o.flood50, flood.after(0.5)), append(o.flood99, flood.after(0.99))
	o.offered = append(o.offered, float64(flood.begun)/o.while().Seconds())
	o.goods = append(o.goods, flood.perSecond())
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

func (o *overloads) addBystander(b *bystander) {
	slices.Sort(b.took)
	o.served = append(o.served, float64(len(b.took))/float64(b.calls))
	o.servedPerSecond = append(o.servedPerSecond, float64(len(b.took))/o.while().Seconds())
	if len(b.took) > 0 {
		o.served99 = append(o.served99, milliseconds(at(b.took, 0.99)))
	}
}

func (o *overloads) figures() []Figure {
	good := ratios("puts served a second at twice the load that it can serve, of the peak's", atLeast(0.9), o.shares,
		Measured{Name: "peak", Callers: o.callers, P50: median(o.peak50), P99: median(o.peak99), PerSecond: median(o.peaks)},
		Measured{Name: "offered", Value: median(o.offered), Unit: "a second"},
		Measured{Name: "served in time", Value: median(o.goods), Unit: "a second"},
		Measured{Name: "p50 of those", Value: median(o.flood50), Unit: "ms"},
		Measured{Name: "p99 of those", Value: median(o.flood99), Unit: "ms"},
		Measured{Name: "puts of a bystander that were served", Value: median(o.served), Unit: "of 1"},
		Measured{Name: "the same", Value: median(o.servedPerSecond), Unit: "a second"})
	if len(o.served99) > 0 {
		good.Measured = append(good.Measured, Measured{Name: "p99 of those", Value: median(o.served99), Unit: "ms"})
	}
	if o.unoffered > 0 {
		good = good.voided("so many puts were under way that less than twice the peak was offered")
	}
	return append(o.e.durable(false, good), o.clear(), o.silent())
}

// clear is how many of the server's refusals tell what they are.
func (o *overloads) clear() Figure {
	refused, share := total(o.refused), 1.0
	if refused > 0 {
		share = 1 - float64(o.unclear)/float64(refused)
	}
	f := figure("puts refused with a clear status, of all that the server refused", atLeast(1), share, counts(o.refused, "puts")...)
	if len(o.told50) > 0 {
		f.Measured = append(f.Measured, Measured{Name: "p50 of the time until a refusal", Value: median(o.told50), Unit: "ms"},
			Measured{Name: "p99 of that time", Value: median(o.told99), Unit: "ms"})
	}
	return f
}

// silent is how many puts had no status.
func (o *overloads) silent() Figure {
	return figure("puts without a status by their deadline, of all that were offered", atMost(mostSilent),
		float64(total(o.unanswered))/float64(max(1, o.begun)), counts(o.unanswered, "puts")...)
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

// bystander is a caller that puts one turn after the other, beside a flood.
type bystander struct {
	rpc  transcriptv1.TranscriptServiceClient
	all  *conversations
	stop context.CancelFunc
	done chan error
	// calls counts puts; took are the times of those that succeeded.
	calls int
	took  []time.Duration
}

// bystander begins to put on a connection of its own, until end.
func (s *server) bystander(ctx context.Context) (*bystander, error) {
	rpc, err := s.rpc()
	if err != nil {
		return nil, err
	}
	b := &bystander{
		rpc: rpc, all: newConversations(s.namespace, s.e.seeds(differentTurns), 1), done: make(chan error, 1),
	}
	ctx, b.stop = context.WithCancel(ctx)
	go func() {
		var err error
		for err == nil && (ctx.Err() == nil || b.calls == 0) {
			err = b.put(context.WithoutCancel(ctx))
		}
		b.done <- err
	}()
	return b, nil
}

// put puts a turn. What a flood does to it is counted; anything else is an error.
func (b *bystander) put(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	begin := time.Now()
	err := b.all.put(ctx, b.rpc, 0)
	b.calls++
	switch status.Code(err) {
	case codes.OK:
		b.took = append(b.took, time.Since(begin))
		return nil
	case codes.DeadlineExceeded, codes.ResourceExhausted, codes.Unavailable:
		return nil
	default:
		return err
	}
}

// end waits until the last put has ended.
func (b *bystander) end() error {
	b.stop()
	return <-b.done
}
