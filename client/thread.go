package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Thread is a chain that an agent goes on with: a head, and the alias that moves with it. Client.Start, Resume, Open and
// Chat make one.
//
// Everything is put below the head that the thread has seen, on condition that the alias still points there. If another
// writer was first, that is ErrAliasMoved, with the winning head in Error.Head; nothing was put and the thread stays
// where it was. Refresh goes on from the winner, Fork beside it. Where the winners only compacted the chain, the thread goes
// on by itself below the compaction: nothing was said that it has not seen. Of several writers of the same one goes on.
//
// Each append has a salt, by which the thread knows its node again. A put whose reply was lost succeeds if it took place, also
// where another writer went on below it since; then it is the next put that finds the alias moved. Where that could not be
// found out (MayHaveHappened), append the same again on the same Thread, until it succeeds or is refused: the thread keeps the
// salt, whatever is appended and refreshed meanwhile, and the next append of the same node with the same aliases, whoever makes it,
// is the repeat. Who gives it up instead goes on with a new Thread (Client.Open), which knows nothing of it.
//
// All methods may run at once; of two puts at once one succeeds.
type Thread struct {
	c     *Client
	alias string
	chat  string // the alias that is pointed along, or empty
	isNew bool

	mu    sync.Mutex
	head  string
	depth int64
	// size is the effective view's totals at the head, as replies told them (where the thread went on past a compaction of
	// another writer, until its next put: before that); compactAt is its bytes from which on CompactWhen looks again
	// whether enough would go.
	size      *transcriptv1.Counters
	compactAt int64
	at        string // the head of the view that was kept last: most likely an ancestor of head, or it
	read      string // the head whose messages the caller was given last; empty: none were
	moves     int    // how often head was set
	// run is where the last run stands at the head, where runKnown; ends is how many were seen to end, the last of which in the node end.
	run      runloop.State
	runKnown bool
	ends     int
	end      string
	sent     map[string]sent // by message id: what moves along with the run
	labelled bool            // the alias has labels that tell of some

	unsure ledger // of appends
}

func (c *Client) newThread(alias, chat string) *Thread {
	t := &Thread{c: c, alias: alias}
	if chat != "" {
		t.chat = ChatAlias(chat)
	}
	return t
}

// aliases are those that each of the thread's commits sets: its own on that condition, first.
func (t *Thread) aliases(condition Condition) []AliasUpdate {
	aliases := []AliasUpdate{{Name: t.alias, If: condition}}
	if t.chat != "" {
		aliases = append(aliases, AliasUpdate{Name: t.chat})
	}
	return aliases
}

// New tells whether the call that made the thread put its first message, or named it first. False: it was there before; whoever
// put it may be at work on it. Of all callers of Start, or Spawn, with one message one is told true. Only where the service cannot tell
// who was first, and a reply was lost, it may be two: of Fork, of Chat with equal prompts, and of a Deterministic Client.
func (t *Thread) New() bool { return t.isNew }

// Alias is the alias that moves with the thread.
func (t *Thread) Alias() string { return t.alias }

// Head is the id of the node that the thread has come to.
func (t *Thread) Head() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.head
}

// Depth is the number of user and assistant messages through the head.
func (t *Thread) Depth() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.depth
}

// ReplyText is the text of a reply that was put, as it is handed to people: "[depth:N] ", where N is the Depth by then,
// and the text. What is stored has no prefix.
func (t *Thread) ReplyText(reply *transcriptv1.Message) string {
	return fmt.Sprintf("[depth:%d] %s", t.Depth(), Text(reply))
}

// Messages gives what to send to a model: the conversation view of the head, bounded by a policy, in which absent fields
// have the server's defaults (&Policy{} has all of them, Unbounded no bounds); with nil the effective view, of which only what the
// Client's cache does not hold is asked for. That is one call, also where the cache holds all of it: it may be erased since. The caller owns the
// messages. Errors: those of Client.Assemble.
func (t *Thread) Messages(ctx context.Context, policy *transcriptv1.Policy) ([]*transcriptv1.Message, error) {
	head, messages, err := t.messages(ctx, policy)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = head
	return messages, nil
}

// messages is Messages, and tells the head whose they are.
func (t *Thread) messages(ctx context.Context, policy *transcriptv1.Policy) (head string, messages []*transcriptv1.Message, err error) {
	if policy == nil {
		v, err := t.view(ctx)
		if err != nil {
			return "", nil, err
		}
		messages, err = v.messages()
		return v.head, messages, err
	}
	a, err := t.c.Assemble(ctx, ByID(t.Head()), Query{View: transcriptv1.View_VIEW_CONVERSATION, Policy: policy})
	if err != nil {
		return "", nil, err
	}
	messages, err = a.Messages()
	return a.HeadID, messages, err
}

// view gives the effective view of the head and keeps it.
func (t *Thread) view(ctx context.Context) (*view, error) {
	t.mu.Lock()
	head, at := t.head, t.at
	t.mu.Unlock()
	held := t.c.cache.get(head)
	if held == nil {
		held = t.c.cache.get(at)
	}
	held, err := t.c.extend(ctx, head, held)
	if err != nil {
		return nil, err
	}
	if !t.c.cache.put(held) {
		return held, nil // what is kept of its beginning stays what the next one goes on from
	}
	t.c.cache.name(t.alias, head)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = head
	return held, nil
}

// extend asks for what the view of head adds to a view that is held; nil: for all of it. It asks also where that is the view of head, which may be
// erased since.
func (c *Client) extend(ctx context.Context, head string, held *view) (*view, error) {
	query := Query{}
	if held != nil {
		query.After, query.AfterErasures = held.head, held.erasures
	}
	a, err := c.Assemble(ctx, ByID(head), query)
	if held != nil && (errors.Is(err, ErrNotAnAncestor) || errors.Is(err, ErrNodeNotFound)) {
		return c.extend(ctx, head, nil) // the guess at an ancestor was wrong
	}
	if err != nil {
		return nil, err
	}
	switch {
	case a.BaseID == "":
		held = nil // the whole view came: it replaces what was held
	case held != nil && held.head == head:
		return held, nil
	}
	return &view{head: head, base: held, payload: bytes.Join(a.payloads, nil), erasures: a.Erasures}, nil
}

// Append puts messages below the head as one node and moves the alias to it. An assistant message with calls is put
// before its tools run.
func (t *Thread) Append(ctx context.Context, messages ...*transcriptv1.Message) error {
	_, err := t.AppendNode(ctx, Node{Messages: messages})
	return err
}

// AppendResults puts the results of tool calls as one node; ErrNotAResult for any other message.
func (t *Thread) AppendResults(ctx context.Context, results ...*transcriptv1.Message) error {
	for _, m := range results {
		if m.GetRole() != transcriptv1.Role_ROLE_TOOL {
			return fault(ErrNotAResult, "")
		}
	}
	return t.Append(ctx, results...)
}

// AppendNode is Append with all that a Node can have but a parent, which is ErrParentGiven. Its aliases are set beside
// the thread's, which is the first of the result's.
func (t *Thread) AppendNode(ctx context.Context, node Node) (*PutResult, error) {
	if node.Parent.ref != nil || node.Previous {
		return nil, fault(ErrParentGiven, "")
	}
	head := t.Head()
	node.Parent = ByID(head)
	a := t.c.take(&t.unsure, &node)
	res, err := t.appendBelow(ctx, head, &node, a)
	t.unsure.end(a, err)
	return res, err
}

// appendBelow puts a node below a head that the thread has seen, unless an earlier attempt put it below another.
func (t *Thread) appendBelow(ctx context.Context, head string, node *Node, a *pending) (*PutResult, error) {
	if a.unsure && a.parent != head { // the alias has left that parent, so what is not there will not be
		earlier := *node
		earlier.Parent = ByID(a.parent)
		earlier.Aliases = append(t.aliases(HeadIs(a.parent)), node.Aliases...)
		if res, err := t.c.find(ctx, &earlier); res != nil || err != nil {
			return res, err
		}
		a.unsure = false
	}
	for {
		a.parent = head
		res, err := t.appendTo(ctx, head, *node, a)
		compacted := onlyCompacted(err)
		if compacted == "" || ctx.Err() != nil {
			return res, err
		}
		a.unsure = false
		t.mu.Lock()
		if t.head == head {
			t.head = compacted
			t.moves++
		}
		t.mu.Unlock()
		head = compacted
	}
}

// appendTo puts a node below a head, and finds it where it was put before. What moves along is moved with it.
func (t *Thread) appendTo(ctx context.Context, head string, node Node, a *pending) (*PutResult, error) {
	node.Parent = ByID(head)
	node.Aliases = append(t.aliases(HeadIs(head)), node.Aliases...)
	for {
		full, moving, err := t.withSent(ctx, node)
		if err != nil {
			return nil, a.told(undone(happened(err, false))) // it was only looked at what moves along
		}
		res, err := t.putKnown(ctx, &full, moving, a)
		if t.drop(err, &full, len(node.Aliases)) {
			continue // somebody else moved a message's alias: that refuses nothing
		}
		if err != nil {
			return nil, err
		}
		t.appended(head, &node, res, moving)
		res.Aliases = res.Aliases[:min(len(res.Aliases), len(node.Aliases))]
		return res, nil
	}
}

// putKnown puts a node, or finds that it is there.
func (t *Thread) putKnown(ctx context.Context, node *Node, moving *moving, a *pending) (*PutResult, error) {
	res, err := t.c.Put(ctx, *node)
	err = a.told(err)
	if refusedForAnAlias(err) && MayHaveHappened(err) {
		if res, err = t.c.lost(ctx, node, err); err == nil {
			err = t.settle(ctx, res.NodeId, moving)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(res.Aliases) == 0 || res.Counters == nil {
		return nil, fault(ErrBadReply, "")
	}
	if res.Retried = res.Retried || a.unsure; !res.Aliases[0].Changed && !res.Retried {
		return nil, overtaken(res.NodeId)
	}
	return res, nil
}

// appended notes that a node was put below a head.
func (t *Thread) appended(head string, node *Node, res *PutResult, moving *moving) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.head != head { // it was refreshed, which told what moves along
		return
	}
	t.moved(res.NodeId, res.Counters)
	t.ran(node)
	t.movedAlong(res.NodeId, node, moving)
}

// moved makes the thread go on from a head; t.mu is held.
func (t *Thread) moved(head string, counters *transcriptv1.ChainCounters) {
	size := counters.GetEffective()
	if size.GetBytes() < t.size.GetBytes() { // it was compacted, or is another branch: what was looked at is no more
		t.compactAt = 0
	}
	t.head, t.depth, t.size = head, int64(counters.GetFull().GetDepth()), size
	t.moves++
}

// Refresh makes the thread go on from where its alias points now. Errors: ErrAliasNotFound.
func (t *Thread) Refresh(ctx context.Context) error {
	for {
		t.mu.Lock()
		moves := t.moves
		t.mu.Unlock()
		found, err := t.c.Resolve(ctx, t.alias)
		if err != nil {
			return err
		}
		if t.refreshed(found, moves) {
			return nil
		}
	}
}

// refreshed takes over where the alias points, unless the thread moved since, which may have been later.
func (t *Thread) refreshed(found *transcriptv1.ResolveAliasResponse, moves int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.moves != moves {
		return false
	}
	t.runKnown = t.runKnown && t.head == found.Alias.NodeId
	t.moved(found.Alias.NodeId, found.Counters)
	t.load(found.Alias.Labels)
	return true
}

// Fork gives a thread that goes on from the same head under an alias of its own, which must not exist
// (ErrAliasExists) unless it points there already; then New is false.
func (t *Thread) Fork(ctx context.Context, alias string) (*Thread, error) {
	t.mu.Lock()
	fork := &Thread{c: t.c, alias: alias, head: t.head, depth: t.depth, at: t.at, read: t.read, size: t.size, run: t.run, runKnown: t.runKnown}
	t.mu.Unlock()
	move := AliasMove{Name: alias, Target: ByID(fork.head), If: MustNotExist()}
	set, unsure, err := t.c.setAliases(ctx, move)
	if err != nil {
		return nil, err
	}
	fork.isNew = unsure || len(set) > 0 && set[0].Changed
	return fork, nil
}

// OpenCalls gives the tool calls that have no result yet at the head, in order. After Resume they may have run.
func (t *Thread) OpenCalls(ctx context.Context) ([]*transcriptv1.ToolCall, error) {
	_, messages, err := t.messages(ctx, nil)
	if err != nil {
		return nil, err
	}
	return openCalls(messages), nil
}

// AnswerUnknown puts, for each open call, a result that says that it is unknown whether the call ran (UnknownResult), as
// one node; nothing where no call is open. Call it after the results that could be found out were put.
func (t *Thread) AnswerUnknown(ctx context.Context) error {
	calls, err := t.OpenCalls(ctx)
	if err != nil || len(calls) == 0 {
		return err
	}
	var results []*transcriptv1.Message
	for _, call := range calls {
		results = append(results, UnknownResult(call))
	}
	return t.AppendResults(ctx, results...)
}
