package reply

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/fair"
)

// Call is what the layers of a call know of it.
type Call struct {
	// ID is that under which its lines stand in the log, and which its errors carry.
	ID uint64
	// Party is whom the call is of, where it waits for its turn.
	Party any
	// ended is closed once the call has ended.
	ended <-chan struct{}
	// About is what of the store the call is about, once its request is judged to be well formed.
	About access.Scope
	// Refusal is why the call did not pass its gate; nil: it did, or has yet to.
	Refusal error
	// Held is the room that the reply of a unary call has; nil for none.
	Held *Held
	// running is where the call has its place; nil: it has none.
	running *fair.Semaphore
	// request is that of a unary call, once it has come.
	request any
	// atOnce says that the call must not wait for the room of its reply: it has a place among writes, which others need.
	atOnce bool
	// done is what the audit is told of a stream.
	done Done
}

// Done is what a stream has done to nodes, for the audit.
type Done struct {
	// Selector is the kind of what selected them, without its value.
	Selector string
	DryRun   bool
	// Nodes are the ids of the first ones of so many.
	Nodes     []string
	NodeCount int
}

// Add adds a node.
func (d *Done) Add(id string) {
	if d.NodeCount++; d.NodeCount <= audit.Listed {
		d.Nodes = append(d.Nodes, id)
	}
}

// Tell says what the call has done. It may be nil.
func (c *Call) Tell(d Done) {
	if c != nil {
		c.done = d
	}
}

// Done is what was told last. It may be nil.
func (c *Call) Done() Done {
	if c == nil {
		return Done{}
	}
	return c.done
}

// requestBytes is how much of the room for requests a unary call has; 0 for a stream, whose request is short.
func (c *Call) requestBytes() int64 {
	if c == nil {
		return 0
	}
	return int64(Size(c.request))
}

// GiveBack gives back the room of a call's reply, unless that is what goes out: the codec hands it on then.
func (c *Call) GiveBack(made any, err error) {
	if s, has := made.(*Spliced); err != nil || !has || s.held != c.Held {
		c.Held.Release()
	}
}

// callKey is the key of the call in its context.
type callKey struct{}

// CallOf is the call of a context; nil outside of a call.
func CallOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// RequestID is the id of a context's call; empty outside of a call.
func RequestID(ctx context.Context) string {
	c := CallOf(ctx)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%016x", c.ID)
}

// WithCall gives a context its call, unless it has one; refusal is why it is refused, nil for a call that is not.
func WithCall(ctx context.Context, refusal error) context.Context {
	if CallOf(ctx) != nil {
		return ctx
	}
	c := NewCall(ctx)
	c.Refusal = refusal
	return InCall(ctx, &c)
}

// InCall is the context of a call.
func InCall(ctx context.Context, c *Call) context.Context {
	return &callContext{ctx, c}
}

// callContext has a call.
type callContext struct {
	context.Context
	call *Call
}

func (c *callContext) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c.call
	case fair.Party:
		return c.call.Party
	default:
		return c.Context.Value(key)
	}
}

// NewCall is a call that ends with its context. It is of who calls, or, where nobody is told apart, of its connection.
func NewCall(ctx context.Context) Call {
	c := Call{ID: rand.Uint64(), ended: ctx.Done()}
	if who := access.Who(ctx); who != nil {
		c.Party = who.Party()
	} else {
		c.Party = connectionOf(ctx)
	}
	return c
}
