package client

import (
	"context"
	"errors"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Turn is a message that arrived and is to be answered.
type Turn struct {
	// MessageID is the message's id where it came from. Required: the alias msg/MessageID is the thread's.
	MessageID string
	// ReplyTo is the id of the message that it replies to: the chain of msg/ReplyTo goes on. Where that is empty or not
	// known, a conversation begins.
	ReplyTo string
	// Chat, if not empty, is the conversation that the message is part of: each commit of the thread also points the alias
	// chat/Chat to what it wrote, whichever branch that is in.
	Chat string
	// System is what a new conversation begins with, in a root of its own, so that equal prompts share it. May be empty.
	System []*transcriptv1.Message
	// Messages is what was said, as a rule one user message; Notes and Metadata as in Node.
	Messages []*transcriptv1.Message
	Notes    []*transcriptv1.MessageNote
	Metadata map[string]string
}

// Start puts a message that arrived and gives the thread that ends in it. It may be called again with the same Turn, by any
// worker: until the thread went on, that gives the same thread, of which New tells that it was there; afterwards it is
// ErrAliasExists: use Resume. Of all callers one is told New, also one whose reply was lost, if it calls again on the same Client. Two
// replies to the same message are two branches.
func (c *Client) Start(ctx context.Context, turn Turn) (*Thread, error) {
	if turn.MessageID == "" {
		return nil, fault(ErrNoName, "")
	}
	t := c.newThread(MessageAlias(turn.MessageID), turn.Chat)
	node := Node{
		Messages: turn.Messages, Notes: turn.Notes, Metadata: turn.Metadata,
		Aliases: t.aliases(MustNotExist()), Previous: len(turn.System) > 0 || turn.ReplyTo != "", // no root, at first
	}
	if turn.ReplyTo == "" {
		return t.begin(ctx, node, func(node Node, _ *pending) (*PutResult, error) { return c.putFirst(ctx, turn.System, node) })
	}
	parent := MessageAlias(turn.ReplyTo)
	t.at = c.cache.headOf(parent)
	return t.begin(ctx, node, func(node Node, a *pending) (*PutResult, error) {
		below := node
		below.Parent, below.Previous = ByAlias(parent), false
		// It may be repeated, wherever the parent points to by then: the message's alias must not exist.
		res, err := c.put(ctx, below.wire(), true)
		if !errors.Is(err, ErrParentNotFound) {
			return res, err
		}
		a.unsure = a.unsure || MayHaveHappened(err)
		return c.putFirst(ctx, turn.System, node)
	})
}

// putFirst puts the first messages of a conversation, behind a root of system messages where there are some.
func (c *Client) putFirst(ctx context.Context, system []*transcriptv1.Message, node Node) (*PutResult, error) {
	if len(system) == 0 {
		return c.putRoot(ctx, node)
	}
	root := Node{Messages: system}
	res, err := c.PutAll(ctx, root, node)
	if c.salted(&root, err, "nodes[0].salt") {
		res, err = c.PutAll(ctx, root, node)
	}
	if err != nil {
		return nil, err
	}
	return res[1], nil
}

// putRoot is Put, of a root.
func (c *Client) putRoot(ctx context.Context, root Node) (*PutResult, error) {
	res, err := c.Put(ctx, root)
	if c.salted(&root, err, "salt") {
		return c.Put(ctx, root)
	}
	return res, err
}

// salted gives a root without a salt one, where the equal one that everybody shares was erased; field is that of the root's salt in the request.
func (c *Client) salted(root *Node, err error, field string) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != ErrPayloadErased || len(e.Violations) != 1 || e.Violations[0].Field != field || root.Salt != nil || c.options.deterministic {
		return false
	}
	root.Salt = newSalt()
	return true
}

// begin puts the first node of a thread, whose alias must not exist, or finds it.
func (t *Thread) begin(ctx context.Context, node Node, put func(Node, *pending) (*PutResult, error)) (*Thread, error) {
	a := t.c.take(&t.c.unsure, &node)
	res, err := put(node, a)
	err = a.told(err)
	if e, ok := errors.AsType[*Error](err); ok && e.Reason == ErrAliasExists {
		err = t.taken(ctx, &node, e)
	} else if err == nil {
		res.Retried = res.Retried || a.unsure
		t.started(res)
	}
	if err == nil {
		t.ran(&node)
	}
	t.c.unsure.end(a, err)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// started makes the thread that of the node that was put.
func (t *Thread) started(res *PutResult) *Thread {
	t.moved(res.NodeId, res.Counters)
	t.isNew = res.Retried || len(res.Aliases) > 0 && res.Aliases[0].Changed
	return t
}

// Resume gives the thread of a message that was started before, at the head it has come to, for example after a crash.
// Tool calls that are open there (Thread.OpenCalls) may have run: it is the caller's to check each and append its result,
// or to answer it as unknown; nothing is ever run again by itself. Errors: ErrAliasNotFound.
func (c *Client) Resume(ctx context.Context, messageID string) (*Thread, error) {
	if messageID == "" {
		return nil, fault(ErrNoName, "")
	}
	return c.Open(ctx, MessageAlias(messageID))
}

// Open gives a thread that goes on from an alias and moves it. Errors: ErrAliasNotFound.
func (c *Client) Open(ctx context.Context, alias string) (*Thread, error) {
	t := c.newThread(alias, "")
	t.at = c.cache.headOf(alias)
	if err := t.Refresh(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// Chat gives the thread of the conversation chat/NAME, which it begins with a root of system messages where it is not
// there; then at least one is needed, else ErrAliasNotFound.
func (c *Client) Chat(ctx context.Context, name string, system ...*transcriptv1.Message) (*Thread, error) {
	if name == "" {
		return nil, fault(ErrNoName, "")
	}
	alias := ChatAlias(name)
	t, err := c.Open(ctx, alias)
	if !errors.Is(err, ErrAliasNotFound) || len(system) == 0 {
		return t, err
	}
	t = c.newThread(alias, "")
	res, err := c.putRoot(ctx, Node{Messages: system, Aliases: t.aliases(MustNotExist())})
	if errors.Is(err, ErrAliasExists) { // somebody else began it meanwhile
		return c.Open(ctx, alias)
	}
	if err != nil {
		return nil, err
	}
	return t.started(res), nil
}
