package server

import (
	"context"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// info tells of a part of a node; nil where nothing is asked for.
func (s *splicer) info(ctx context.Context, row *chainstore.Row, h *chainstore.Header, p *part) (*transcriptv1.NodeInfo, error) {
	if !s.told() {
		return nil, nil
	}
	info := &transcriptv1.NodeInfo{
		NodeId: h.ID.String(), MessageCount: int32(p.messages), SizeBytes: int64(p.bytes), Verbatim: p.verbatim,
		Notes: p.notes,
	}
	if s.detail != transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES {
		return info, nil
	}
	links, err := s.links(ctx, h)
	if err != nil {
		return nil, err
	}
	info.Envelope = envelopeInfo(h, row.Metadata, links)
	if !p.verbatim {
		info.Envelope.PayloadDigest = payloadDigest(h, row.Payload)
	}
	return info, nil
}

// links are the nodes that a node's envelope names: its parent, nil for a root, and the last node that it covers, nil but
// for a compaction node.
type links struct{ parent, covers *chainstore.ID }

// links looks up what the rows seen do not tell.
func (s *splicer) links(ctx context.Context, h *chainstore.Header) (links, error) {
	if s.last.present && s.last.seq+1 == h.Seq && !h.Covers.Present {
		id := s.last.id
		return links{parent: &id}, nil
	}
	return linksOf(ctx, s.chain, h)
}

// linksOf looks up the links of a node of a chain.
func linksOf(ctx context.Context, chain chainstore.Chain, h *chainstore.Header) (l links, err error) {
	if h.Seq > 0 {
		if l.parent, err = idAt(ctx, chain, h.Seq-1); err != nil {
			return l, err
		}
	}
	if h.Covers.Present {
		l.covers, err = idAt(ctx, chain, h.Covers.Seq)
	}
	return l, err
}

// idAt is the id of a node of a chain.
func idAt(ctx context.Context, chain chainstore.Chain, seq uint32) (*chainstore.ID, error) {
	var id *chainstore.ID
	err := chain.Rows(ctx, chainstore.Span{From: seq, Through: seq, HeadersOnly: true}, func(row *chainstore.Row) error {
		found := row.Raw.ID()
		id = &found
		return nil
	})
	if err == nil && id == nil {
		err = noRow(seq)
	}
	return id, err
}

// notes are those of the messages of a part, stubs with empty ones; nil where none were put, or nothing is told.
func (s *splicer) notes(h *chainstore.Header, p *part) []*transcriptv1.MessageNote {
	if !s.told() {
		return nil
	}
	return notes(h.Messages[p.from:p.through], p.verbatim)
}

// notes are those of the messages that a view shows, stubs with empty ones; nil where none were put.
func notes(messages []runloop.Brief, verbatim bool) []*transcriptv1.MessageNote {
	var l noteList
	for i := range messages {
		m := &messages[i]
		if !verbatim {
			for range m.Mark.Stubs {
				l.add(&runloop.Note{})
			}
		}
		if verbatim || m.Mark.LeftOut == runloop.Shown {
			l.add(&m.Note)
		}
	}
	return l.list()
}

// noteList gathers notes.
type noteList struct {
	notes []*transcriptv1.MessageNote
	// put says that one is not empty.
	put bool
}

func (l *noteList) add(n *runloop.Note) {
	l.notes = append(l.notes, messageNote(n))
	l.put = l.put || *n != runloop.Note{}
}

// list is nil where all are empty.
func (l *noteList) list() []*transcriptv1.MessageNote {
	if !l.put {
		return nil
	}
	return l.notes
}

func messageNote(n *runloop.Note) *transcriptv1.MessageNote {
	note := &transcriptv1.MessageNote{Estimated: n.Estimated}
	if n.HasSentAt {
		note.SentAt = timestamp(n.SentAt)
	}
	if n.HasTokens {
		tokens := n.Tokens // n is part of a header whose memory serves other rows
		note.TokenCount = &tokens
	}
	return note
}

// envelopeInfo is the envelope of a node with its links, without its payload digest.
func envelopeInfo(h *chainstore.Header, metadata []byte, l links) *transcriptv1.EnvelopeInfo {
	e := &transcriptv1.EnvelopeInfo{Salt: h.Salt}
	if l.parent != nil {
		e.ParentId = l.parent.String()
	}
	if l.covers != nil {
		e.CoversThrough = l.covers.String()
	}
	if len(metadata) > 0 {
		e.MetadataDigest = chainstore.ID(canonical.MetadataDigest(h.Salt, metadata)).String()
	}
	if from := h.SpawnedFrom; from != nil {
		e.SpawnedFrom = &transcriptv1.SpawnedFromRef{NodeId: from.Node.String()}
		if from.CallID.Present {
			e.SpawnedFrom.ToolCallId = &from.CallID.Value
		}
	}
	return e
}

// payloadDigest is a payload's digest in hex.
func payloadDigest(h *chainstore.Header, payload []byte) string {
	return chainstore.ID(canonical.PayloadDigest(h.Salt, payload)).String()
}
