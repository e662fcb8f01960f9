package canonical_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// FuzzPayload: any bytes that parse and are accepted have one canonical form, in whatever order and spelling they come;
// it decodes to what was given; it alone passes as stored.
func FuzzPayload(f *testing.F) {
	for _, seed := range payloadSeeds() {
		f.Add(seed, uint64(1))
	}
	f.Fuzz(func(t *testing.T, wire []byte, seed uint64) { checkPayload(t, wire, seed) })
}

type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func checkPayload(t fataler, wire []byte, seed uint64) {
	t.Helper()
	var given transcriptv1.Payload
	if proto.Unmarshal(wire, &given) != nil {
		if _, err := canonical.CheckPayload(wire); !errors.Is(err, canonical.ErrNotCanonical) {
			t.Fatalf("stored bytes that do not parse: %v", err)
		}
		return
	}
	facts, stored := canonical.CheckPayload(wire)
	if err := canonical.Validate(given.Messages, nil, nil); err != nil || len(given.ProtoReflect().GetUnknown()) > 0 {
		checkRefusal(t, err)
		return
	}
	payload := canonical.EncodePayload(given.Messages)
	if (stored == nil) != bytes.Equal(wire, payload) {
		t.Fatalf("stored: %v; canonical: %v", stored, bytes.Equal(wire, payload))
	}
	if stored == nil && len(facts) != len(given.Messages) {
		t.Fatal("facts")
	}
	if want := marshal(t, &given); !bytes.Equal(payload, want) {
		t.Fatalf("encoded\n%x\nruntime\n%x", payload, want)
	}
	read, err := canonical.DecodePayload(payload)
	if err != nil || !proto.Equal(&transcriptv1.Payload{Messages: read}, &given) {
		t.Fatalf("decoding the encoding: %v", err)
	}
	if _, err := canonical.CheckPayload(payload); err != nil {
		t.Fatalf("the encoding does not pass as stored: %v", err)
	}
	checkRespelled(t, wire, payload, seed)
}

// checkRefusal: a refusal names a field and has one of the three kinds.
func checkRefusal(t fataler, err error) {
	t.Helper()
	var refused *canonical.FieldError
	if err == nil {
		return
	}
	if !errors.As(err, &refused) || refused.Field == "" || refused.Rule == "" {
		t.Fatalf("refused with %v", err)
	}
	if refused.Kind != canonical.ErrInvalid && refused.Kind != canonical.ErrLimit && refused.Kind != canonical.ErrMalformed {
		t.Fatalf("kind %v", refused.Kind)
	}
}

func checkRespelled(t fataler, wire, payload []byte, seed uint64) {
	t.Helper()
	r := speller{Rand: rand.New(rand.NewPCG(seed, 0)), longTags: true}
	descriptor := (&transcriptv1.Payload{}).ProtoReflect().Descriptor()
	other, ok := r.respell(wire, descriptor)
	if !ok {
		t.Fatal("accepted bytes do not parse field by field")
	}
	messages, err := canonical.DecodePayload(other)
	if err != nil {
		t.Fatalf("respelled: %v", err)
	}
	if got := canonical.EncodePayload(messages); !bytes.Equal(got, payload) {
		t.Fatalf("respelled, encoded\n%x\nwant\n%x", got, payload)
	}
	if _, err := canonical.CheckPayload(other); (err == nil) != bytes.Equal(other, payload) {
		t.Fatalf("respelled bytes as stored: %v", err)
	}
}

func TestPayloadInAnySpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := canonical.EncodePayload(drawMessages(t, false))
		checkPayload(t, payload, rapid.Uint64().Draw(t, "seed"))
	})
}

// Two lists of messages have one payload only if they are equal.
func TestPayloadTellsMessagesApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawMessages(t, true), drawMessages(t, true)
		same := bytes.Equal(canonical.EncodePayload(a), canonical.EncodePayload(b))
		if same != proto.Equal(&transcriptv1.Payload{Messages: a}, &transcriptv1.Payload{Messages: b}) {
			t.Fatalf("%v\n%v\nhave one payload: %v", a, b, same)
		}
	})
}

// FuzzMetadata: as FuzzPayload, for metadata.
func FuzzMetadata(f *testing.F) {
	f.Add(canonical.AppendMetadata(nil, []*transcriptv1.MetadataEntry{{Key: "b", Value: "1"}, {Key: "a"}}))
	f.Add([]byte{0x0a, 0x03, 0x0a, 0x01, 'b', 0x0a, 0x03, 0x0a, 0x01, 'a'})
	f.Add([]byte{0x0a, 0x00})
	f.Add([]byte{0x0a, 0x05, 0x12, 0x00, 0x0a, 0x01, 'a'})
	f.Fuzz(func(t *testing.T, wire []byte) {
		entries, stored := canonical.CheckMetadata(wire)
		var given transcriptv1.Metadata
		if proto.Unmarshal(wire, &given) != nil {
			if stored == nil {
				t.Fatal("stored bytes that do not parse")
			}
			return
		}
		if canonical.Validate([]*transcriptv1.Message{{Role: 1}}, given.Entries, nil) != nil || len(given.ProtoReflect().GetUnknown()) > 0 {
			if stored == nil {
				t.Fatal("stored metadata that is refused")
			}
			return
		}
		encoded := canonical.AppendMetadata(nil, given.Entries)
		if (stored == nil) != bytes.Equal(encoded, wire) || stored == nil && len(entries) != len(given.Entries) {
			t.Fatalf("stored: %v", stored)
		}
		if _, err := canonical.CheckMetadata(encoded); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzEnvelope: what is read as an envelope is its one encoding.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte{})
	f.Add(canonical.AppendEnvelope(nil, canonical.Envelope{Parent: &[32]byte{1}, SpawnedFrom: &canonical.SpawnedFrom{}}))
	f.Add(append([]byte{0x0a, 0x1f}, make([]byte, 31)...))
	f.Fuzz(func(t *testing.T, wire []byte) {
		e, err := canonical.DecodeEnvelope(wire)
		if err == nil && !bytes.Equal(canonical.AppendEnvelope(nil, e), wire) {
			t.Fatal("another form was read")
		}
		if err != nil && !errors.Is(err, canonical.ErrNotCanonical) {
			t.Fatal(err)
		}
	})
}

// payloadSeeds are payloads with every field, and ways to spell them that are not canonical.
func payloadSeeds() [][]byte {
	id, name := "call_1", ""
	payload := canonical.EncodePayload([]*transcriptv1.Message{
		{Role: 1, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "be brief"}}}},
		{Role: 3, Name: &name, Extras: `{"a":[1,null]}`, Parts: []*transcriptv1.Part{
			{Extras: `{"b":"c"}`, Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{
				MediaType: "image/png", Source: &transcriptv1.Media_Inline{Inline: []byte{0, 255}}}}},
			{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{Source: &transcriptv1.Media_Uri{}}}},
			{Kind: &transcriptv1.Part_Json{Json: "{}"}},
		}},
		{Role: 4, State: 1, Joined: true, ContentForm: 2, Parts: []*transcriptv1.Part{
			{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: "t", Signature: "s", RedactedData: []byte{1}}}},
			{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{Id: &id, Name: &name, Arguments: "{"}}},
		}},
		{Role: 3, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{Type: "t", Data: []byte{0, 1}}}}}},
		{Role: 5, ToolCallId: &id, IsError: true, ContentForm: 1},
	})
	return [][]byte{
		{}, payload,
		{0x0a, 0x02, 0x08, 0x01},                         // one message, a role
		{0x0a, 0x04, 0x20, 0x00, 0x08, 0x05},             // false written out, role last
		{0x0a, 0x05, 0x08, 0x01, 0x0a, 0x00, 0x00},       // garbage
		{0x0a, 0x03, 0x08, 0x81, 0x00},                   // a long varint
		{0x0a, 0x04, 0x08, 0x01, 0x08, 0x03},             // a field twice
		{0x0a, 0x05, 0x08, 0x01, 0xf8, 0x01, 0x01},       // an unknown field
		{0x0a, 0x06, 0x08, 0x01, 0x12, 0x02, 0x4a, 0x00}, // empty reasoning
		{0x0a, 0x06, 0x08, 0x01, 0x12, 0x02, 0x6a, 0x00}, // an opaque part without a type
	}
}
