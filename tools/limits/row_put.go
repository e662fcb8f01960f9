package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/turns"
	"github.com/transcriptd/transcriptd/tools/limits/internal/limit"
	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
)

var (
	putsBy64 = measure.AtLeast(0.6, "PutNode, 64 callers: throughput relative to a bare committer").OnDisk().
			Meaning("What ids, folds, counters and indexes cost beside bare bytes made durable.")
	putsBy256 = measure.AtLeast(0.6, "PutNode, 256 callers: throughput relative to a bare committer").OnDisk().
			Meaning("The same where more wait for each sync.")
	putAlone = measure.AtMost(1.5, "PutNode, 1 caller: time relative to an echo and a bare durable transaction").OnDisk().
			Meaning("One agent's put: a sync of the disk and a round trip.")
	putDeep = measure.AtMost(1.1, "PutNode behind 10,000 turns: time relative to one behind 10").OnDisk().
		Meaning("Appending costs the same at any depth.")
)

// manyPuts holds PutNode of many callers against the bare committer behind the same gRPC: the same payloads, as many callers' in a
// durable transaction, two keys a node, and nothing judged, hashed, indexed or looked up.
func manyPuts(ctx context.Context, e *env) (figures []measure.Figure, err error) {
	s, err := e.fresh()
	if err != nil {
		return nil, err
	}
	committer, err := e.limit(limit.Committer)
	if err != nil {
		return nil, err
	}
	for i, c := range []measure.Claim{putsBy64, putsBy256} {
		ours, err := s.puts("transcriptd", e.putters[i])
		if err != nil {
			return nil, err
		}
		bare, err := committer.puts("bare committer behind gRPC", e.putters[i])
		if err != nil {
			return nil, err
		}
		o, err := measure.Contest(ctx, e.rounds, e.round, ours, bare)
		if err != nil {
			return nil, err
		}
		figures = append(figures, measure.Versus(c, o[0], o[1], (*measure.Sample).Rate))
	}
	return figures, nil
}

// callersPerConnection is how many callers share a connection, on every side.
const callersPerConnection = 16

// puts are callers that each grow a chain.
func (s *server) puts(name string, callers int) (*measure.Side, error) {
	source := turns.NewSource(s.namespace)
	chains, rpcs := make([]*turns.Chain, callers), make([]transcriptv1.TranscriptServiceClient, callers)
	for i := range chains {
		chains[i] = source.Chain()
		if i%callersPerConnection > 0 {
			rpcs[i] = rpcs[i-1]
			continue
		}
		var err error
		if rpcs[i], err = s.rpc(); err != nil {
			return nil, err
		}
	}
	return &measure.Side{Name: name, Callers: callers, Rest: s.rest, Call: func(ctx context.Context, caller, _ int) error {
		_, err := chains[caller].Put(ctx, rpcs[caller])
		return err
	}}, nil
}

// lonePut holds one caller's PutNode against what it cannot do without: an echo, and then a durable Badger transaction of its payload
// in this process, so that the disk is asked as often as by puts: asked without a pause it answers sooner.
func lonePut(ctx context.Context, e *env) ([]measure.Figure, error) {
	s, err := e.fresh()
	if err != nil {
		return nil, err
	}
	ours, err := s.puts("transcriptd", 1)
	if err != nil {
		return nil, err
	}
	echo, err := e.limit(limit.Canned)
	if err != nil {
		return nil, err
	}
	bare, err := echo.puts("an echo and a transaction", 1)
	if err != nil {
		return nil, err
	}
	transaction, err := e.transaction()
	if err != nil {
		return nil, err
	}
	call := bare.Call
	bare.Call = func(ctx context.Context, caller, i int) error {
		if err := call(ctx, caller, i); err != nil {
			return err
		}
		return transaction()
	}
	bare.Rest = func(ctx context.Context) error { return e.rest(ctx, os.Getpid()) }
	o, err := measure.Contest(ctx, e.rounds, e.round, ours, bare)
	if err != nil {
		return nil, err
	}
	return []measure.Figure{measure.Versus(putAlone, o[0], o[1], (*measure.Sample).P50)}, nil
}

// transaction puts the payload of a turn into bare Badger with SyncWrites.
func (e *env) transaction() (func() error, error) {
	dir, err := e.folder()
	if err != nil {
		return nil, err
	}
	t, err := limit.OpenTransactions(dir)
	if err != nil {
		return nil, err
	}
	e.ends(t.Close)
	payload, err := proto.Marshal(&transcriptv1.Payload{Messages: turns.Turn(0)})
	return func() error { return t.Put(payload) }, err
}

// putAtDepth holds the time of a put behind a deep chain against that of one behind ten turns, by one caller, who puts at the one depth
// and at the other in turns. All chains were put to just before. A shallow chain takes a few puts and then another is begun.
func putAtDepth(ctx context.Context, e *env) ([]measure.Figure, error) {
	s, err := e.fresh()
	if err != nil {
		return nil, err
	}
	rpc, err := s.rpc()
	if err != nil {
		return nil, err
	}
	depths := []*measure.Outcome{
		{Side: &measure.Side{Name: "behind 10,000 turns"}}, {Side: &measure.Side{Name: "behind 10 turns"}},
	}
	deep, err := s.chains(ctx, rpc, e.deep)
	for round := 0; round < e.rounds && err == nil; round++ {
		var shallow []*turns.Chain
		if shallow, err = s.chains(ctx, rpc, few); err != nil {
			break
		}
		err = putInTurns(ctx, rpc, depths, [][]*turns.Chain{deep, shallow}, e.putsPerChain)
	}
	if err != nil {
		return nil, err
	}
	return []measure.Figure{measure.Versus(putDeep, depths[0], depths[1], (*measure.Sample).P50)}, nil
}

// chains puts as many chains as are put to, and one turn more to each.
func (s *server) chains(ctx context.Context, rpc transcriptv1.TranscriptServiceClient, n int) ([]*turns.Chain, error) {
	source, chains := turns.NewSource(s.namespace), make([]*turns.Chain, s.e.deepChains)
	for i := range chains {
		head, err := s.fill(ctx, "", s.e.seeds(n), n)
		if err != nil {
			return nil, err
		}
		chains[i] = source.Chain()
		chains[i].Head = head
		if _, err := chains[i].Put(ctx, rpc); err != nil {
			return nil, err
		}
	}
	return chains, nil
}

// putInTurns is a round of puts to chains of either depth.
func putInTurns(ctx context.Context, rpc transcriptv1.TranscriptServiceClient, depths []*measure.Outcome, chains [][]*turns.Chain, each int) error {
	samples := []*measure.Sample{{}, {}}
	for i := range each * len(chains[0]) {
		for k := range chains {
			at := (i + k) % len(chains) // in an order that changes
			began := time.Now()
			if _, err := chains[at][i/each].Put(ctx, rpc); err != nil {
				return fmt.Errorf("%s: %w", depths[at].Name, err)
			}
			samples[at].Took = append(samples[at].Took, time.Since(began))
		}
	}
	for i, s := range samples {
		for _, took := range s.Took {
			s.While += took
		}
		slices.Sort(s.Took)
		depths[i].Rounds = append(depths[i].Rounds, s)
	}
	return nil
}
