package client

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Compaction says what a compaction keeps. The zero Compaction has the server's defaults.
type Compaction struct {
	// Through is the last node that it stands for: the head or an ancestor, with no call left unanswered at it; empty: the
	// last such node. With Summary or SummaryOnly Client.Compact needs it, but for a dry run, which tells it: the last node
	// that the summary tells of.
	Through string
	// Policy bounds what is kept; absent fields, and nil, have the server's defaults.
	Policy *transcriptv1.Policy
	// Summary, if not empty, comes first and replaces an earlier one. At most 1 MiB.
	Summary string
	// SummaryOnly keeps no closed run loop.
	SummaryOnly bool
	// Salt is as in Node; nil: one is made, by which the compaction is known again.
	Salt []byte
	// DryRun reports what would be written, and writes nothing.
	DryRun bool
	// Aliases are set to the compaction node in the same commit, beside the alias that is the head.
	Aliases []AliasUpdate
}

// Compact appends a node that stands for what the effective view shows behind the preamble, condensed. Nothing is lost:
// the originals stay ancestors. Where head is an alias it moves to the node, also where it was moved on by plain appends
// meanwhile; a node that is named by its id stays without the compaction, and so does every chain that goes on from it.
// Where nothing would shrink, and on a dry run, Written is false in the result.
//
// Where its reply is lost it is repeated only with Through, else it could cover what was said since; and with a salt, or without a
// summary, else it could replace another's. A repeat, also one by the caller on the same Client, looks first whether the chain of the
// alias has the node already, by its salt, and then gives that. Errors: ErrInvalidField (Through is missing), ErrNodeNotFound,
// ErrAliasNotFound, ErrNotAnAncestor, ErrAlreadyCovered, ErrOpenToolCalls, ErrCompactionTooLarge, ErrAliasMoved and others.
func (c *Client) Compact(ctx context.Context, head Ref, o Compaction) (*transcriptv1.CompactResponse, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	req := o.wire(c.options.namespace, head)
	if o.DryRun {
		return c.compactOnce(ctx, req, &pending{})
	}
	a := c.unsure.take(req, func() []byte {
		if o.Salt != nil || c.options.deterministic {
			return o.Salt
		}
		return newSalt()
	})
	req.Salt = a.salt
	res, err := c.compactOnce(ctx, req, a)
	err = a.told(err)
	c.unsure.end(a, err)
	return res, err
}

// compactOnce compacts, however often it is sent, unless an earlier attempt did.
func (c *Client) compactOnce(ctx context.Context, req *transcriptv1.CompactRequest, a *pending) (*transcriptv1.CompactResponse, error) {
	sent := a.unsure
	once := func(ctx context.Context, req *transcriptv1.CompactRequest, opts ...grpc.CallOption) (*transcriptv1.CompactResponse, error) {
		if sent {
			if found, err := c.compacted(ctx, req); found != nil || err != nil {
				return found, err
			}
		}
		sent = true
		return c.rpc.Compact(ctx, req, opts...)
	}
	res, unsure, err := call(ctx, c, when(req.DryRun || req.ThroughId != "" && (len(req.Salt) > 0 || req.Summary == "")), once, req)
	if err == nil && (res.Report == nil || res.Counters == nil || res.Written && res.NodeId == "") {
		err = fault(ErrBadReply, "a compaction without its report")
	}
	if unsure && err == nil && !res.Written || err != nil && MayHaveHappened(err) {
		if found, lookErr := c.compacted(ctx, req); lookErr == nil && found != nil {
			return found, nil
		}
	}
	return res, err
}

// wire is the compaction as a request has it.
func (o *Compaction) wire(namespace string, head Ref) *transcriptv1.CompactRequest {
	req := &transcriptv1.CompactRequest{
		Namespace: namespace, Head: head.ref, ThroughId: o.Through, Policy: o.Policy, Summary: o.Summary,
		SummaryOnly: o.SummaryOnly, Salt: o.Salt, DryRun: o.DryRun,
	}
	for _, a := range o.Aliases {
		req.Aliases = append(req.Aliases, a.wire())
	}
	return req
}

// Compact compacts the chain of the thread's alias, and points the chat's alias along, as each commit of the thread does.
// The thread goes on from the compaction node, and so does every other thread of the alias with its next put: a
// compaction is in no writer's way. Aliases of earlier nodes stay where they are: a reply to a message that was sent
// before does not see it.
//
// With a Summary or SummaryOnly and no Through it stands for what Messages gave last, or where Messages was not called, for what
// the thread has come to, through the last node at which no call is unanswered: not for what others said meanwhile. Written is
// true also where the reply was lost, and the node is there. Errors: those of Client.Compact.
func (t *Thread) Compact(ctx context.Context, o Compaction) (*transcriptv1.CompactResponse, error) {
	if o.Through != "" || o.Summary == "" && !o.SummaryOnly {
		return t.compact(ctx, o)
	}
	t.mu.Lock()
	read := t.read
	if read == "" {
		read = t.head
	}
	t.mu.Unlock()
	o.Through = read
	res, err := t.compact(ctx, o)
	if !errors.Is(err, ErrOpenToolCalls) {
		return res, err
	}
	dry := o
	dry.Through, dry.DryRun, dry.Aliases = "", true, nil
	answered, err := t.c.Compact(ctx, ByID(read), dry)
	if err != nil {
		return nil, err
	}
	o.Through = answered.ThroughId
	return t.compact(ctx, o)
}

// compact is Compact through just what the compaction says.
func (t *Thread) compact(ctx context.Context, o Compaction) (*transcriptv1.CompactResponse, error) {
	if t.chat != "" {
		o.Aliases = append([]AliasUpdate{{Name: t.chat}}, o.Aliases...)
	}
	head := t.Head()
	res, err := t.c.Compact(ctx, ByAlias(t.alias), o)
	switch {
	case err != nil:
		return nil, err
	case !res.Written && !o.DryRun && res.HeadId != head: // perhaps another compacted
		return res, t.follow(ctx, head, res.HeadId, res.Counters)
	case res.Written && len(res.Aliases) == 0:
		return nil, fault(ErrBadReply, "a compaction that moved no alias")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if res.Written && t.head == res.Aliases[0].PreviousId { // else somebody appended, which the next append finds out
		t.moved(res.NodeId, res.Counters)
	}
	return res, nil
}

// follow makes the thread go on from where its alias points to, if that is a compaction put right below its head.
func (t *Thread) follow(ctx context.Context, head, to string, counters *transcriptv1.ChainCounters) error {
	found, err := t.c.NodeInfo(ctx, ByID(to))
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := found.Info.GetEnvelope(); e.GetCoversThroughId() != "" && e.GetParentId() == head && t.head == head {
		t.moved(to, counters)
	}
	return nil
}

// Trigger says when CompactWhen compacts.
type Trigger struct {
	// Bytes and Tokens are the size of the effective view past which it does; 0: that does not count. With neither it never
	// does.
	Bytes, Tokens int64
	// Compaction is what is kept. Its DryRun has no effect.
	Compaction Compaction
	// Summarize, if not nil, makes Compaction.Summary out of the effective view, which it owns. It is called once, when a
	// quarter would go even if the summary gets as long as the one before. It has to tell of the open run loop's work too,
	// of which a compaction with a summary keeps only what the user said.
	Summarize func(context.Context, []*transcriptv1.Message) (string, error)
}

// past tells whether the view is past the trigger's size.
func (w *Trigger) past(view *transcriptv1.Counters) bool {
	return w.Bytes > 0 && view.GetBytes() > w.Bytes || w.Tokens > 0 && view.GetTokens() > w.Tokens
}

// CompactWhen compacts where the effective view is past a size, and at least a quarter of its bytes would go; else the
// result is nil. Call it before a model is asked (after Start, and between steps), so that the reply and all that follows
// come behind the compaction. The size is what the thread's replies told last, so that most calls ask the server nothing;
// where too little would go, it asks again only once the view has grown by a tenth. A blank summary, and one so long that
// less than a quarter would go, is thrown away. Errors: those of Compact, of Assemble, and of Summarize. ErrOpenToolCalls is
// none: it waits for the results.
func (t *Thread) CompactWhen(ctx context.Context, when Trigger) (*transcriptv1.CompactResponse, error) {
	t.mu.Lock()
	head, size, again := t.head, t.size, t.compactAt
	t.mu.Unlock()
	if !when.past(size) || size.GetBytes() < again {
		return nil, nil
	}
	dry, err := t.compact(ctx, when.dry())
	switch {
	case errors.Is(err, ErrOpenToolCalls):
		t.wait(size, 1)
		return nil, nil
	case err != nil:
		return nil, err
	case dry.HeadId != head: // perhaps another writer compacted
		if err := t.follow(ctx, head, dry.HeadId, dry.Counters); err != nil {
			return nil, err
		}
	}
	o, err := when.compaction(ctx, t.c, dry)
	if err != nil {
		return nil, err
	}
	if o != nil {
		res, err := t.Compact(ctx, *o)
		overtaken := when.Compaction.Through == "" && errors.Is(err, ErrAlreadyCovered) // another writer was first
		if err != nil && !overtaken {
			return nil, err
		}
		if err == nil && res.Written {
			return res, nil
		}
	}
	t.wait(size, size.GetBytes()/10+1)
	return nil, nil
}

// wait makes CompactWhen wait until the view has grown by so many bytes from a size, unless it is another since.
func (t *Thread) wait(size *transcriptv1.Counters, more int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size == size {
		t.compactAt = size.GetBytes() + more
	}
}

// dry is the compaction without its effect. What goes where there is a summary does not depend on its text.
func (w *Trigger) dry() Compaction {
	o := w.Compaction
	o.DryRun = true
	if w.Summarize != nil {
		o.Summary = "?"
	}
	return o
}

// compaction is what is to be done after a dry run; nil: nothing, for too little would go.
func (w *Trigger) compaction(ctx context.Context, c *Client, dry *transcriptv1.CompactResponse) (*Compaction, error) {
	o := w.Compaction
	o.DryRun = false
	enough := func(summary int) bool {
		after := dry.Report.BytesAfter + int64(summary)
		return (dry.Report.BytesBefore-after)*4 >= dry.Counters.GetEffective().GetBytes()
	}
	if dry.NotWrittenReason != 0 || !enough(0) {
		return nil, nil
	}
	if o.Summary == "" && !o.SummaryOnly { // else Compact knows what was read
		o.Through = dry.ThroughId
	}
	if w.Summarize == nil {
		return &o, nil
	}
	// The summary has to stand for just what is compacted, whatever is said meanwhile.
	a, err := c.Assemble(ctx, ByID(dry.HeadId), Query{})
	if err != nil {
		return nil, err
	}
	messages, err := a.Messages()
	if err != nil {
		return nil, err
	}
	if !enough(len(summaryOf(messages))) { // not to have one made that will hardly be shorter
		return nil, nil
	}
	o.Through = dry.ThroughId
	if o.Summary, err = w.Summarize(ctx, messages); err != nil || strings.TrimSpace(o.Summary) == "" || !enough(len(o.Summary)) {
		return nil, err
	}
	return &o, nil
}
