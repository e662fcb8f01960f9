package wire

import (
	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Links are the nodes that a node's envelope names: its parent, nil for a root, and the last node that it covers, nil but
// for a compaction node.
type Links struct{ Parent, Covers *chainstore.ID }

// EnvelopeInfo is the envelope of a node with its links, without its payload digest.
func EnvelopeInfo(h *chainstore.Header, metadata []byte, l Links) *transcriptv1.EnvelopeInfo {
	e := &transcriptv1.EnvelopeInfo{Salt: h.Salt}
	if l.Parent != nil {
		e.ParentId = l.Parent.String()
	}
	if l.Covers != nil {
		e.CoversThroughId = l.Covers.String()
	}
	switch {
	case h.Erased != nil && h.Erased.MetadataDigest != nil:
		e.MetadataDigest = h.Erased.MetadataDigest.String()
	case len(metadata) > 0:
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

// Content is how messages of a node that a reply has stand to those that it was put with: verbatim says that they are those that are stored.
func Content(h *chainstore.Header, verbatim bool) transcriptv1.NodeContent {
	switch {
	case h.Erased != nil:
		return transcriptv1.NodeContent_NODE_CONTENT_ERASED
	case verbatim:
		return transcriptv1.NodeContent_NODE_CONTENT_VERBATIM
	default:
		return transcriptv1.NodeContent_NODE_CONTENT_MADE
	}
}

// PayloadDigest is a payload's digest in hex; of a node that was erased that from before.
func PayloadDigest(h *chainstore.Header, payload []byte) string {
	if h.Erased != nil {
		return h.Erased.PayloadDigest.String()
	}
	return chainstore.ID(canonical.PayloadDigest(h.Salt, payload)).String()
}
