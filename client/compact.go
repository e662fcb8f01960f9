package client

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Compaction says what a compaction keeps. The zero Compaction has the server's defaults.
type Compaction struct {
	// Through is the last node that it stands for: the head or an ancestor, with no call left unanswered at it; empty: the
	// last such node.
	Through string
	// Policy bounds what is kept; absent fields, and nil, have the server's defaults.
	Policy *transcriptv1.Policy
	// Summary, if not empty, comes first and replaces an earlier one. At most 1 MiB.
	Summary string
	// SummaryOnly keeps no closed run loop.
	SummaryOnly bool
	// Salt is as in Node.
	Salt []byte
	// DryRun reports what would be written, and writes nothing.
	DryRun bool
	// Aliases are set to the compaction node in the same commit, beside the alias that is the head.
	Aliases []AliasUpdate
}

// Compact appends a node that stands for what the effective view shows behind the preamble, condensed. Nothing is lost:
// the originals stay ancestors. Where head is an alias it moves to the node. Where nothing would shrink, and on a dry
// run, Written is false in the result; after a repeat it may be although an earlier attempt wrote. Errors:
// ErrNodeNotFound, ErrAliasNotFound, ErrNotAnAncestor, ErrAlreadyCovered, ErrOpenToolCalls, ErrCompactionTooLarge,
// ErrAliasMoved and others.
func (c *Client) Compact(ctx context.Context, head Ref, o Compaction) (*transcriptv1.CompactResponse, error) {
	req := &transcriptv1.CompactRequest{
		Namespace: c.options.namespace, Head: head.ref, ThroughId: o.Through, Policy: o.Policy, Summary: o.Summary,
		SummaryOnly: o.SummaryOnly, Salt: o.Salt, DryRun: o.DryRun,
	}
	for _, a := range o.Aliases {
		req.Aliases = append(req.Aliases, &transcriptv1.AliasUpdate{
			Name: a.Name, Precondition: a.If.condition, Labels: labels(a.Labels),
		})
	}
	res, err := read(ctx, c, c.rpc.Compact, req)
	if err == nil && (res.Report == nil || res.Counters == nil) {
		return nil, ErrBadReply
	}
	return res, err
}

// Compact compacts the chain of the thread's alias. The thread goes on from the compaction node, and so does every other
// thread of the alias by itself: a compaction is in no writer's way. Errors: those of Client.Compact.
func (t *Thread) Compact(ctx context.Context, o Compaction) (*transcriptv1.CompactResponse, error) {
	if t.chat != "" {
		o.Aliases = append([]AliasUpdate{{Name: t.chat}}, o.Aliases...)
	}
	res, err := t.c.Compact(ctx, ByAlias(t.alias), o)
	if err != nil || !res.Written || len(res.Aliases) == 0 {
		return res, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.head == res.Aliases[0].PreviousId { // else somebody appended, which the next append finds out
		t.moved(res.NodeId, res.Counters)
	}
	return res, nil
}

// Trigger says when CompactWhen compacts.
type Trigger struct {
	// Bytes and Tokens are the size of the effective view past which it does; 0: that does not count. With neither it never
	// does.
	Bytes, Tokens int64
	// Compaction is what is kept. Its DryRun has no effect.
	Compaction Compaction
	// Summarize, if not nil, makes Compaction.Summary out of the effective view, which it owns.
	Summarize func(context.Context, []*transcriptv1.Message) (string, error)
}

// past tells whether the view is past the trigger's size.
func (w *Trigger) past(view *transcriptv1.Counters) bool {
	return w.Bytes > 0 && view.GetBytes() > w.Bytes || w.Tokens > 0 && view.GetTokens() > w.Tokens
}

// CompactWhen compacts where the effective view is past a size, and at least a quarter of its bytes would go; else the
// result is nil. Call it after each turn: the size is what the thread's replies told last, so that most calls ask the
// server nothing; and where too little would go, it asks again only once the view has grown by a tenth. Errors: those of
// Compact, of Messages, and of Summarize. ErrOpenToolCalls is none: it waits for the results.
func (t *Thread) CompactWhen(ctx context.Context, when Trigger) (*transcriptv1.CompactResponse, error) {
	t.mu.Lock()
	size, again := t.size, t.compactAt
	t.mu.Unlock()
	if !when.past(size) || size.GetBytes() < again {
		return nil, nil
	}
	o := when.Compaction
	o.DryRun = true
	if when.Summarize != nil && o.Summary == "" {
		o.Summary = "?" // what else goes where there is a summary does not depend on its text
	}
	dry, err := t.Compact(ctx, o)
	if err != nil {
		return nil, unless(err, ErrOpenToolCalls)
	}
	if saved := dry.Report.BytesBefore - dry.Report.BytesAfter; saved*4 < size.GetBytes() {
		t.mu.Lock()
		t.compactAt = size.GetBytes() + size.GetBytes()/10
		t.mu.Unlock()
		return nil, nil
	}
	o.DryRun, o.Summary = false, when.Compaction.Summary
	if when.Summarize != nil {
		messages, err := t.Messages(ctx, nil)
		if err != nil {
			return nil, err
		}
		if o.Summary, err = when.Summarize(ctx, messages); err != nil {
			return nil, err
		}
	}
	res, err := t.Compact(ctx, o)
	return res, unless(err, ErrOpenToolCalls)
}

// unless is err, unless it is of a reason.
func unless(err error, reason Reason) error {
	if errors.Is(err, reason) {
		return nil
	}
	return err
}

// Unbounded is the policy that bounds nothing: where a Policy is given, absent fields are the server's defaults.
func Unbounded() *transcriptv1.Policy {
	return &transcriptv1.Policy{
		MaxRunLoops: proto.Int32(0), MaxAge: new(durationpb.Duration), MaxBytes: proto.Int64(0), MaxTokens: proto.Int64(0),
		MaxUserChars: proto.Int32(0), MaxReplyChars: proto.Int32(0),
	}
}
