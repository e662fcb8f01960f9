package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Retry is how a call that may be repeated is. It is a loop around the call, neither gRPC's service config nor an
// interceptor, because both choose by method: whether a PutNode may be sent twice lies in its request, and the result
// has to tell that it was.
type Retry struct {
	// Attempts is how often a call is sent at most; 1: never again.
	Attempts int
	// First is about the pause after the first attempt; each further one doubles it, up to Max. Pauses are drawn between
	// half of that and all of it.
	First, Max time.Duration
}

// run calls attempt until it succeeds, fails for good or may not be repeated. It gives up at once where the pause would
// outlast the deadline. It tells how often it tried.
func (r Retry) run(ctx context.Context, may func(error) bool, attempt func() error) (attempts int, err error) {
	for n := 1; ; n++ {
		err := Typed(attempt())
		if err == nil || n >= r.Attempts || !may(err) || !r.pause(ctx, n) {
			return n, err
		}
	}
}

// pause waits after the nth attempt; false: the context ends before.
func (r Retry) pause(ctx context.Context, n int) bool {
	limit := r.Max
	if shift := min(n-1, 30); r.First<<shift > 0 {
		limit = min(limit, r.First<<shift)
	}
	wait := limit/2 + rand.N(limit/2+1)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// transient tells whether the same call may succeed a little later. A failed store needs its operator.
func transient(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Reason == ErrOverloaded || e.Code == codes.Unavailable && e.Reason != ErrStoreFailed
}

// never is for calls that may not be repeated.
func never(error) bool { return false }

// when is transient for calls that may be repeated, never for others.
func when(repeatable bool) func(error) bool {
	if repeatable {
		return transient
	}
	return never
}

// repeatablePut tells whether the put of these nodes may be sent again: each parent is absent, a node id, the node
// before, or an alias that the call itself conditions on a head, and so always the same node.
func repeatablePut(nodes ...*transcriptv1.NewNode) bool {
	conditioned := map[string]bool{}
	for _, n := range nodes {
		for _, a := range n.Aliases {
			conditioned[a.Name] = a.Precondition.GetHeadId() != ""
		}
	}
	for _, n := range nodes {
		if alias, ok := n.Parent.GetRef().(*transcriptv1.NodeRef_Alias); ok && !conditioned[alias.Alias] {
			return false
		}
	}
	return true
}

// repeatableMoves tells whether the moves may be sent again: their targets are node ids.
func repeatableMoves(moves []*transcriptv1.AliasMove) bool {
	for _, m := range moves {
		if _, ok := m.Target.GetRef().(*transcriptv1.NodeRef_Alias); ok {
			return false
		}
	}
	return true
}
