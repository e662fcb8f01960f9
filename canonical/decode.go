package canonical

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// DecodePayload reads the messages of an encoded payload. It does not judge them. The error is an ErrNotCanonical.
func DecodePayload(payload []byte) ([]*transcriptv1.Message, error) {
	var p transcriptv1.Payload
	if err := unmarshal(payload, &p); err != nil {
		return nil, err
	}
	return p.Messages, nil
}

// DecodeMetadata reads the entries of encoded metadata, in the order of their keys' bytes. It does not judge them. The
// error is an ErrNotCanonical.
func DecodeMetadata(metadata []byte) ([]*transcriptv1.MetadataEntry, error) {
	var m transcriptv1.Metadata
	if err := unmarshal(metadata, &m); err != nil {
		return nil, err
	}
	return m.Entries, nil
}

// DecodeEnvelope reads a canonical envelope; of anything else the error is an ErrNotCanonical.
func DecodeEnvelope(envelope []byte) (Envelope, error) {
	var m transcriptv1.NodeEnvelope
	if err := unmarshal(envelope, &m); err != nil {
		return Envelope{}, err
	}
	e := Envelope{
		Parent:         digest(m.Parent),
		MetadataDigest: digest(m.MetadataDigest),
		CoversThrough:  digest(m.CoversThrough),
	}
	copy(e.PayloadDigest[:], m.PayloadDigest)
	if s := m.SpawnedFrom; s != nil {
		e.SpawnedFrom = &SpawnedFrom{CallID: optional(s.ToolCallId)}
		copy(e.SpawnedFrom.Node[:], s.Node)
	}
	return e, same(envelope, AppendEnvelope(nil, e))
}

// digest is b as a digest, nil if it is empty. Any other length is found out by encoding again.
func digest(b []byte) *[32]byte {
	if len(b) == 0 {
		return nil
	}
	var d [32]byte
	copy(d[:], b)
	return &d
}

// CheckPayload tells whether stored bytes are the canonical encoding of valid messages, the server's own included, and
// gives their facts, notes aside. Whether a node may be without messages it does not judge. The error is an
// ErrNotCanonical or a *FieldError.
func CheckPayload(payload []byte) ([]runloop.Facts, error) {
	messages, err := DecodePayload(payload)
	if err != nil {
		return nil, err
	}
	j := judge{stored: true, blobs: true}
	if err := j.messages(messages); err != nil {
		return nil, err
	}
	if err := same(payload, EncodePayload(messages)); err != nil {
		return nil, err
	}
	return Facts(messages), nil
}

// CheckMetadata tells whether stored bytes are the canonical encoding of valid metadata, and gives the entries. The
// error is an ErrNotCanonical or a *FieldError.
func CheckMetadata(metadata []byte) ([]*transcriptv1.MetadataEntry, error) {
	entries, err := DecodeMetadata(metadata)
	if err != nil {
		return nil, err
	}
	if err := judgeMetadata(entries); err != nil {
		return nil, err
	}
	return entries, same(metadata, AppendMetadata(nil, entries))
}

func unmarshal(b []byte, m proto.Message) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return fmt.Errorf("%w: %w", ErrNotCanonical, err)
	}
	if err := judgeKnown(m); err != nil {
		return fmt.Errorf("%w: %w", ErrNotCanonical, err)
	}
	return nil
}

// same tells whether stored bytes are their own canonical encoding.
func same(stored, encoded []byte) error {
	if bytes.Equal(stored, encoded) {
		return nil
	}
	return fmt.Errorf("%w: encoded again the bytes differ", ErrNotCanonical)
}
