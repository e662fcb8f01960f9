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

// Start puts a message that arrived and gives the thread that ends in it. It may be called again with the same Turn:
// until the thread went on, that gives the same thread, of which New tells that it was there; afterwards it is
// ErrAliasExists: use Resume. Two replies to the same message are two branches.
func (c *Client) Start(ctx context.Context, turn Turn) (*Thread, error) {
	if turn.MessageID == "" {
		return nil, fault(ErrNoName, "")
	}
	if turn.ReplyTo != "" {
		t, err := c.reply(ctx, turn)
		if !errors.Is(err, ErrParentNotFound) {
			return t, err
		}
	}
	return c.begin(ctx, turn)
}

// reply puts the message below what it replies to. Its parent is an alias without a condition, so Put sends it once. If
// its reply is lost, the parent is looked up and named by its id, which may be repeated: the message is put once all the
// same, because its alias must not exist.
func (c *Client) reply(ctx context.Context, turn Turn) (*Thread, error) {
	parent := MessageAlias(turn.ReplyTo)
	t := c.newThread(MessageAlias(turn.MessageID), turn.Chat)
	t.at = c.cache.headOf(parent)
	res, err := c.Put(ctx, t.first(turn, ByAlias(parent)))
	if transient(err) && unknownOutcome(err) {
		var found *transcriptv1.ResolveAliasResponse
		if found, err = c.Resolve(ctx, parent); errors.Is(err, ErrAliasNotFound) {
			return nil, ErrParentNotFound
		} else if err != nil {
			return nil, err
		}
		if res, err = c.Put(ctx, t.first(turn, ByID(found.Alias.NodeId))); err == nil {
			res.Retried = true
		}
	}
	if err != nil {
		return nil, err
	}
	return t.started(res), nil
}

// begin puts a new conversation.
func (c *Client) begin(ctx context.Context, turn Turn) (*Thread, error) {
	t := c.newThread(MessageAlias(turn.MessageID), turn.Chat)
	node := t.first(turn, Ref{})
	if len(turn.System) == 0 {
		res, err := c.Put(ctx, node)
		if err != nil {
			return nil, err
		}
		return t.started(res), nil
	}
	node.Previous = true
	res, err := c.PutAll(ctx, Node{Messages: turn.System}, node)
	if err != nil {
		return nil, err
	}
	return t.started(res[1]), nil
}

// first is the node of a turn's message.
func (t *Thread) first(turn Turn, parent Ref) Node {
	return Node{
		Parent: parent, Messages: turn.Messages, Notes: turn.Notes, Metadata: turn.Metadata,
		Aliases: t.aliases(MustNotExist()),
	}
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
	res, err := c.Put(ctx, Node{Messages: system, Aliases: t.aliases(MustNotExist())})
	if errors.Is(err, ErrAliasExists) { // somebody else began it meanwhile
		return c.Open(ctx, alias)
	}
	if err != nil {
		return nil, err
	}
	return t.started(res), nil
}
