package client

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Inheritance is what a subagent has of the thread that spawns it. It is the value of the metadata InheritsKey of the subagent's first
// node; the service refuses any other.
type Inheritance string

// What a subagent may have.
const (
	// InheritNone: nothing.
	InheritNone Inheritance = "none"
	// InheritArguments: the arguments of the call, which the caller puts in its Messages.
	InheritArguments Inheritance = "arguments"
	// InheritPrefix: all that was said on the thread: the subagent's chain goes on from its head.
	InheritPrefix Inheritance = "prefix"
)

// InheritsKey is the metadata key that holds an Inheritance.
const InheritsKey = canonical.InheritsKey

// Spawn is the conversation of a subagent that a tool call starts.
type Spawn struct {
	// CallID is the id of the call that starts it, the latest with that id. It is on the thread already.
	CallID string
	// Alias is the subagent's thread. Required.
	Alias string
	// Messages is what the subagent begins with: as a rule its own system messages and a user message with its task.
	Messages []*transcriptv1.Message
	// Inherit is what it has of the thread, which Describe tells. InheritPrefix makes its chain go on from the thread's head; with any
	// other it begins anew. Empty: nothing is said.
	Inherit Inheritance
	// Metadata is further metadata of its first node: variables that it begins with, say.
	Metadata map[string]string
}

// Spawn begins a subagent's thread, linked to the call that starts it: Describe tells of it on both sides. The subagent
// works in its own chain; what it comes to is put here by the caller as the result of the call (AppendResults), and
// nothing else of it is seen here.
//
// It may be called again, after a crash say: until the subagent went on that gives the same thread, of which New tells that it was
// there; afterwards it is ErrAliasExists: Client.Open gives the thread.
// Errors: ErrNoName, ErrToolCallNotFound, ErrAliasExists, ErrInvalidField for another Inheritance, and others.
func (t *Thread) Spawn(ctx context.Context, s Spawn) (*Thread, error) {
	if s.Alias == "" {
		return nil, fault(ErrNoName, "")
	}
	t.mu.Lock()
	head, at := t.head, t.at
	t.mu.Unlock()
	call, err := t.c.callPlace(ctx, ByID(head), s.CallID)
	if err != nil {
		return nil, err
	}
	child := t.c.newThread(s.Alias, "")
	node := Node{
		Messages: s.Messages, Aliases: child.aliases(MustNotExist()),
		SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: call.NodeId, ToolCallId: &s.CallID},
		Metadata:    s.metadata(),
	}
	if s.Inherit == InheritPrefix {
		node.Parent, child.at = ByID(head), at
	}
	return child.begin(ctx, node, func(node Node, _ *pending) (*PutResult, error) { return t.c.Put(ctx, node) })
}

// metadata is that of the subagent's first node.
func (s *Spawn) metadata() map[string]string {
	if s.Inherit == "" {
		return s.Metadata
	}
	metadata := map[string]string{InheritsKey: string(s.Inherit)}
	for key, value := range s.Metadata {
		if key != InheritsKey {
			metadata[key] = value
		}
	}
	return metadata
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
