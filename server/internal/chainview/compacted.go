package chainview

import (
	"context"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Compact plans and reads what a compaction through a node keeps; summary is the caller's, empty for none.
func (e *Effective) Compact(ctx context.Context, policy *compaction.Policy, summaryOnly bool, summary string, through *chainstore.Header) (*Compacted, error) {
	o := compaction.Options{Policy: *policy, Compact: &compaction.Compact{SummaryOnly: summaryOnly}}
	made := &Compacted{policy: policy}
	if summary != "" {
		made.addMade(compaction.Summary(summary))
		size := made.after
		o.Compact.Summary = &size
	}
	var plan *compaction.Plan
	var before compaction.Size
	err := e.withCalls(ctx, policy, func() (err error) {
		plan, before, err = e.plan(ctx, o, through)
		return err
	})
	if err != nil {
		return nil, err
	}
	made.plan, made.before = plan, before
	made.loops = runloop.Loops{Begins: append(make([]bool, 0, len(plan.Early)+len(plan.Actions)+1), made.loops.Begins...), Phase: plan.Phase}
	return made, made.read(ctx, e, through.Seq)
}

// Compacted is what a compaction node is to hold.
type Compacted struct {
	policy *compaction.Policy
	plan   *compaction.Plan
	// before is what the effective view shows in its place, after what it holds.
	before, after compaction.Size
	shortened     int64
	replaced      bool
	// TooLarge says that it is over a node's limits: then it is only counted.
	TooLarge bool

	payload []byte
	facts   []runloop.Facts
	// details are those of the messages through the last that has any, rowDetails those of the row that is read.
	details, rowDetails []chainstore.Detail
	provenance          []chainstore.Provenance
	// loops are the run loops of the messages; starts is how many of the plan's were come to.
	loops  runloop.Loops
	starts int
	// pairs finds the calls that results answer, for lines.
	pairs pairing
}

// add adds a message, an entry of a payload, with its facts.
func (c *Compacted) add(entry []byte, f runloop.Facts, detail *chainstore.Detail, from chainstore.Provenance, begins bool) {
	b := runloop.BriefOf(&f, runloop.Mark{})
	tokens, estimated := b.Tokens()
	c.after.Add(int64(f.Length), tokens, estimated)
	if c.TooLarge = c.after.Messages > canonical.MaxMessages || c.after.Bytes > canonical.MaxPayloadBytes; c.TooLarge {
		c.payload, c.facts, c.details, c.provenance, c.loops.Begins = nil, nil, nil, nil, nil
		return
	}
	c.payload = append(c.payload, entry...)
	c.facts = append(c.facts, f)
	if detail != nil && !detail.Empty() {
		c.details = append(append(c.details, make([]chainstore.Detail, len(c.facts)-1-len(c.details))...), *detail)
	}
	c.provenance = append(c.provenance, from)
	c.loops.Begins = append(c.loops.Begins, begins)
}

// addMade adds a message that the server made.
func (c *Compacted) addMade(m *transcriptv1.Message) {
	c.add(canonical.AppendMessage(nil, m), canonical.FactsOf(m), nil, chainstore.Provenance{}, false)
}

// read adds what the plan keeps.
func (c *Compacted) read(ctx context.Context, e *Effective, through uint32) error {
	a := &planCursor{plan: c.plan}
	origins, err := e.origins(ctx, c.plan)
	if err != nil {
		return err
	}
	err = e.read(ctx, e.shown(c.plan, through), false, func(r *viewRow) error {
		h, err := r.Header()
		if err != nil {
			return err
		}
		if c.rowDetails, err = wire.Details(r.Row); err != nil {
			return err
		}
		return eachMessage(h, r, a, func(m *message) error { return c.message(h, m, origins) })
	})
	if err == nil && !a.started {
		c.addLine(c.plan.LeftOut)
	}
	return err
}

// addLine adds the left-out line that says so many loops; none for 0.
func (c *Compacted) addLine(loops int64) {
	if loops > 0 {
		c.addMade(canonical.LeftOut(loops))
	}
}

// message adds a message, or a stub before one, as the plan says.
func (c *Compacted) message(h *chainstore.Header, m *message, o *origins) error {
	if m.stub != nil {
		c.pairs.stub(*m.stub)
		c.addMade(canonical.Stub(*m.stub))
		return nil
	}
	if m.leftOut > 0 {
		c.addLine(m.leftOut)
		return nil
	}
	begins := c.begins(runloop.Place{Seq: h.Seq, Index: uint32(m.index)})
	if m.action == compaction.Drop {
		c.replaced = c.replaced || m.brief.Summary
		return nil
	}
	k, err := c.keep(h, m, o)
	if err != nil {
		return err
	}
	note := &k.facts.Note
	*note = m.brief.Note
	if k.shortened {
		c.shortened++
		*note = runloop.Note{SentAt: note.SentAt, HasSentAt: note.HasSentAt}
	}
	if !m.brief.Aside() && k.origin != transcriptv1.Origin_ORIGIN_STUB {
		note.SentAt, note.HasSentAt = h.Times().Of(m.brief), true
	}
	c.add(k.entry, k.facts, wire.DetailAt(c.rowDetails, m.index), o.provenance(h, m.index), begins)
	return nil
}

// begins tells whether a loop that is kept begins at a place. Places come in the order of the view.
func (c *Compacted) begins(at runloop.Place) bool {
	starts := c.plan.Starts[c.starts:]
	if len(starts) == 0 || starts[0] != at {
		return false
	}
	c.starts++
	return true
}

// kept is a message as the plan keeps it: whole, cut, or its line.
type kept struct {
	entry     []byte
	facts     runloop.Facts
	origin    transcriptv1.Origin
	shortened bool
}

// keep makes of a message what the plan keeps of it. What stays whole stays the bytes that were stored.
func (c *Compacted) keep(h *chainstore.Header, at *message, o *origins) (k kept, err error) {
	if k.entry, k.shortened = appendCut(nil, at, c.policy); !k.shortened {
		k.entry = at.bytes
	}
	messages, err := canonical.DecodePayload(k.entry)
	if err != nil {
		return k, err
	}
	m := messages[0]
	k.facts, k.origin = canonical.FactsOf(m), m.Origin
	call := c.pairs.next(&k.facts)
	if at.action != compaction.Line {
		return k, nil
	}
	o.line(h, at.index, m, &k.facts, call)
	return kept{canonical.AppendMessage(nil, m), canonical.FactsOf(m), m.Origin, true}, nil
}

// Shrinks tells whether there is something to gain.
func (c *Compacted) Shrinks(mayBeEmpty bool) bool {
	return c.after.Bytes < c.before.Bytes && (c.after.Messages > 0 || mayBeEmpty)
}

// fitDetails drops details, those of the earliest messages first, until they are within a node's limit. They are copies, and where the
// messages were put first has them.
func (c *Compacted) fitDetails() {
	bytes := 0
	for i := len(c.details) - 1; i >= 0; i-- {
		if bytes += wire.DetailBytes(&c.details[i]); bytes > wire.MaxDetailBytes {
			clear(c.details[:i+1])
			return
		}
	}
}

// Node is the node to put; erasures is what the store counted before it was planned.
func (c *Compacted) Node(parent chainstore.Parent, through chainstore.ID, erasures uint64, salt []byte) chainstore.NewNode {
	digest := canonical.PayloadDigest(salt, c.payload)
	c.fitDetails()
	return chainstore.NewNode{
		Parent: parent, Payload: c.payload, Salt: salt, Messages: c.facts, Details: chainstore.EncodeDetails(c.details),
		Identify: func(parent *chainstore.ID) chainstore.ID {
			return canonical.NodeID(canonical.Envelope{
				PayloadDigest: digest, Parent: (*[32]byte)(parent), CoversThrough: (*[32]byte)(&through),
			})
		},
		Compaction: &chainstore.Compaction{Covers: through, Provenance: c.provenance, Erasures: erasures, Loops: &c.loops},
	}
}

func (c *Compacted) Report() *transcriptv1.CompactReport {
	return &transcriptv1.CompactReport{
		MessagesBefore: wire.Count(c.before.Messages), BytesBefore: c.before.Bytes, TokensBefore: c.before.Tokens,
		MessagesAfter: wire.Count(c.after.Messages), BytesAfter: c.after.Bytes, TokensAfter: c.after.Tokens,
		TokensEstimated: c.before.Estimated || c.after.Estimated,
		RunLoopsDropped: wire.Count(c.plan.Dropped), RunLoopsCondensed: wire.Count(c.plan.Condensed), RunLoopsWhole: wire.Count(c.plan.Whole),
		ShortenedMessages: wire.Count(c.shortened), SummaryReplaced: c.replaced,
		Policy: wire.ResolvedPolicy(c.policy),
	}
}
