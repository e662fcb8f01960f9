package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// What the figures of these rows are of; see ofCommitter and ofTransactions too.
var (
	ofEcho      = claim{"PutNode, 64 callers: share of an echo's throughput", atLeast(0.5).onDisk(syncsAtAll)}
	lonePutTime = claim{"PutNode, 1 caller: time over that of an echo and a bare durable transaction", atMost(1.5).onDisk(syncsAtAll)}
)

// putsAgainstEcho holds 64 callers, each appending turns to a chain of its own, against the same requests to a server that
// answers at once with a reply of the same size: what gRPC on both sides takes, and no disk.
func putsAgainstEcho(ctx context.Context, e *env) ([]Figure, error) {
	puts, err := e.puts(ctx, 64)
	if err != nil {
		return nil, err
	}
	echo, err := e.limitPuts(ctx, "echo", "memory", 64)
	if err != nil {
		return nil, err
	}
	o, err := e.contest(ctx, e.shorter(2*time.Second, 500*time.Millisecond), puts, echo)
	if err != nil {
		return nil, err
	}
	return []Figure{e.versus(ofEcho, o[0], o[1], (*sample).perSecond)}, nil
}

// manyCallers are the numbers of callers that puts are held against bare things at.
var manyCallers = []int{64, 256}

// byCallers are the claims of a row about each of them.
func byCallers(of func(callers int) claim) (claims []claim) {
	for _, callers := range manyCallers {
		claims = append(claims, of(callers))
	}
	return claims
}

func ofCommitter(callers int) claim {
	return claim{fmt.Sprintf("PutNode, %d callers: share of the bare committer's throughput", callers), atLeast(0.6).onDisk(syncsAtAll)}
}

func ofTransactions(callers int) claim {
	targets := map[int]target{64: atLeast(3.5).onDisk(syncsSlowly), 256: atLeast(8).onDisk(syncsSlowly)}
	return claim{fmt.Sprintf("PutNode, %d callers: throughput over that of a transaction a node", callers), targets[callers]}
}

// putsAgainstCommitter holds PutNode against the bare committer behind the same gRPC: the same payloads, as many callers'
// in a durable transaction, two keys a node, and nothing judged, hashed, indexed or looked up. What the committer and a
// bare log do without gRPC, in this process, is shown beside it.
func putsAgainstCommitter(ctx context.Context, e *env) ([]Figure, error) {
	return e.putsAgainst(ctx, "committer", "bare committer behind gRPC",
		[]bare{{"bare committer, in process", openCommitter}, {"bare log, in process", openBareLog}},
		func(o []*outcome) Figure {
			return e.versus(ofCommitter(o[0].callers), o[0], o[1], (*sample).perSecond)
		})
}

// putsAgainstTransactions holds PutNode against what a service does that leaves durability to Badger: a transaction of two
// keys a node, committed by each call. What such transactions do without gRPC, in this process, is shown beside it.
func putsAgainstTransactions(ctx context.Context, e *env) ([]Figure, error) {
	return e.putsAgainst(ctx, "txn", "transaction a node behind gRPC",
		[]bare{{"transaction a node, in process", openTransactions}},
		func(o []*outcome) Figure {
			return e.versus(ofTransactions(o[0].callers), o[0], o[1], (*sample).perSecond)
		})
}

// bare is a bare thing in this process.
type bare struct {
	name string
	open func(dir string) (putter, error)
}

// putsAgainst measures transcriptd, a limit and bare things in this order, for each number of callers, and judges.
func (e *env) putsAgainst(ctx context.Context, kind, name string, beside []bare, judge func([]*outcome) Figure) (figures []Figure, err error) {
	server, err := e.transcriptd()
	if err != nil {
		return nil, err
	}
	against, err := e.putServer(kind)
	if err != nil {
		return nil, err
	}
	for _, callers := range manyCallers {
		sides := make([]*side, 2, 2+len(beside))
		if sides[0], err = e.putSide(ctx, "transcriptd", server, callers); err != nil {
			return nil, err
		}
		if sides[1], err = e.limitSide(ctx, name, against, callers); err != nil {
			return nil, err
		}
		for _, b := range beside {
			s, err := e.bareSide(b, callers)
			if err != nil {
				return nil, err
			}
			sides = append(sides, s)
		}
		o, err := e.contest(ctx, e.shorter(time.Second, 400*time.Millisecond), sides...)
		if err != nil {
			return nil, err
		}
		f := judge(o)
		for _, b := range o[2:] {
			if len(b.rounds) > 0 {
				f.Measured = append(f.Measured, b.measured())
			}
		}
		figures = append(figures, f)
	}
	return figures, nil
}

// lonePut holds one caller's PutNode against what it cannot do without: an echo, and then a durable Badger transaction of its
// payload in this process, one after the other, so that the disk is asked as often as by puts: asked without a pause it answers
// sooner. The ratio is that of the medians of each round. Beside it stands what it is where the two are measured apart and added,
// and what it is with a transaction that is synced once, as transcriptd's are; Badger's SyncWrites flushes the device twice.
func lonePut(ctx context.Context, e *env) ([]Figure, error) {
	sides, err := e.lonePutSides(ctx)
	if err != nil {
		return nil, err
	}
	o, err := e.contest(ctx, e.shorter(time.Second, 400*time.Millisecond), sides...)
	if err != nil {
		return nil, err
	}
	return []Figure{e.lonePutFigure(o)}, nil
}

// lonePutSides are transcriptd, an echo and a transaction that Badger syncs, an echo and one that is synced once, an echo, and a
// transaction that Badger syncs.
func (e *env) lonePutSides(ctx context.Context) ([]*side, error) {
	puts, err := e.puts(ctx, 1)
	if err != nil {
		return nil, err
	}
	twice, err := e.bareSide(bare{"transaction of a node, in process", openTransactions}, 1)
	if err != nil {
		return nil, err
	}
	once, err := e.bareSide(bare{"transaction synced once, in process", openDatabase}, 1)
	if err != nil {
		return nil, err
	}
	echo, err := e.limitPuts(ctx, "echo", "memory", 1)
	if err != nil {
		return nil, err
	}
	return []*side{puts, echo.and(twice), echo.and(once), echo, twice}, nil
}

// and is a side whose callers call one side and then the other.
func (s *side) and(then *side) *side {
	both := *then
	both.name = s.name + " and " + then.name
	if then.call != nil {
		both.call = func(ctx context.Context, caller, i int) error {
			if err := s.call(ctx, caller, i); err != nil {
				return err
			}
			return then.call(ctx, caller, i)
		}
	}
	return &both
}

// lonePutFigure is of the outcomes of lonePutSides.
func (e *env) lonePutFigure(o []*outcome) Figure {
	puts, twice, once := o[0], o[1], o[2]
	if len(twice.rounds) == 0 {
		return e.versus(lonePutTime, puts, twice, (*sample).p50)
	}
	over := func(limits ...*outcome) []float64 {
		paired := make([]float64, len(puts.rounds))
		for i := range paired {
			sum := 0.0
			for _, limit := range limits {
				sum += limit.rounds[i].p50()
			}
			paired[i] = puts.rounds[i].p50() / sum
		}
		return paired
	}
	measured := make([]Measured, 0, len(o)+2)
	for _, one := range o {
		measured = append(measured, one.measured())
	}
	return ratios(lonePutTime, over(twice), append(measured,
		Measured{Name: "time over that of an echo and a transaction synced once", Value: median(over(once)), Unit: "times"},
		Measured{Name: "time over that of an echo and a transaction measured apart, without pauses", Value: median(over(o[3:]...)), Unit: "times"})...)
}

// puts are callers of a transcriptd of their own.
func (e *env) puts(ctx context.Context, callers int) (*side, error) {
	s, err := e.transcriptd()
	if err != nil {
		return nil, err
	}
	return e.putSide(ctx, "transcriptd", s, callers)
}

// limitPuts are callers of a limit of their own.
func (e *env) limitPuts(ctx context.Context, name, kind string, callers int) (*side, error) {
	s, err := e.putServer(kind)
	if err != nil {
		return nil, err
	}
	return e.limitSide(ctx, name, s, callers)
}

// putServer starts a limit; nil beside a server elsewhere, where limits are not measured.
func (e *env) putServer(kind string) (*server, error) {
	if e.Remote != "" {
		return nil, nil
	}
	return e.limit(kind)
}

func (e *env) limitSide(ctx context.Context, name string, s *server, callers int) (*side, error) {
	if s == nil {
		return &side{name: name, limit: true, callers: callers}, nil
	}
	side, err := e.putSide(ctx, name, s, callers)
	if err == nil {
		side.limit = true
	}
	return side, err
}

// callersPerConnection is how many callers share a connection, on every side.
const callersPerConnection = 16

// putTurns is how many turns there are to put, made beforehand and put again and again, each below another parent and with another
// id of its call.
const putTurns = 256

func (e *env) turns() [][]*transcriptv1.Message {
	first := e.seeds(putTurns)
	all := make([][]*transcriptv1.Message, putTurns)
	for i := range all {
		all[i] = turn(first + uint64(i))
	}
	return all
}

// writers are callers that each append to a chain of their own, by the id that the last put answered.
type writers struct {
	namespace string
	rpcs      []transcriptv1.TranscriptServiceClient
	turns     [][]*transcriptv1.Message
	heads     []string
	// puts counts each caller's.
	puts []int
}

// writers puts a root for each caller, no two of which are the same.
func (e *env) writers(ctx context.Context, s *server, callers int) (*writers, error) {
	w := &writers{namespace: s.namespace, turns: e.turns(), heads: make([]string, callers), puts: make([]int, callers)}
	for range (callers + callersPerConnection - 1) / callersPerConnection {
		rpc, err := s.rpc()
		if err != nil {
			return nil, err
		}
		w.rpcs = append(w.rpcs, rpc)
	}
	for caller := range callers {
		if err := w.put(ctx, caller, nil, turn(e.seeds(1))); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// errNotCreated: what was to be measured is a put, not the repeat of one.
var errNotCreated = errors.New("a put found its node there")

func (w *writers) put(ctx context.Context, caller int, parent *transcriptv1.NodeRef, messages []*transcriptv1.Message) error {
	res, err := w.rpcs[caller/callersPerConnection].PutNode(ctx, &transcriptv1.PutNodeRequest{
		Namespace: w.namespace, Parent: parent, Messages: messages,
	})
	if err != nil {
		return err
	}
	if !res.Created {
		return errNotCreated
	}
	w.heads[caller] = res.NodeId
	return nil
}

// putSide are callers that append to chains on a server.
func (e *env) putSide(ctx context.Context, name string, s *server, callers int) (*side, error) {
	w, err := e.writers(ctx, s, callers)
	if err != nil {
		return nil, err
	}
	put := func(ctx context.Context, caller, i int) error {
		w.puts[caller]++
		return w.put(ctx, caller, byID(w.heads[caller]), withCall(w.turns[(caller+i)%putTurns], callOf(caller, w.puts[caller])))
	}
	return &side{name: name, callers: callers, call: put, settle: s.settled}, nil
}

// bareSide are callers that put the payloads of turns into a bare thing.
func (e *env) bareSide(b bare, callers int) (*side, error) {
	side := &side{name: b.name, limit: true, callers: callers}
	if e.Remote != "" {
		return side, nil
	}
	dir, err := e.folder("bare")
	if err != nil {
		return nil, err
	}
	p, err := b.open(dir)
	if err != nil {
		return nil, err
	}
	e.ends(p.Close)
	payloads := make([][]byte, putTurns)
	for i, messages := range e.turns() {
		if payloads[i], err = proto.Marshal(&transcriptv1.Payload{Messages: messages}); err != nil {
			return nil, err
		}
	}
	side.call = func(_ context.Context, caller, i int) error {
		_, err := p.put(payloads[(caller+i)%putTurns])
		return err
	}
	side.settle = func(ctx context.Context) error { return e.quiet(ctx, os.Getpid()) }
	return side, nil
}
