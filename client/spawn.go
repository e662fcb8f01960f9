package client

import (
	"context"

	"google.golang.org/grpc/codes"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Spawn is the conversation of a subagent that a tool call starts.
type Spawn struct {
	// CallID is the id of the call that starts it, the latest with that id. It is on the thread already.
	CallID string
	// Alias is the subagent's thread. Required.
	Alias string
	// Messages is what the subagent begins with: as a rule its own system messages and a user message with its task.
	Messages []*transcriptv1.Message
	// Inherit makes the chain go on from the thread's head, with all that was said there; else it begins anew.
	Inherit bool
}

// Spawn begins a subagent's thread, linked to the call that starts it: Describe tells of it on both sides. The subagent
// works in its own chain; what it comes to is put here by the caller as the result of the call (AppendResults), and
// nothing else of it is seen here.
//
// It may be called again, after a crash say: until the subagent went on (with Inherit: or this thread did) that gives the
// same thread, of which New tells that it was there; afterwards it is ErrAliasExists: Client.Open gives the thread.
// Errors: ErrNoName, ErrToolCallNotFound, ErrAliasExists and others.
func (t *Thread) Spawn(ctx context.Context, s Spawn) (*Thread, error) {
	if s.Alias == "" {
		return nil, fault(ErrNoName, "")
	}
	head := t.Head()
	call, err := t.c.callPlace(ctx, ByID(head), s.CallID)
	if err != nil {
		return nil, err
	}
	child := t.c.newThread(s.Alias, "")
	node := Node{
		Messages: s.Messages, Aliases: child.aliases(MustNotExist()),
		SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: call.NodeId, ToolCallId: &s.CallID},
	}
	if s.Inherit {
		node.Parent = ByID(head)
	}
	res, err := t.c.Put(ctx, node)
	if err != nil {
		return nil, err
	}
	return child.started(res), nil
}

// callPlace is where the latest call with an id was put. A result without its call is none.
func (c *Client) callPlace(ctx context.Context, head Ref, id string) (*transcriptv1.MessagePlace, error) {
	res, err := read(ctx, c, c.rpc.RecallToolCall, &transcriptv1.RecallToolCallRequest{
		Namespace: c.options.namespace, Head: head.ref, ToolCallId: &id, PageBytes: 1,
	})
	if err == nil && res.CallPlace == nil {
		err = &Error{Code: codes.NotFound, Reason: ErrToolCallNotFound, Message: "the chain has the result of that call, and not the call"}
	}
	return res.GetCallPlace(), err
}
