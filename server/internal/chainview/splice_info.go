package chainview

import (
	"context"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// info tells of a part of a node; nil where nothing is asked for.
func (s *splicer) info(row *chainstore.Row, h *chainstore.Header, p *part) (*transcriptv1.NodeInfo, error) {
	if !s.wantsInfo() {
		return nil, nil
	}
	info := &transcriptv1.NodeInfo{
		NodeId: h.ID.String(), MessageCount: int32(p.messages), SizeBytes: int64(p.bytes), Content: wire.Content(h, p.verbatim),
		Notes: p.notes,
	}
	if err := s.facts.Tell(info, h, row.Metadata); err != nil || s.detail != transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES {
		return info, err
	}
	info.Envelope = wire.EnvelopeInfo(h, row.Metadata, wire.Links{})
	if h.Seq > 0 {
		s.link(h.Seq-1, &info.Envelope.ParentId)
	}
	if h.Covers.Present {
		s.link(h.Covers.Seq, &info.Envelope.CoversThroughId)
	}
	if info.Content != transcriptv1.NodeContent_NODE_CONTENT_VERBATIM {
		info.Envelope.PayloadDigest = wire.PayloadDigest(h, row.Payload)
	}
	return info, nil
}

// unnamed is a link whose id no row that was seen has told.
type unnamed struct {
	seq uint32
	id  *string
}

// link tells the id of a node, or keeps its place for Link.
func (s *splicer) link(seq uint32, id *string) {
	if s.last.present && s.last.seq == seq {
		*id = s.last.id.String()
		return
	}
	*id = chainstore.ID{}.String()
	s.unnamed = append(s.unnamed, unnamed{seq, id})
}

// Link looks up the links that are to be.
func (s *splicer) Link(ctx context.Context) error {
	if len(s.unnamed) == 0 {
		return nil
	}
	seqs := make([]uint32, len(s.unnamed))
	for i := range s.unnamed {
		seqs[i] = s.unnamed[i].seq
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	ids, err := IDsAt(ctx, s.chain, seqs...)
	if err != nil {
		return err
	}
	for _, u := range s.unnamed {
		at, _ := slices.BinarySearch(seqs, u.seq)
		*u.id = ids[at].String()
	}
	s.unnamed = nil
	return nil
}

// details are those of a row's messages; nil where none were put, or nothing is told.
func (s *splicer) details(row *chainstore.Row) ([]chainstore.Detail, error) {
	if !s.wantsInfo() {
		return nil, nil
	}
	return wire.Details(row)
}

// notes are those of the messages of a part, stubs with empty ones; nil where none were put, or nothing is told.
func (s *splicer) notes(details []chainstore.Detail, p *part) []*transcriptv1.MessageNote {
	if !s.wantsInfo() {
		return nil
	}
	var l wire.NoteList
	for i := p.from; i < p.through; i++ {
		stubs, m := p.of.at(i)
		for range stubs {
			l.Add(&runloop.Note{}, nil)
		}
		if m != nil && p.of.shows(m) {
			l.Add(&m.Note, wire.DetailAt(details, i))
		}
	}
	return l.List()
}

// infoSize is what a NodeInfo takes in a reply; nothing for none.
func infoSize(info *transcriptv1.NodeInfo) int {
	if info == nil {
		return 0
	}
	return 1 + protowire.SizeBytes(proto.Size(info))
}
