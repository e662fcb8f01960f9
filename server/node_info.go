package server

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
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
	info.Envelope = wire.EnvelopeInfo(h, row.Metadata, links)
	if !p.verbatim {
		info.Envelope.PayloadDigest = wire.PayloadDigest(h, row.Payload)
	}
	return info, nil
}

// links looks up what the rows seen do not tell.
func (s *splicer) links(ctx context.Context, h *chainstore.Header) (wire.Links, error) {
	if s.last.present && s.last.seq+1 == h.Seq && !h.Covers.Present {
		id := s.last.id
		return wire.Links{Parent: &id}, nil
	}
	return linksOf(ctx, s.chain, h)
}

// linksOf looks up the links of a node of a chain.
func linksOf(ctx context.Context, chain chainstore.Chain, h *chainstore.Header) (l wire.Links, err error) {
	if h.Seq > 0 {
		if l.Parent, err = idAt(ctx, chain, h.Seq-1); err != nil {
			return l, err
		}
	}
	if h.Covers.Present {
		l.Covers, err = idAt(ctx, chain, h.Covers.Seq)
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
	return wire.Notes(h.Messages[p.from:p.through], p.verbatim)
}
