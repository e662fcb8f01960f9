package canonical

import (
	"crypto/sha256"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// The domains that keep the hashes of different things apart. Part of identity: must not change.
const (
	payloadDomain  = "transcript.payload.v1\x00"
	metadataDomain = "transcript.metadata.v1\x00"
	nodeDomain     = "transcript.node.v1\x00"
)

// Envelope is what a node's id is the hash of. Nil pointers are absent.
type Envelope struct {
	PayloadDigest [32]byte
	// Parent is the parent's id; nil for a root.
	Parent *[32]byte
	// MetadataDigest is nil without metadata.
	MetadataDigest *[32]byte
	// CoversThrough is, on compaction nodes, the last ancestor that the node stands for.
	CoversThrough *[32]byte
	// SpawnedFrom is what started the chain that the node begins.
	SpawnedFrom *SpawnedFrom
}

// SpawnedFrom is the call that started a chain: a link, which may dangle.
type SpawnedFrom struct {
	Node [32]byte
	// CallID is the id of the call in it; absent and empty differ.
	CallID runloop.Optional
}

// PayloadDigest is the digest of an encoded payload under the client's salt of 0 or 16 to 32 bytes.
func PayloadDigest(salt, payload []byte) [32]byte { return salted(payloadDomain, salt, payload) }

// MetadataDigest is the digest of encoded metadata under the client's salt of 0 or 16 to 32 bytes.
func MetadataDigest(salt, metadata []byte) [32]byte { return salted(metadataDomain, salt, metadata) }

// NodeID is the id of the node with that envelope.
func NodeID(e Envelope) [32]byte {
	var room [256]byte
	return sha256.Sum256(AppendEnvelope(append(room[:0], nodeDomain...), e))
}

// salted hashes domain, the salt's length as one byte, the salt and the content.
func salted(domain string, salt, content []byte) (digest [32]byte) {
	var room [64]byte
	head := append(room[:0], domain...)
	head = append(head, byte(len(salt)))
	h := sha256.New()
	h.Write(append(head, salt...))
	h.Write(content)
	h.Sum(digest[:0])
	return digest
}

// AppendEnvelope appends the canonical encoding of NodeEnvelope.
func AppendEnvelope(dst []byte, e Envelope) []byte {
	dst = appendBytes(dst, 1, e.PayloadDigest[:])
	for i, id := range []*[32]byte{e.Parent, e.MetadataDigest, e.CoversThrough} {
		if id != nil {
			dst = appendBytes(dst, 2+i, id[:])
		}
	}
	if s := e.SpawnedFrom; s != nil {
		size := bytesSize(len(s.Node)) + optionalSize(s.CallID)
		dst = appendPrefix(dst, 5, size)
		dst = appendBytes(dst, 1, s.Node[:])
		if s.CallID.Present {
			dst = appendString(dst, 2, s.CallID.Value)
		}
	}
	return dst
}

func optionalSize(o runloop.Optional) int {
	if !o.Present {
		return 0
	}
	return bytesSize(len(o.Value))
}
