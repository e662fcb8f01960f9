package canonical

import (
	"fmt"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Stored is a node as its bytes tell it.
type Stored struct {
	ID       [32]byte
	Envelope Envelope
	Messages []*transcriptv1.Message
	// Facts are those of the messages, without notes.
	Facts    []runloop.Facts
	Metadata []*transcriptv1.MetadataEntry
	// Erased is nil of a node that was not.
	Erased *StoredErasure
}

// CheckNode reads a node that was put elsewhere. Its messages are such as a client may put, and in a compaction node such as a server makes;
// its metadata may have keys that have a meaning for a later version. The envelope has the digests of the rest. Whether there are the nodes that it
// names is not judged. The error is a *FieldError whose path begins with envelope, payload, metadata or salt.
func CheckNode(envelope, payload, metadata, salt []byte) (*Stored, error) {
	n, err := decodeStored(envelope, payload, metadata)
	if err != nil {
		return nil, err
	}
	if err := n.judge(salt); err != nil {
		return nil, err
	}
	form := NewNode(n.Messages, n.Metadata, salt)
	switch d := n.Envelope.MetadataDigest; {
	case string(form.Payload) != string(payload):
		return nil, malformed("payload", "must be the canonical encoding of a Payload")
	case string(form.Metadata) != string(metadata):
		return nil, malformed("metadata", "must be the canonical encoding of a Metadata")
	case PayloadDigest(salt, payload) != n.Envelope.PayloadDigest:
		return nil, invalid("payload", "must have the digest of the envelope, with the salt")
	case (d == nil) != (len(metadata) == 0), d != nil && MetadataDigest(salt, metadata) != *d:
		return nil, invalid("metadata", "must have the digest of the envelope, with the salt")
	}
	n.ID, n.Facts = NodeID(n.Envelope), Facts(n.Messages)
	return n, nil
}

// decodeStored decodes a node.
func decodeStored(envelope, payload, metadata []byte) (*Stored, error) {
	n := &Stored{}
	var err error
	if n.Envelope, err = DecodeEnvelope(envelope); err != nil {
		return nil, malformed("envelope", "must be the canonical encoding of a NodeEnvelope")
	}
	switch {
	case len(payload) > MaxPayloadBytes:
		return nil, overLimit("payload", fmt.Sprintf("must be at most %d bytes", MaxPayloadBytes))
	case !FewElements((*transcriptv1.Payload)(nil).ProtoReflect().Descriptor(), payload, MaxElements):
		return nil, overLimit("payload", fmt.Sprintf("must have at most %d messages and parts", MaxElements))
	case !FewElements((*transcriptv1.Metadata)(nil).ProtoReflect().Descriptor(), metadata, MaxElements):
		return nil, overLimit("metadata", fmt.Sprintf("must have at most %d entries", MaxElements))
	}
	if n.Messages, err = DecodePayload(payload); err != nil {
		return nil, malformed("payload", "must be the canonical encoding of a Payload")
	}
	if n.Metadata, err = DecodeMetadata(metadata); err != nil {
		return nil, malformed("metadata", "must be the canonical encoding of a Metadata")
	}
	return n, nil
}

// judge judges what the node holds.
func (n *Stored) judge(salt []byte) error {
	compaction := n.Envelope.CoversThrough != nil
	switch {
	case len(n.Messages) == 0 && n.Envelope.MetadataDigest == nil && !compaction: // a compaction may leave nothing
		return invalid("payload", "must have messages, or metadata")
	case compaction && n.Envelope.MetadataDigest != nil:
		return invalid("metadata", "must be empty in a compaction node")
	case compaction && n.Envelope.SpawnedFrom != nil:
		return invalid("envelope", "must have no spawned_from in a compaction node")
	case compaction && n.Envelope.Parent == nil:
		return invalid("envelope", "must have a parent in a compaction node")
	}
	j := judge{stored: compaction, blobs: true}
	if err := j.messages(n.Messages); err != nil {
		return err.Under("payload")
	}
	if err := judgeMetadata(n.Metadata); err != nil {
		return err
	}
	if err := judgeSalt(salt); err != nil {
		return err
	}
	return nil
}
