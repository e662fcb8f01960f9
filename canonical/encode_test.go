package canonical_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// marshal is what an ordinary runtime emits.
func marshal(t interface{ Fatal(...any) }, m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Over messages that are accepted, the encoding is what the ordinary runtime emits; reading it gives the messages
// again; stored bytes pass the verifier.
func TestPayloadIsWhatRuntimesEmit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := drawMessages(t, true)
		payload := canonical.EncodePayload(messages)
		if want := marshal(t, &transcriptv1.Payload{Messages: messages}); !bytes.Equal(payload, want) {
			t.Fatalf("encoded\n%x\nwant\n%x", payload, want)
		}
		if cap(payload) != len(payload) {
			t.Fatalf("capacity %d for %d bytes", cap(payload), len(payload))
		}
		read, err := canonical.DecodePayload(payload)
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(&transcriptv1.Payload{Messages: read}, &transcriptv1.Payload{Messages: messages}) {
			t.Fatal("reading gave other messages")
		}
		if _, err := canonical.CheckPayload(payload); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages, metadata := drawMessages(t, true), drawMetadata(t)
		payload := canonical.AppendPayload([]byte("before"), messages)
		if want := append([]byte("before"), canonical.EncodePayload(messages)...); !bytes.Equal(payload, want) {
			t.Fatal("AppendPayload")
		}
		encoded := canonical.AppendMetadata([]byte("before"), metadata)
		if want := append([]byte("before"), canonical.AppendMetadata(nil, metadata)...); !bytes.Equal(encoded, want) {
			t.Fatal("AppendMetadata")
		}
	})
}

// Encoding takes one piece of memory, computing an id none.
func TestEncodingAllocates(t *testing.T) {
	messages := turn()
	if n := testing.AllocsPerRun(100, func() { canonical.EncodePayload(messages) }); n != 1 {
		t.Errorf("EncodePayload: %v allocations", n)
	}
	room := make([]byte, 0, 1<<13)
	if n := testing.AllocsPerRun(100, func() { canonical.AppendPayload(room, messages) }); n != 0 {
		t.Errorf("AppendPayload: %v allocations", n)
	}
	parent := [32]byte{1}
	e := canonical.Envelope{Parent: &parent}
	if n := testing.AllocsPerRun(100, func() { canonical.NodeID(e) }); n != 0 {
		t.Errorf("NodeID: %v allocations", n)
	}
}

// Metadata comes in any order and leaves in one, without moving what the caller gave.
func TestMetadataHasOneOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := drawMetadata(t)
		want := canonical.AppendMetadata(nil, entries)
		shuffled := rapid.Permutation(entries).Draw(t, "shuffled")
		given := slices.Clone(shuffled)
		if got := canonical.AppendMetadata(nil, shuffled); !bytes.Equal(got, want) {
			t.Fatal("the order given shows")
		}
		if !slices.Equal(given, shuffled) {
			t.Fatal("the caller's slice was changed")
		}
		read, err := canonical.CheckMetadata(want)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(marshal(t, &transcriptv1.Metadata{Entries: read}), want) {
			t.Fatal("not what runtimes emit")
		}
	})
}

// The envelope is what the ordinary runtime emits, reads back, and is hashed behind its domain.
func TestEnvelope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEnvelope(t)
		message := &transcriptv1.NodeEnvelope{
			PayloadDigest: e.PayloadDigest[:], Parent: slice(e.Parent), MetadataDigest: slice(e.MetadataDigest),
			CoversThrough: slice(e.CoversThrough),
		}
		if s := e.SpawnedFrom; s != nil {
			message.SpawnedFrom = &transcriptv1.SpawnedFrom{Node: s.Node[:]}
			if s.CallID.Present {
				message.SpawnedFrom.ToolCallId = &s.CallID.Value
			}
		}
		encoded := canonical.AppendEnvelope(nil, e)
		if want := marshal(t, message); !bytes.Equal(encoded, want) {
			t.Fatalf("encoded\n%x\nwant\n%x", encoded, want)
		}
		read, err := canonical.DecodeEnvelope(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(canonical.AppendEnvelope(nil, read), encoded) || canonical.NodeID(read) != canonical.NodeID(e) {
			t.Fatal("reading gave another envelope")
		}
		if canonical.NodeID(e) != sha256.Sum256(append([]byte("transcript.node.v1\x00"), encoded...)) {
			t.Fatal("NodeID")
		}
	})
}

func slice(id *[32]byte) []byte {
	if id == nil {
		return nil
	}
	return id[:]
}

func drawID(t *rapid.T, label string) (id [32]byte) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, label))
	return id
}

func drawEnvelope(t *rapid.T) canonical.Envelope {
	id := rapid.Custom(func(t *rapid.T) [32]byte { return drawID(t, "id") })
	e := canonical.Envelope{
		PayloadDigest:  drawID(t, "payload"),
		Parent:         rapid.Ptr(id, true).Draw(t, "parent"),
		MetadataDigest: rapid.Ptr(id, true).Draw(t, "metadata"),
		CoversThrough:  rapid.Ptr(id, true).Draw(t, "covers"),
	}
	if rapid.Bool().Draw(t, "spawned") {
		e.SpawnedFrom = &canonical.SpawnedFrom{Node: drawID(t, "spawner")}
		if id := maybe(t, "call"); id != nil {
			e.SpawnedFrom.CallID = runloop.Some(*id)
		}
	}
	return e
}

// NewNode is the sum of the functions it stands for.
func TestNewNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages, metadata := drawMessages(t, false), drawMetadata(t)
		salt := rapid.SliceOfN(rapid.Byte(), 0, 32).Filter(func(b []byte) bool { return len(b) == 0 || len(b) >= 16 }).
			Draw(t, "salt")
		if err := canonical.Validate(messages, metadata, salt); err != nil {
			t.Fatal(err)
		}
		n := canonical.NewNode(messages, metadata, salt)
		parent := drawID(t, "parent")
		e := n.Envelope(&parent, nil)
		if e.PayloadDigest != hashed("transcript.payload.v1\x00", salt, canonical.EncodePayload(messages)) {
			t.Fatal("payload digest")
		}
		if (e.MetadataDigest == nil) != (len(metadata) == 0) {
			t.Fatal("presence of the metadata digest")
		}
		if e.MetadataDigest != nil &&
			*e.MetadataDigest != hashed("transcript.metadata.v1\x00", salt, canonical.AppendMetadata(nil, metadata)) {
			t.Fatal("metadata digest")
		}
		if *e.Parent != parent || e.CoversThrough != nil || e.SpawnedFrom != nil {
			t.Fatal("envelope")
		}
	})
}

func hashed(domain string, salt, content []byte) [32]byte {
	all := append([]byte(domain), byte(len(salt)))
	return sha256.Sum256(append(append(all, salt...), content...))
}
