package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Retry is how a call that may be repeated is: until its deadline, or where it has none until the pauses between its attempts
// come to a minute. It is a loop around the call, neither gRPC's service config nor an interceptor, because both choose by
// method: whether a PutNode may be sent twice lies in its request, and the result has to tell that it was.
type Retry struct {
	// Attempts is how often a call is sent at most; 1: never again; 0: as often as there is time.
	Attempts int
	// First is about the pause after the first attempt; each further one doubles it, up to Max. Pauses are drawn between
	// half of that and all of it, and are shorter where the deadline is near. 0: 100 ms, and 2 s. Where the server says when a call
	// is allowed, no pause is shorter than that, and none is made that ends behind the deadline.
	First, Max time.Duration
}

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
	// maxPauses is how long the pauses of a call without a deadline are together.
	maxPauses = time.Minute
)

// run calls attempt until it succeeds, fails for good or may not be repeated. It tells whether an earlier attempt may have
// taken place although it failed, in the error too.
func (c *Client) run(ctx context.Context, may func(error) bool, attempt func() error) (unsure bool, err error) {
	pauses := c.options.retry.pauses(ctx)
	for n := 1; ; n++ {
		err := c.once(ctx, attempt)
		last := n == c.options.retry.Attempts
		if err == nil || last || !may(err) || !pauses.wait(ctx, retryAfter(err), c.closed.Done()) {
			var e *Error
			if errors.As(err, &e) {
				e.Retried = e.Retried || unsure
			}
			return unsure, err
		}
		unsure = unsure || MayHaveHappened(err)
	}
}

// once calls attempt, unless the client is closed or the context has ended.
func (c *Client) once(ctx context.Context, attempt func() error) error {
	if c.closed.Err() != nil {
		return undone(fault(ErrClosed, ""))
	}
	if err := ctx.Err(); err != nil {
		return undone(Typed(err))
	}
	err := Typed(attempt())
	if c.closed.Err() != nil && ctx.Err() == nil && errors.Is(err, ErrCancelled) {
		return fault(ErrClosed, "")
	}
	return err
}

// pauses are those between the attempts of one call.
type pauses struct {
	first, next, max time.Duration
	// left is what they may come to together; not looked at where there is a deadline.
	left        time.Duration
	deadline    time.Time
	hasDeadline bool
}

func (r Retry) pauses(ctx context.Context) *pauses {
	p := &pauses{first: r.First, max: r.Max, left: maxPauses}
	if p.first <= 0 {
		p.first = firstPause
	}
	if p.max <= 0 {
		p.max = max(maxPause, p.first)
	}
	p.first = min(p.first, p.max)
	p.next = p.first
	p.deadline, p.hasDeadline = ctx.Deadline()
	return p
}

// retryAfter is how long the server asks to wait.
func retryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// wait waits for a time at least, or until closed; false: there is no time for another attempt.
func (p *pauses) wait(ctx context.Context, least time.Duration, closed <-chan struct{}) bool {
	limit := min(p.next, p.max)
	p.next = 2 * limit
	wait := limit/2 + rand.N(limit/2+1)
	if p.hasDeadline {
		p.left = time.Until(p.deadline)
		wait = max(min(wait, p.left/2), least)
		if wait < p.first/2 || wait >= p.left {
			return false
		}
	} else {
		if wait = max(wait, least); wait > p.left {
			return false
		}
		p.left -= wait
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-closed:
		return true
	case <-ctx.Done():
		return false
	}
}

// transient tells whether the same call may succeed a little later. A failed store needs its operator, and so does an audit.
func transient(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Reason {
	case ErrOverloaded, ErrRateLimited:
		return true
	case ErrStoreFailed, ErrAuditUnavailable:
		return false
	default:
		return e.Code == codes.Unavailable
	}
}

// when is transient for calls that may be repeated; others are sent again only where the attempt has done nothing for sure.
func when(repeatable bool) func(error) bool {
	return func(err error) bool { return transient(err) && (repeatable || !MayHaveHappened(err)) }
}

// repeatablePut tells whether the put of these nodes may be sent again although it may have taken place. Each parent is
// absent, a node id, the node before, or an alias that the call itself conditions on a head, and so always the same node. And
// where aliases are set, one is on a condition by which the server knows a repeat, which leaves the aliases that it has set; none need
// be where all that is done to aliases are deletes that may be repeated.
func repeatablePut(nodes ...*transcriptv1.NewNode) bool {
	conditioned := map[string]bool{}
	aliases, known := 0, false
	for _, n := range nodes {
		for _, a := range n.Aliases {
			conditioned[a.Name] = a.Precondition.GetHeadId() != ""
			if !a.Delete || !repeatableDelete(a.Precondition) {
				aliases++
			}
			known = known || guards(a.Precondition) && !a.Delete || revised(a.Precondition)
		}
	}
	for _, n := range nodes {
		if alias, ok := n.Parent.GetRef().(*transcriptv1.NodeRef_Alias); ok && !conditioned[alias.Alias] {
			return false
		}
	}
	return known || aliases == 0
}

// revised tells whether the condition names a revision: no other call holds at it again once this one took place.
func revised(c *transcriptv1.AliasPrecondition) bool { return c != nil && c.Revision != nil }

// repeatableDelete tells whether a delete may be sent again although it may have taken place.
func repeatableDelete(c *transcriptv1.AliasPrecondition) bool {
	return c.GetHeadId() != "" || revised(c)
}

// repeatableDeletion tells whether a page of a deletion may be sent again although it may have taken place: the page, or the caller, says until when
// what goes was there.
func repeatableDeletion(r *transcriptv1.DeleteAliasesRequest) bool {
	return r.PageToken != "" || r.MovedBefore != nil
}

// repeatableSettings tells whether a change of settings may be sent again although it may have taken place.
func repeatableSettings(r *transcriptv1.SetNamespaceRequest) bool { return r.Revision != nil }

// guards tells whether the condition is no longer met once the alias was moved on from where the call sets it.
func guards(c *transcriptv1.AliasPrecondition) bool {
	return c.GetHeadId() != "" || c.GetMustNotExist()
}

// repeatableMoves tells whether the moves may be sent again although they may have taken place. Each is a delete that may be; or on
// condition of a revision, to a node id or to its own alias, which at the next revision is where the move set it; or on another
// condition, so that it undoes no later move, to a node id, and without labels, which others may have set since.
func repeatableMoves(moves []*transcriptv1.AliasMove) bool {
	for _, m := range moves {
		alias, byAlias := m.Target.GetRef().(*transcriptv1.NodeRef_Alias)
		switch {
		case m.Delete:
			if !repeatableDelete(m.Precondition) {
				return false
			}
		case revised(m.Precondition):
			if byAlias && alias.Alias != m.Name {
				return false
			}
		case byAlias, m.Labels != nil, !guards(m.Precondition):
			return false
		}
	}
	return true
}
