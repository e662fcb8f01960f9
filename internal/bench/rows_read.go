package bench

import (
	"context"
	"time"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// What the figures of these rows are of.
var (
	secondReadSpeed = claim{"stream of 1,000 turns read before: speed of ready bytes", atLeast(0.85)}
	longReadSpeed   = claim{"stream of 10,000 turns (35 MB, cache of 32 MiB): speed of ready bytes", atLeast(0.75)}
	firstReadSpeed  = claim{"first stream of 1,000 turns after opening: speed of ready bytes", atLeast(0.4)}
	unaryReadSpeed  = claim{"one reply of 1,000 turns: speed of ready bytes", atLeast(0.8)}
	shortReadTime   = claim{"one reply of 10 turns: time of an echo of that size", atMost(1.5)}
)

// chainAlias is the alias of the chain that a row reads.
const chainAlias = "chain"

// How many turns the chains of the read rows have.
const (
	fewTurns  = 10
	someTurns = 1_000
	manyTurns = 10_000
)

// secondRead holds a stream of 1,000 turns against the same frames out of memory. The chain is in compressed tables, since
// the store was closed after it was put, and in the database's cache, since it was read before.
func secondRead(ctx context.Context, e *env) ([]Figure, error) {
	return e.streams(ctx, secondReadSpeed, someTurns)
}

// longRead is secondRead of a chain that does not fit into the cache: transcriptd has 32 MiB of cache for everything, and
// the chain takes 35 MB.
func longRead(ctx context.Context, e *env) ([]Figure, error) {
	return e.streams(ctx, longReadSpeed, manyTurns, "--cache-mib=32")
}

// streams holds StreamAssemble of a chain against the limit in memory.
func (e *env) streams(ctx context.Context, c claim, turns int, flags ...string) ([]Figure, error) {
	read := func(ctx context.Context, r *reader) error { return r.stream(ctx, chainAlias) }
	return e.againstReady(ctx, c, turns, (*sample).perSecond, transcriptv1.TranscriptService_StreamAssemble_FullMethodName, read, flags...)
}

// unaryRead holds the whole chain of 1,000 turns in one reply against the same reply out of memory.
func unaryRead(ctx context.Context, e *env) ([]Figure, error) {
	return e.unary(ctx, unaryReadSpeed, someTurns, (*sample).perSecond)
}

// shortRead holds what an agent asks for at the beginning of a chat, 10 turns in one reply, against an echo: a request and a
// reply of the same sizes, the latter out of memory.
func shortRead(ctx context.Context, e *env) ([]Figure, error) {
	return e.unary(ctx, shortReadTime, fewTurns, (*sample).p50)
}

// unary holds Assemble of a chain against the limit in memory.
func (e *env) unary(ctx context.Context, c claim, turns int, of func(*sample) float64) ([]Figure, error) {
	read := func(ctx context.Context, r *reader) error { return r.assemble(ctx, chainAlias, "") }
	return e.againstReady(ctx, c, turns, of, transcriptv1.TranscriptService_Assemble_FullMethodName, read)
}

// againstReady holds reads of a chain of turns by an rpc against what the limit in memory answers to it, by a lone raw
// client.
func (e *env) againstReady(
	ctx context.Context, c claim, turns int, of func(*sample) float64,
	method string, read func(context.Context, *reader) error, flags ...string,
) ([]Figure, error) {
	s, err := e.reading(ctx, flags, chain{chainAlias, 0, turns})
	if err != nil {
		return nil, err
	}
	ready, err := s.ready(ctx, method)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := readers(s, ready)
	if err != nil {
		return nil, err
	}
	by := func(name string, r *reader) *side {
		return &side{name: name, callers: 1, call: func(ctx context.Context, _, _ int) error { return read(ctx, r) }}
	}
	return e.against(ctx, c, time.Second, of, by("transcriptd", ours), by("ready bytes", theirs))
}

// against is one figure of transcriptd and a limit.
func (e *env) against(ctx context.Context, c claim, while time.Duration, of func(*sample) float64, ours, theirs *side) ([]Figure, error) {
	theirs.limit = true
	outcomes, err := e.contest(ctx, e.shorter(while, while/4), ours, theirs)
	if err != nil {
		return nil, err
	}
	return []Figure{e.versus(c, outcomes[0], outcomes[1], of)}, nil
}

// firstRead holds the first stream of 1,000 turns after transcriptd has opened its store, with nothing in the database's
// cache and nothing asked before on a connection that stands, against the limit's frames, asked for again and again. The
// files are in the system's cache.
func firstRead(ctx context.Context, e *env) ([]Figure, error) {
	s, err := e.reading(ctx, nil, chain{chainAlias, 0, someTurns})
	if err != nil {
		return nil, err
	}
	if s.process == nil {
		return voids(errNotOurs.Error(), firstReadSpeed), nil
	}
	ready, err := s.ready(ctx, transcriptv1.TranscriptService_StreamAssemble_FullMethodName)
	if err != nil {
		return nil, err
	}
	theirs, err := ready.reader()
	if err != nil {
		return nil, err
	}
	limit := &side{name: "ready bytes", callers: 1, calls: make([]int, 1), call: func(ctx context.Context, _, _ int) error {
		return theirs.stream(ctx, chainAlias)
	}}
	first := &outcome{side: &side{name: "transcriptd", callers: 1}}
	warm := &outcome{side: limit}
	for range e.rounds() {
		opened, err := s.firstReads(ctx, 3)
		if err != nil {
			return nil, err
		}
		again, err := limit.work(ctx, e.shorter(500*time.Millisecond, 200*time.Millisecond))
		if err != nil {
			return nil, err
		}
		first.rounds, warm.rounds = append(first.rounds, opened), append(warm.rounds, again)
	}
	if err := s.profileFirstReads(ctx, e.fewer(60, 3)); err != nil {
		return nil, err
	}
	return []Figure{e.versus(firstReadSpeed, first, warm, (*sample).perSecond)}, nil
}
