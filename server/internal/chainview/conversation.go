package chainview

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// conversation is a conversation view, planned but not read yet: the plan was made from headers alone.
type conversation struct {
	view   *Effective
	policy compaction.Policy
	plan   *compaction.Plan
	// spans are the rows that it shows something of, in its order.
	spans []chainstore.Span
	// origins are those that its lines name, once they are looked up.
	origins *origins
}

// openConversation plans the conversation.
func (a *Assembly) openConversation(ctx context.Context, policy compaction.Policy, condenseLast bool) error {
	view := OpenEffective(a.Chain)
	var plan *compaction.Plan
	err := view.withCalls(ctx, &policy, func() (err error) {
		plan, err = view.converse(ctx, policy, condenseLast)
		return err
	})
	if err != nil {
		return err
	}
	c := &conversation{view: view, policy: policy, plan: plan}
	c.spans = joined(append(view.preambleSpans(), view.shown(plan, a.Chain.Head().Seq)...))
	a.conversation, a.Etag = c, a.hashEtag(c.etagOf(a.detail, a.facts, condenseLast))
	return nil
}

// converse feeds a planner what it needs. Where sizes do not matter, what lies between the messages before the first loop
// and the start of the window is not read, and so most of what is read is shown.
func (e *Effective) converse(ctx context.Context, policy compaction.Policy, condenseLast bool) (*compaction.Plan, error) {
	o := compaction.Options{Policy: policy, CondenseLast: condenseLast}
	e.again = !policy.NeedsSizes()
	w, err := e.findWindow(ctx, &policy)
	if err != nil {
		return nil, err
	}
	if w == nil {
		plan, _, err := e.plan(ctx, o, e.chain.Head())
		return plan, err
	}
	return e.planFrom(ctx, compaction.NewPlanner(o), w)
}

// etagOf is what the etag of the view is of.
func (c *conversation) etagOf(detail transcriptv1.NodeDetail, facts *wire.NodeFacts, condenseLast bool) []byte {
	b := []byte{assemblerVersion, 'c', byte(detail), byte(boolToInt(condenseLast)), byte(boolToInt(c.policy.TraceRequests)), byte(boolToInt(c.policy.OmitLeftOutLine))}
	p := &c.policy
	for _, n := range []int64{
		int64(p.MaxRunLoops), p.MaxAge, p.MaxBytes, p.MaxTokens, int64(p.MaxUserChars), int64(p.MaxReplyChars),
		int64(p.KeepWholeRunLoops), int64(boolToInt(p.Clear.On)), int64(p.Clear.Keep), int64(boolToInt(p.Clear.Arguments)),
		int64(p.Clear.CachedPercent),
	} {
		b = binary.AppendVarint(b, n)
	}
	b = binary.AppendUvarint(b, uint64(len(p.ReplyTools)))
	for _, name := range p.ReplyTools {
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	}
	head := c.view.chain.Head().ID
	return facts.AppendKey(append(b, head[:]...))
}

// hasLines tells whether results become lines, so that their calls have to be known.
func (c *conversation) hasLines() bool { return slices.Contains(c.plan.Actions, compaction.Line) }

// lines are the left-out lines of the effective view: the compaction node's.
func (e *Effective) lines() (s compaction.Size) {
	if e.compaction == nil {
		return s
	}
	for i := range e.compaction.Messages {
		if m := &e.compaction.Messages[i]; m.LeftOutLine {
			addShown(&s, m)
		}
	}
	return s
}

// complete adds to the report of all that was shown what was not. Left-out lines are in neither.
func (c *conversation) complete(r *Report) {
	t, lines := &c.view.state().Effective.Totals, c.view.lines()
	lines.Messages, lines.Bytes, lines.Tokens = lines.Messages-r.line.Messages, lines.Bytes-r.line.Bytes, lines.Tokens-r.line.Tokens
	loops := c.plan.Condensed + c.plan.Whole
	r.leftOut = &transcriptv1.LeftOut{
		Messages: wire.Count(t.Messages - r.messages - lines.Messages), Bytes: t.Bytes - r.bytes - lines.Bytes,
		Tokens:   max(0, t.Tokens-r.tokens-lines.Tokens),
		RunLoops: wire.Count(t.Loops - loops),
	}
	r.limitExceeded = c.plan.LimitExceeded
	r.policy = &c.policy
	if r.window != nil {
		r.window.RunLoops = wire.Count(loops + int64(boolToInt(c.plan.LeadIn)))
	}
}
