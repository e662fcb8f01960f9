package main

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/tools/limits/internal/limit"
	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
	"github.com/transcriptd/transcriptd/tools/limits/internal/raw"
)

var (
	streamed = measure.AtLeast(0.85, "stream of 1,000 turns read before: throughput relative to canned replies").
			Meaning("An agent that asks for its whole chain before each model call pays for gRPC, hardly for the store.")
	assembled = measure.AtLeast(0.8, "one reply of 1,000 turns: throughput relative to canned replies").
			Meaning("The same in one reply, up to 4 MiB.")
	shortAssembled = measure.AtMost(1.5, "one reply of 10 turns: time relative to an echo of that size").
			Meaning("A new chat: what every call costs beside its bytes.")
	tailAssembled = measure.AtMost(1.1, "one turn after its parent, at depth 10,000: time relative to depth 10").
			Meaning("`after_id` costs the same however long the chat is: this is how to follow a chain.")
	walkedRaw = measure.AtLeast(4, "stream of 1,000 turns: times as fast as a walk of parents").
			Meaning("What segments are for: the same chain, walked from parent to parent, takes so many times as long.")
	walkedDecoded = measure.AtLeast(2, "stream of 1,000 turns: times as fast as a walk of parents, messages decoded").
			Meaning("The same for a client that looks at all messages.")
)

// few is the length of short chains.
const few = 10

// streamRead holds a stream of a chain against the same frames out of memory. The chain is in compressed tables, since the store
// was closed after it was put, and in caches, since it was read before.
func streamRead(ctx context.Context, e *env) ([]measure.Figure, error) {
	return e.againstCanned(ctx, streamed, e.chain, (*measure.Sample).Rate, func(ctx context.Context, r *raw.Reader) (n int, err error) {
		err = r.Stream(ctx, raw.ByAlias(alias), func(frame []byte) { n += len(frame) })
		return n, err
	})
}

// unaryRead is the same in one reply.
func unaryRead(ctx context.Context, e *env) ([]measure.Figure, error) {
	return e.againstCanned(ctx, assembled, e.chain, (*measure.Sample).Rate, assemble)
}

// shortRead holds what an agent asks for at the beginning of a chat against an echo: a request and a reply of the same sizes.
func shortRead(ctx context.Context, e *env) ([]measure.Figure, error) {
	return e.againstCanned(ctx, shortAssembled, few, (*measure.Sample).P50, assemble)
}

func assemble(ctx context.Context, r *raw.Reader) (int, error) {
	reply, err := r.Assemble(ctx, raw.ByAlias(alias), "")
	return len(reply), err
}

// alias is the alias of the chain that a row reads.
const alias = "chain"

// againstCanned holds reads of a chain by a lone raw client against what the canned limit answers.
func (e *env) againstCanned(
	ctx context.Context, c measure.Claim, turns int, of func(*measure.Sample) float64, read func(context.Context, *raw.Reader) (int, error),
) ([]measure.Figure, error) {
	s, err := e.fresh()
	if err != nil {
		return nil, err
	}
	if _, err := s.fill(ctx, alias, 0, turns); err != nil {
		return nil, err
	}
	if err := s.restart(); err != nil {
		return nil, err
	}
	canned, err := e.limit(limit.Canned, s.process.Addr, s.namespace, alias)
	if err != nil {
		return nil, err
	}
	sides, size := make([]*measure.Side, 2), 0
	for i, of := range []*server{s, canned} {
		r, err := of.reader()
		if err != nil {
			return nil, err
		}
		sides[i] = &measure.Side{Name: []string{"transcriptd", "canned replies"}[i], Callers: 1, Call: func(ctx context.Context, _, _ int) error {
			n, err := read(ctx, r)
			if err != nil {
				return err
			}
			return raw.SameSize(&size, n)
		}}
	}
	o, err := measure.Contest(ctx, e.rounds, e.round, sides...)
	if err != nil {
		return nil, err
	}
	return []measure.Figure{measure.Versus(c, o[0], o[1], of)}, nil
}

// tailRead holds what an agent asks for in the middle of a chat, what came after the turn before the last, at the end of a deep chain
// against the end of a short one, on one server. Both replies are the same turn.
func tailRead(ctx context.Context, e *env) ([]measure.Figure, error) {
	s, err := e.fresh()
	if err != nil {
		return nil, err
	}
	chains := []struct {
		alias string
		turns int
	}{{"deep", e.deep}, {"shallow", few}}
	for _, c := range chains {
		if _, err := s.fill(ctx, c.alias, uint64(e.deep-c.turns), c.turns); err != nil {
			return nil, err
		}
	}
	if err := s.restart(); err != nil {
		return nil, err
	}
	var sides []*measure.Side
	for _, c := range chains {
		side, err := s.tail(ctx, fmt.Sprintf("%d turns", c.turns), c.alias)
		if err != nil {
			return nil, err
		}
		sides = append(sides, side)
	}
	o, err := measure.Contest(ctx, e.rounds, e.round, sides...)
	if err != nil {
		return nil, err
	}
	return []measure.Figure{measure.Versus(tailAssembled, o[0], o[1], (*measure.Sample).P50)}, nil
}

// tail asks for the last turn of a chain.
func (s *server) tail(ctx context.Context, name, alias string) (*measure.Side, error) {
	sdk, err := s.sdk()
	if err != nil {
		return nil, err
	}
	node, err := sdk.NodeInfo(ctx, client.ByAlias(alias))
	if err != nil {
		return nil, err
	}
	r, err := s.reader()
	after, size := node.GetInfo().GetEnvelope().GetParentId(), 0
	return &measure.Side{Name: name, Callers: 1, Call: func(ctx context.Context, _, _ int) error {
		reply, err := r.Assemble(ctx, raw.ByAlias(alias), after)
		if err != nil {
			return err
		}
		return raw.SameSize(&size, len(reply))
	}}, err
}

// againstWalk holds a stream of a chain against a walk of parents, both asked by the SDK's client, as it comes and with all messages
// decoded. Both read from tables that are in the cache.
func againstWalk(ctx context.Context, e *env) ([]measure.Figure, error) {
	s, err := e.fresh()
	if err != nil {
		return nil, err
	}
	walk, err := e.limit(limit.Walk)
	if err != nil {
		return nil, err
	}
	for _, to := range []*server{s, walk} {
		if _, err := to.fill(ctx, alias, 0, e.chain); err != nil {
			return nil, err
		}
	}
	if err := s.restart(); err != nil {
		return nil, err
	}
	var sides []*measure.Side
	for _, decoded := range []bool{false, true} {
		for i, of := range []*server{s, walk} {
			side, err := of.assembled(fmt.Sprintf("%s, decoded %t", []string{"transcriptd", "a walk"}[i], decoded), decoded)
			if err != nil {
				return nil, err
			}
			sides = append(sides, side)
		}
	}
	o, err := measure.Contest(ctx, e.rounds, e.round, sides...)
	if err != nil {
		return nil, err
	}
	return []measure.Figure{
		measure.Versus(walkedRaw, o[0], o[1], (*measure.Sample).Rate), measure.Versus(walkedDecoded, o[2], o[3], (*measure.Sample).Rate),
	}, nil
}

// assembled reads the chain with the SDK.
func (s *server) assembled(name string, decoded bool) (*measure.Side, error) {
	sdk, err := s.sdk()
	return &measure.Side{Name: name, Callers: 1, Call: func(ctx context.Context, _, _ int) error {
		a, err := sdk.Assemble(ctx, client.ByAlias(alias), client.Query{})
		if err != nil || !decoded {
			return err
		}
		messages, err := a.Messages()
		if err == nil && len(messages) != 4*s.e.chain {
			err = fmt.Errorf("%d messages came of %d turns", len(messages), s.e.chain)
		}
		return err
	}}, err
}
