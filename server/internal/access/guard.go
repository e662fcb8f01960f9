package access

import (
	"context"
	"errors"
)

// ErrDenied: no grant of who calls covers the call. It is told before the store is asked, whatever the store has.
var ErrDenied = errors.New("no grant covers the call")

// Principal is who calls. What it is, only the guard knows that named it.
type Principal any

// Guard decides who may call what. Its methods may run at once, and refuse a call with an error: a gRPC status, which the caller is told
// as it is, or one that the table of errors has.
type Guard interface {
	// Identify says who calls, by the request headers alone: nothing of its body has been received, nor is there room for it. ctx has the
	// metadata and the peer.
	Identify(ctx context.Context, m *Method) (Principal, error)
	// Permit judges a request that has been decoded, which nobody else has looked at; of a stream of requests each.
	Permit(ctx context.Context, who Principal, m *Method, of Scope) error
}

// Anybody is the guard that lets everybody do everything.
type Anybody struct{}

// Identify names nobody.
func (Anybody) Identify(context.Context, *Method) (Principal, error) { return nil, nil }

// Permit permits.
func (Anybody) Permit(context.Context, Principal, *Method, Scope) error { return nil }
