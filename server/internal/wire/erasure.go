package wire

import (
	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Erasure is what is known of a node that was erased; nil of one that was not.
func Erasure(h *chainstore.Header, receipt []byte) *transcriptv1.ArchivedErasure {
	if h.Erased == nil {
		return nil
	}
	out := &transcriptv1.ArchivedErasure{
		MetadataBytes: int32(h.Erased.MetadataLength), Variables: canonical.ErasedVariables(h.Erased.Variables),
		Outcome: transcriptv1.RunOutcome(h.Outcome), Receipt: receipt,
	}
	for i := range h.Messages {
		out.MessageBytes = append(out.MessageBytes, h.Messages[i].Was)
	}
	return out
}
