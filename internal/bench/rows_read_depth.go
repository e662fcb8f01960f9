package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// What the figures of these rows are of.
var (
	tailReadTime   = claim{"one turn after its parent, at depth 10,000: time at depth 10", atMost(1.1)}
	turnTime       = claim{"time per turn, 10,000 turns against 1,000", atMost(1.1)}
	rawWalkSpeed   = claim{"stream of 1,000 turns: times as fast as a walk of parents, raw client", atLeast(4)}
	typedWalkSpeed = claim{"stream of 1,000 turns: times as fast as a walk of parents, typed client", atLeast(2)}
)

// tailRead holds what an agent asks for in the middle of a chat, what came after the turn before the last, at the end of
// 10,000 turns against the end of 10, on one server. Both replies are the same turn.
func tailRead(ctx context.Context, e *env) ([]Figure, error) {
	s, err := e.reading(ctx, nil, chain{"deep", 0, manyTurns}, chain{"shallow", manyTurns - fewTurns, fewTurns})
	if err != nil {
		return nil, err
	}
	read := func(name, alias string) (*side, error) {
		r, err := s.reader()
		if err != nil {
			return nil, err
		}
		before, err := s.parent(ctx, alias)
		return &side{name: name, callers: 1, call: func(ctx context.Context, _, _ int) error {
			return r.assemble(ctx, alias, before)
		}}, err
	}
	deep, err := read("10,000 turns", "deep")
	if err != nil {
		return nil, err
	}
	shallow, err := read("10 turns", "shallow")
	if err != nil {
		return nil, err
	}
	outcomes, err := e.contest(ctx, e.shorter(time.Second, 250*time.Millisecond), deep, shallow)
	if err != nil {
		return nil, err
	}
	return []Figure{e.versus(tailReadTime, outcomes[0], outcomes[1], (*sample).p50)}, nil
}

// parent is the id of the parent of the node that an alias points to.
func (s *server) parent(ctx context.Context, alias string) (string, error) {
	rpc, err := s.rpc()
	if err != nil {
		return "", err
	}
	node, err := rpc.GetNode(ctx, &transcriptv1.GetNodeRequest{Namespace: s.namespace, Node: byAlias(alias)})
	return node.GetInfo().GetEnvelope().GetParentId(), err
}

// readPerTurn holds a stream of 10,000 turns against one of 1,000, on one server with the caches that it has by default: a
// turn is to cost the same in either.
func readPerTurn(ctx context.Context, e *env) ([]Figure, error) {
	s, err := e.reading(ctx, nil, chain{"long", 0, manyTurns}, chain{"short", manyTurns, someTurns})
	if err != nil {
		return nil, err
	}
	read := func(name, alias string) (*side, error) {
		r, err := s.reader()
		return &side{name: name, callers: 1, call: func(ctx context.Context, _, _ int) error { return r.stream(ctx, alias) }}, err
	}
	long, err := read("10,000 turns", "long")
	if err != nil {
		return nil, err
	}
	short, err := read("1,000 turns", "short")
	if err != nil {
		return nil, err
	}
	outcomes, err := e.contest(ctx, e.shorter(time.Second, 300*time.Millisecond), long, short)
	if err != nil {
		return nil, err
	}
	paired := over(outcomes[0], outcomes[1], (*sample).p50)
	for i := range paired {
		paired[i] *= float64(someTurns) / manyTurns
	}
	return []Figure{ratios(turnTime, paired, outcomes[0].measured(), outcomes[1].measured())}, nil
}

// againstWalking holds a stream of 1,000 turns against a walk of parents, both asked by the SDK's client, first as it comes
// and then with all messages decoded. Both read from tables that are in the cache.
func againstWalking(ctx context.Context, e *env) ([]Figure, error) {
	c := chain{chainAlias, 0, someTurns}
	s, err := e.reading(ctx, nil, c)
	if err != nil {
		return nil, err
	}
	walk := s
	if s.process != nil {
		if walk, err = e.limit("walk"); err != nil {
			return nil, err
		}
		if _, err := walk.fill(ctx, c.alias, c.first, c.turns); err != nil {
			return nil, err
		}
	}
	sides := make([]*side, 0, 4)
	for t, by := range []string{", raw", ", typed"} {
		for i, of := range []*server{s, walk} {
			one, err := of.assembled([]string{"transcriptd", "a walk"}[i]+by, c, t == 1)
			if err != nil {
				return nil, err
			}
			one.limit = i == 1
			sides = append(sides, one)
		}
	}
	o, err := e.contest(ctx, e.shorter(time.Second, 250*time.Millisecond), sides...)
	if err != nil {
		return nil, err
	}
	return []Figure{
		e.versus(rawWalkSpeed, o[0], o[1], (*sample).perSecond),
		e.versus(typedWalkSpeed, o[2], o[3], (*sample).perSecond),
	}, nil
}

// assembled reads a chain with the SDK, and decodes its messages if it is to be typed.
func (s *server) assembled(name string, c chain, typed bool) (*side, error) {
	sdk, err := s.client()
	return &side{name: name, callers: 1, call: func(ctx context.Context, _, _ int) error {
		a, err := sdk.Assemble(ctx, client.ByAlias(c.alias), client.Query{})
		if err != nil || !typed {
			return err
		}
		messages, err := a.Messages()
		if err == nil && len(messages) != 4*c.turns {
			err = fmt.Errorf("%d messages came of %d turns", len(messages), c.turns)
		}
		return err
	}}, err
}
