package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The chains that row 13 appends to.
const (
	deepTurns    = 10_000
	shallowTurns = 10
	// putsPerRound are put at each depth in each round, putsPerChain of them one behind the other.
	putsPerRound = 60
	putsPerChain = 10
)

// What the figures of this row are of.
var (
	deepPutTime  = claim{"PutNode behind 10,000 turns: time over that behind 10", atMost(1.1).onDisk(syncsAtAll)}
	deepPutWork  = claim{"engine reads and writes a put behind 10,000 turns, less those behind 10", atMost(0)}
	deepPutStart = claim{"the same, the first put after a start", atMost(0)}
)

// putAtDepth holds the time of a put behind 10,000 turns against that of one behind 10, on one server and by one caller,
// who puts at the one depth and at the other in turns. Both continue their chain, with turns whose calls have new ids, as those of
// models have, and both chains were put to just before: by the turn above, or by one that is not measured. A shallow chain takes ten puts and then another is
// begun, so that it stays shallow. The second figure is the difference of what the engine reads and writes a put,
// counted by transcriptd itself, over as many puts; the third the same right after transcriptd was started again, of a
// chain's first put.
func putAtDepth(ctx context.Context, e *env) ([]Figure, error) {
	s, err := e.transcriptd()
	if err != nil {
		return nil, err
	}
	d, err := e.depths(ctx, s)
	if err != nil {
		return nil, err
	}
	for range e.rounds() {
		if err := d.round(ctx); err != nil {
			return nil, err
		}
	}
	if err := e.profileSide(ctx, d.putting()); err != nil {
		return nil, err
	}
	figures := []Figure{e.versus(deepPutTime, d.deep.outcome, d.shallow.outcome, (*sample).p50)}
	if e.Remote != "" {
		return append(figures, voids(errNotOurs.Error(), deepPutWork, deepPutStart)...), nil
	}
	warm, err := d.counted(ctx, deepPutWork, putsPerChain)
	if err != nil {
		return nil, err
	}
	cold, err := d.countedAfterStart(ctx)
	return append(figures, warm, cold), err
}

// depths are chains of two depths and what putting to them took.
type depths struct {
	s             *server
	rpc           transcriptv1.TranscriptServiceClient
	deep, shallow *depth
}

// depth is chains of one depth.
type depth struct {
	turns int
	heads []string
	*outcome
}

// depths puts the chains: of the deep ones as many as a round puts to, where the run is quick two.
func (e *env) depths(ctx context.Context, s *server) (*depths, error) {
	rpc, err := s.rpc()
	if err != nil {
		return nil, err
	}
	d := &depths{
		s: s, rpc: rpc,
		deep:    &depth{turns: deepTurns, outcome: &outcome{side: &side{name: "behind 10,000 turns", callers: 1}}},
		shallow: &depth{turns: shallowTurns, outcome: &outcome{side: &side{name: "behind 10 turns", callers: 1}}},
	}
	chains := putsPerRound / putsPerChain
	if e.Quick {
		chains = 2
	}
	return d, d.begin(ctx, d.deep, chains)
}

// begin puts new chains in place of those that a depth has.
func (d *depths) begin(ctx context.Context, at *depth, chains int) error {
	at.heads = make([]string, chains)
	for i := range at.heads {
		var err error
		alias := fmt.Sprintf("depth/%d/%d", at.turns, i)
		if at.heads[i], err = d.s.fill(ctx, alias, d.s.e.seeds(at.turns), at.turns); err != nil {
			return err
		}
	}
	return nil
}

// put appends a turn to a chain, and tells how long the call took.
func (d *depths) put(ctx context.Context, at *depth, chain int) (took time.Duration, err error) {
	messages := turn(d.s.e.seeds(1))
	begin := time.Now()
	res, err := d.rpc.PutNode(ctx, &transcriptv1.PutNodeRequest{
		Namespace: d.s.namespace, Parent: byID(at.heads[chain]), Messages: messages,
	})
	if err != nil {
		return 0, err
	}
	if !res.Created {
		return 0, errNotCreated
	}
	at.heads[chain] = res.NodeId
	return time.Since(begin), nil
}

// round begins new shallow chains, puts to all once, and then measures puts at both depths in turns.
func (d *depths) round(ctx context.Context) error {
	if err := d.begin(ctx, d.shallow, len(d.deep.heads)); err != nil {
		return err
	}
	both := []*depth{d.deep, d.shallow}
	samples := map[*depth]*sample{d.deep: {}, d.shallow: {}}
	for chain := range d.deep.heads {
		for _, at := range both {
			if _, err := d.put(ctx, at, chain); err != nil {
				return err
			}
		}
	}
	for i := range putsPerRound {
		slices.Reverse(both)
		for _, at := range both {
			took, err := d.put(ctx, at, i/putsPerChain%len(at.heads))
			if err != nil {
				return err
			}
			samples[at].took, samples[at].while = append(samples[at].took, took), samples[at].while+took
		}
	}
	for _, at := range both {
		slices.Sort(samples[at].took)
		at.rounds = append(at.rounds, samples[at])
	}
	return nil
}

// putting is the caller at the larger depth, for profiles.
func (d *depths) putting() *side {
	return &side{name: d.deep.name, callers: 1, calls: make([]int, 1), call: func(ctx context.Context, _, i int) error {
		_, err := d.put(ctx, d.deep, i%len(d.deep.heads))
		return err
	}}
}

// engineWork are what the engine counts of its reads and writes, in the order in which they are shown.
var engineWork = []string{engineGets, engineSeeks, engineNexts, engineSets}

// counted holds what the engine does for puts at both depths against each other; each chain gets so many.
func (d *depths) counted(ctx context.Context, c claim, putsEach int) (Figure, error) {
	work := map[*depth][]float64{}
	for _, at := range []*depth{d.deep, d.shallow} {
		grown, err := d.s.grown(ctx, engineWork, func() error {
			for i := range putsEach * len(at.heads) {
				if _, err := d.put(ctx, at, i/putsEach); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return Figure{}, err
		}
		work[at] = grown
	}
	var (
		most     float64
		measured []Measured
		puts     = float64(putsEach * len(d.deep.heads))
	)
	for i, unit := range []string{"gets a put", "seeks a put", "steps a put", "keys written a put"} {
		deep, shallow := work[d.deep][i]/puts, work[d.shallow][i]/puts
		most = max(most, math.Abs(deep-shallow))
		measured = append(measured,
			Measured{Name: d.deep.name, Value: deep, Unit: unit}, Measured{Name: d.shallow.name, Value: shallow, Unit: unit})
	}
	return figure(c, most, measured...), nil
}

// countedAfterStart is counted of the first put to each chain after transcriptd was stopped and started again.
func (d *depths) countedAfterStart(ctx context.Context) (f Figure, err error) {
	if err := d.begin(ctx, d.shallow, len(d.deep.heads)); err != nil {
		return f, err
	}
	if err := d.s.stop(); err != nil {
		return f, err
	}
	if err := d.s.start(); err != nil {
		return f, err
	}
	if d.rpc, err = d.s.rpc(); err != nil {
		return f, err
	}
	// What is read once after a start, such as the namespace's number, belongs to neither depth.
	if _, err := d.s.fill(ctx, "depth/first", d.s.e.seeds(1), 1); err != nil {
		return f, err
	}
	return d.counted(ctx, deepPutStart, 1)
}
