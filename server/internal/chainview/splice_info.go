package chainview

import (
	"context"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// info tells of a part of a node; nil where nothing is asked for.
func (s *splicer) info(ctx context.Context, row *chainstore.Row, h *chainstore.Header, p *part) (*transcriptv1.NodeInfo, error) {
	if !s.wantsInfo() {
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
	return LinksOf(ctx, s.chain, h)
}

// notes are those of the messages of a part, stubs with empty ones; nil where none were put, or nothing is told.
func (s *splicer) notes(h *chainstore.Header, p *part) []*transcriptv1.MessageNote {
	if !s.wantsInfo() {
		return nil
	}
	return wire.Notes(h.Messages[p.from:p.through], p.verbatim)
}

// infoSize is what a NodeInfo takes in a reply; nothing for none.
func infoSize(info *transcriptv1.NodeInfo) int {
	if info == nil {
		return 0
	}
	return 1 + protowire.SizeBytes(proto.Size(info))
}
