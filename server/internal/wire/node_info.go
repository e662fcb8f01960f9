package wire

import (
	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Links are the nodes that a node's envelope names: its parent, nil for a root, and the last node that it covers, nil but
// for a compaction node.
type Links struct{ Parent, Covers *chainstore.ID }

// Notes are those of the messages that were put in a node; nil where none were.
func Notes(messages []runloop.Brief) []*transcriptv1.MessageNote {
	var l NoteList
	for i := range messages {
		l.Add(&messages[i].Note)
	}
	return l.List()
}

// NoteList gathers notes.
type NoteList struct {
	notes []*transcriptv1.MessageNote
	// put says that one is not empty.
	put bool
}

func (l *NoteList) Add(n *runloop.Note) {
	l.notes = append(l.notes, messageNote(n))
	l.put = l.put || *n != runloop.Note{}
}

// List is nil where all are empty.
func (l *NoteList) List() []*transcriptv1.MessageNote {
	if !l.put {
		return nil
	}
	return l.notes
}

func messageNote(n *runloop.Note) *transcriptv1.MessageNote {
	note := &transcriptv1.MessageNote{Estimated: n.Estimated}
	if n.HasSentAt {
		note.SentAt = Timestamp(n.SentAt)
	}
	if n.HasTokens {
		tokens := n.Tokens // n is part of a header whose memory serves other rows
		note.TokenCount = &tokens
	}
	return note
}

// EnvelopeInfo is the envelope of a node with its links, without its payload digest.
func EnvelopeInfo(h *chainstore.Header, metadata []byte, l Links) *transcriptv1.EnvelopeInfo {
	e := &transcriptv1.EnvelopeInfo{Salt: h.Salt}
	if l.Parent != nil {
		e.ParentId = l.Parent.String()
	}
	if l.Covers != nil {
		e.CoversThrough = l.Covers.String()
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

// PayloadDigest is a payload's digest in hex.
func PayloadDigest(h *chainstore.Header, payload []byte) string {
	return chainstore.ID(canonical.PayloadDigest(h.Salt, payload)).String()
}
