// Package canonical is the one encoding of messages, metadata and envelopes: what is hashed, stored and sent. It judges
// what a client puts, computes ids, and reads off each message the facts that the folds of compaction/runloop need.
// Pure: no I/O, no clock.
//
// The encoding: fields in ascending number; fields without presence left out at their default; optional fields, oneof
// members and sub-messages that are set written even when empty; shortest varints; the same in every sub-message.
// Nothing of it can change: it is what ids are computed from.
package canonical

import transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"

// Node is the canonical form of what a client puts in one node, all but its parent and what spawned it.
type Node struct {
	// Payload is the encoding of the messages, Metadata that of the metadata, empty without any.
	Payload, Metadata []byte
	// PayloadDigest and MetadataDigest go into the envelope; MetadataDigest is nil without metadata.
	PayloadDigest  [32]byte
	MetadataDigest *[32]byte
}

// Envelope is the envelope of the node under parent (nil: a root), started by from (nil: by nothing known).
func (n *Node) Envelope(parent *[32]byte, from *SpawnedFrom) Envelope {
	return Envelope{
		PayloadDigest:  n.PayloadDigest,
		Parent:         parent,
		MetadataDigest: n.MetadataDigest,
		SpawnedFrom:    from,
	}
}

// NewNode encodes and digests what a client puts, which Validate must have accepted.
func NewNode(messages []*transcriptv1.Message, metadata []*transcriptv1.MetadataEntry, salt []byte) *Node {
	n := &Node{Payload: EncodePayload(messages), Metadata: AppendMetadata(nil, metadata)}
	n.PayloadDigest = PayloadDigest(salt, n.Payload)
	if len(n.Metadata) > 0 {
		digest := MetadataDigest(salt, n.Metadata)
		n.MetadataDigest = &digest
	}
	return n
}
