package access

import (
	"context"
	"errors"
	"time"

	"github.com/transcriptd/transcriptd/internal/identity"
)

var (
	// ErrDenied: no grant of who calls covers the call. It is told before the store is asked, whatever the store has.
	ErrDenied = errors.New("no grant covers the call")
	// ErrRate: who calls makes more calls than its rate allows. Comes in a RateError.
	ErrRate = errors.New("more calls than the caller's rate allows")
)

// RateError is ErrRate, and says after how long a call would be allowed.
type RateError struct{ After time.Duration }

func (e *RateError) Error() string { return ErrRate.Error() }
func (e *RateError) Unwrap() error { return ErrRate }

// Guard decides who may call what. Its methods may run at once, and refuse a call with an error: a gRPC status, which the caller is told
// as it is, or one that the table of errors has.
type Guard interface {
	// Identify says who calls, by the request headers alone: nothing of its body has been received, nor is there room for it. nil without an
	// error: the method asks nobody who they are.
	Identify(m *Method, shown identity.Credentials) (*identity.Principal, error)
	// Permit judges a request that has been decoded, which nobody else has looked at; of a stream of requests each.
	Permit(ctx context.Context, who *identity.Principal, m *Method, of Scope) error
}

// GuardOf is the guard that knows callers by an Authenticator, and goes by their grants; nil: Anybody.
func GuardOf(callers identity.Authenticator) Guard {
	if callers == nil {
		return Anybody{}
	}
	return grants{callers}
}

// Anybody is the guard that lets everybody do everything.
type Anybody struct{}

// Identify names nobody.
func (Anybody) Identify(*Method, identity.Credentials) (*identity.Principal, error) { return nil, nil }

// Permit permits.
func (Anybody) Permit(context.Context, *identity.Principal, *Method, Scope) error { return nil }

// grants lets callers do what their grants say, and nothing else.
type grants struct{ callers identity.Authenticator }

func (g grants) Identify(m *Method, shown identity.Credentials) (*identity.Principal, error) {
	if m.open() {
		return nil, nil
	}
	who, err := g.callers.Authenticate(shown)
	if err != nil {
		return nil, err
	}
	if who == nil {
		return nil, identity.ErrUnauthenticated
	}
	return who, nil
}

func (grants) Permit(_ context.Context, who *identity.Principal, m *Method, of Scope) error {
	switch {
	case m.open():
		return nil
	case who == nil:
		return identity.ErrUnauthenticated
	case m.Role == known:
		return nil
	case of.Forgets && !who.May(identity.Erase, of.Namespace):
		return ErrDenied
	case (of.All || m.Namespace == "") && mayEach(m.Role, who.MayEverywhere):
		return nil
	case !of.All && m.Namespace != "" && mayEach(m.Role, func(role identity.Role) bool { return who.May(role, of.Namespace) }):
		return nil
	default:
		return ErrDenied
	}
}

// mayEach tells whether each of some roles is given, by one grant or by several.
func mayEach(roles identity.Role, may func(identity.Role) bool) bool {
	for left := roles; left != 0; left &= left - 1 {
		if !may(left & -left) {
			return false
		}
	}
	return true
}

// whoKey is the key of who calls, in the context of a call.
type whoKey struct{}

// Called is the context of a call of somebody.
func Called(ctx context.Context, by *identity.Principal) context.Context {
	return context.WithValue(ctx, whoKey{}, by)
}

// Who is who calls; nil: the server tells nobody apart, or the method asks nobody.
func Who(ctx context.Context) *identity.Principal {
	who, _ := ctx.Value(whoKey{}).(*identity.Principal)
	return who
}
