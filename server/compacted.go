package server

import (
	"context"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// compacted is what a compaction node is to hold.
type compacted struct {
	policy *compaction.Policy
	plan   *compaction.Plan
	// before is what the effective view shows in its place, after what it holds.
	before, after compaction.Size
	shortened     int64
	replaced      bool
	// tooLarge says that it is over a node's limits: then it is only counted.
	tooLarge bool

	payload    []byte
	facts      []runloop.Facts
	provenance []chainstore.Provenance
	// pairs finds the calls that results answer, for lines.
	pairs pairing
}

// add adds a message.
func (c *compacted) add(m *transcriptv1.Message, note runloop.Note, from chainstore.Provenance) {
	f := canonical.FactsOf(m)
	f.Note = note
	b := runloop.BriefOf(&f, runloop.Mark{})
	tokens, estimated := b.Tokens()
	c.after.Add(int64(f.Length), tokens, estimated)
	if c.tooLarge = c.after.Messages > canonical.MaxMessages || c.after.Bytes > canonical.MaxPayloadBytes; c.tooLarge {
		c.payload, c.facts, c.provenance = nil, nil, nil
		return
	}
	c.payload = canonical.AppendMessage(c.payload, m)
	c.facts = append(c.facts, f)
	c.provenance = append(c.provenance, from)
}

// read adds what the plan keeps.
func (c *compacted) read(ctx context.Context, e *effective, through uint32) error {
	a := &application{plan: c.plan}
	origins := &origins{chain: e.chain, compaction: e.compaction}
	return e.read(ctx, e.shown(c.plan, through), false, func(r *viewRow) error {
		h, err := r.Header()
		if err != nil {
			return err
		}
		return eachMessage(h, r, a, func(m *message) error { return c.message(ctx, h, m, origins) })
	})
}

// message adds a message, or the stubs before it, as the plan says.
func (c *compacted) message(ctx context.Context, h *chainstore.Header, m *message, o *origins) error {
	if m.stub != nil {
		c.pairs.stub(*m.stub)
		c.add(canonical.Stub(*m.stub), runloop.Note{}, chainstore.Provenance{})
		return nil
	}
	if m.action == compaction.Drop {
		c.replaced = c.replaced || m.brief.Summary
		return nil
	}
	decoded, err := canonical.DecodePayload(m.bytes)
	if err != nil {
		return err
	}
	made, err := c.made(ctx, decoded[0], h, m, o)
	if err != nil {
		return err
	}
	note := m.brief.Note
	if made {
		c.shortened++
		note = runloop.Note{SentAt: note.SentAt, HasSentAt: note.HasSentAt}
	}
	if !m.brief.Summary && decoded[0].Origin != transcriptv1.Origin_ORIGIN_STUB {
		note.SentAt, note.HasSentAt = m.brief.SentAt(h.FirstPut), true
	}
	c.add(decoded[0], note, o.provenance(h, m.index))
	return nil
}

// made cuts the message or makes it a line, as the plan says, and tells whether it changed.
func (c *compacted) made(ctx context.Context, m *transcriptv1.Message, h *chainstore.Header, at *message, o *origins) (bool, error) {
	f := canonical.FactsOf(m)
	call, _ := c.pairs.next(&f)
	switch at.action {
	case compaction.CutUser:
		return compaction.Cut(m, c.policy.MaxUserChars), nil
	case compaction.CutReply:
		return compaction.Cut(m, c.policy.MaxReplyChars), nil
	case compaction.Line:
		return true, o.line(ctx, h, at.index, m, &f, call)
	default:
		return false, nil
	}
}

// shrinks tells whether there is something to gain.
func (c *compacted) shrinks(mayBeEmpty bool) bool {
	return c.after.Bytes < c.before.Bytes && (c.after.Messages > 0 || mayBeEmpty)
}

// node is the node to put.
func (c *compacted) node(parent chainstore.Parent, through chainstore.ID, salt []byte) chainstore.NewNode {
	digest := canonical.PayloadDigest(salt, c.payload)
	return chainstore.NewNode{
		Parent: parent, Payload: c.payload, Salt: salt, Messages: c.facts,
		Identify: func(parent *chainstore.ID) chainstore.ID {
			return canonical.NodeID(canonical.Envelope{
				PayloadDigest: digest, Parent: (*[32]byte)(parent), CoversThrough: (*[32]byte)(&through),
			})
		},
		Compaction: &chainstore.Compaction{Covers: through, Provenance: c.provenance},
	}
}

func (c *compacted) report() *transcriptv1.CompactReport {
	return &transcriptv1.CompactReport{
		MessagesBefore: c.before.Messages, BytesBefore: c.before.Bytes, TokensBefore: c.before.Tokens,
		MessagesAfter: c.after.Messages, BytesAfter: c.after.Bytes, TokensAfter: c.after.Tokens,
		TokensEstimated: c.before.Estimated || c.after.Estimated,
		LoopsDropped:    c.plan.Dropped, LoopsCondensed: c.plan.Condensed, LoopsWhole: c.plan.Whole,
		Shortened: c.shortened, SummaryReplaced: c.replaced,
	}
}
