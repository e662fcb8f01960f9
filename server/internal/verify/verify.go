// Package verify is what the rpc Verify does beside the store: it judges bytes, and sends reports.
package verify

import (
	"errors"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
)

// Judge is the chainstore.Judge of what clients put: bytes that are not canonical, or break a rule, are no node's.
// The id of a node that was erased is that of the digests that are written down.
func Judge(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
	facts, err := canonical.CheckPayload(payload)
	if err != nil {
		return chainstore.Judgement{}, broken("messages", err)
	}
	entries, err := canonical.CheckMetadata(metadata)
	if err != nil {
		return chainstore.Judgement{}, broken("metadata", err)
	}
	envelope := canonical.Envelope{PayloadDigest: canonical.PayloadDigest(h.Salt, payload), Parent: (*[32]byte)(parent), CoversThrough: (*[32]byte)(covers)}
	if len(metadata) > 0 {
		digest := canonical.MetadataDigest(h.Salt, metadata)
		envelope.MetadataDigest = &digest
	}
	if h.Erased != nil {
		envelope.PayloadDigest, envelope.MetadataDigest = h.Erased.PayloadDigest, (*[32]byte)(h.Erased.MetadataDigest)
	}
	if from := h.SpawnedFrom; from != nil {
		envelope.SpawnedFrom = &canonical.SpawnedFrom{Node: from.Node, CallID: from.CallID}
	}
	return chainstore.Judgement{
		ID: canonical.NodeID(envelope), Messages: facts, Variables: canonical.Variables(entries), Outcome: canonical.Outcome(entries),
	}, nil
}

// broken says in words, without content, what is wrong with stored bytes.
func broken(what string, err error) error {
	var field *canonical.FieldError
	if errors.As(err, &field) {
		return field
	}
	return errors.New("the " + what + " are not in canonical form")
}
