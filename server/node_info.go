package server

import (
	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// info tells of a part of a node; nil where nothing is asked for.
func (s *splicer) info(row *chainstore.Row, h *chainstore.Header, p *part) (*transcriptv1.NodeInfo, error) {
	if s.detail == transcriptv1.NodeDetail_NODE_DETAIL_UNSPECIFIED {
		return nil, nil
	}
	info := &transcriptv1.NodeInfo{
		NodeId: h.ID.String(), MessageCount: int32(p.messages), SizeBytes: int64(p.bytes), Verbatim: p.verbatim,
		Notes: notes(h.Messages[p.from:p.through], p.verbatim),
	}
	if s.detail == transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES {
		info.Envelope = envelopeInfo(h, row.Metadata, s.parent)
		if !p.verbatim {
			info.Envelope.PayloadDigest = payloadDigest(h, row.Payload)
		}
	}
	return info, nil
}

// notes are those of the messages that a view shows, stubs with empty ones; nil where none were put.
func notes(messages []runloop.Brief, verbatim bool) []*transcriptv1.MessageNote {
	var notes []*transcriptv1.MessageNote
	put := false
	for i := range messages {
		m := &messages[i]
		if !verbatim {
			for range m.Mark.Stubs {
				notes = append(notes, &transcriptv1.MessageNote{})
			}
		}
		if verbatim || m.Mark.LeftOut == runloop.Shown {
			notes = append(notes, messageNote(&m.Note))
			put = put || m.Note != runloop.Note{}
		}
	}
	if !put {
		return nil
	}
	return notes
}

func messageNote(n *runloop.Note) *transcriptv1.MessageNote {
	note := &transcriptv1.MessageNote{Estimated: n.Estimated}
	if n.HasSentAt {
		note.SentAt = timestamp(n.SentAt)
	}
	if n.HasTokens {
		note.TokenCount = &n.Tokens
	}
	return note
}

// envelopeInfo is the envelope of a node under parent, nil for a root, without its payload digest.
func envelopeInfo(h *chainstore.Header, metadata []byte, parent *chainstore.ID) *transcriptv1.EnvelopeInfo {
	e := &transcriptv1.EnvelopeInfo{Salt: h.Salt}
	if parent != nil {
		e.ParentId = parent.String()
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
