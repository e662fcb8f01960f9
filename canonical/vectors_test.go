package canonical_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var update = flag.Bool("update", false, "write proto/testdata/vectors.json and refused.json anew")

const testdata = "../proto/testdata"

// input is what a vector puts. README.md of proto/testdata tells the members.
type input struct {
	Messages      []json.RawMessage `json:"messages"`
	Fill          []fill            `json:"fill,omitempty"`
	PartCopies    int               `json:"part_copies,omitempty"`
	MessageCopies int               `json:"message_copies,omitempty"`
	Metadata      []entry           `json:"metadata,omitempty"`
	Salt          string            `json:"salt,omitempty"`
}

// fill sets the text of a part, or the data of an opaque one, to unit, repeated.
type fill struct {
	Message int    `json:"message"`
	Part    int    `json:"part"`
	Opaque  bool   `json:"opaque,omitempty"`
	Unit    string `json:"unit"`
	Times   int    `json:"times"`
}

type entry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// vector is an input and what becomes of it.
type vector struct {
	Name string `json:"name"`
	input
	Parent        string       `json:"parent,omitempty"`
	CoversThrough string       `json:"covers_through,omitempty"`
	SpawnedFrom   *spawnedFrom `json:"spawned_from,omitempty"`
	// Stored says that only a server may make this: a client's put of it is refused.
	Stored         bool   `json:"stored,omitempty"`
	WireHex        string `json:"wire_hex,omitempty"`
	PayloadHex     string `json:"payload_hex,omitempty"`
	PayloadLength  int    `json:"payload_length"`
	PayloadSHA256  string `json:"payload_sha256"`
	PayloadDigest  string `json:"payload_digest"`
	MetadataHex    string `json:"metadata_hex,omitempty"`
	MetadataDigest string `json:"metadata_digest,omitempty"`
	EnvelopeHex    string `json:"envelope_hex"`
	NodeID         string `json:"node_id"`
}

type spawnedFrom struct {
	Node       string  `json:"node"`
	ToolCallID *string `json:"tool_call_id,omitempty"`
}

// longestHex is the longest payload that a vector spells out.
const longestHex = 2048

func TestVectors(t *testing.T) {
	vectors := acceptedCases(t)
	for i := range vectors {
		complete(t, &vectors[i])
	}
	golden(t, "vectors.json", vectors)
	if len(vectors) < 60 {
		t.Errorf("%d vectors", len(vectors))
	}
	seen := map[string]string{}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) { checkVector(t, v) })
		if other := seen[v.NodeID]; other != "" && v.WireHex == "" {
			t.Errorf("%s and %s have one id", v.Name, other)
		}
		seen[v.NodeID] = v.Name
	}
}

// complete computes what becomes of the input.
func complete(t *testing.T, v *vector) {
	t.Helper()
	messages, metadata, salt := expand(t, v.input)
	n := canonical.NewNode(messages, metadata, salt)
	e := n.Envelope(idOf(t, v.Parent), spawned(t, v.SpawnedFrom))
	e.CoversThrough = idOf(t, v.CoversThrough)
	id, sum := canonical.NodeID(e), sha256.Sum256(n.Payload)
	if len(n.Payload) <= longestHex {
		v.PayloadHex = hex.EncodeToString(n.Payload)
	}
	v.PayloadLength, v.PayloadSHA256 = len(n.Payload), hex.EncodeToString(sum[:])
	v.PayloadDigest, v.MetadataHex = hex.EncodeToString(n.PayloadDigest[:]), hex.EncodeToString(n.Metadata)
	v.MetadataDigest = hex.EncodeToString(slice(n.MetadataDigest))
	v.EnvelopeHex, v.NodeID = hex.EncodeToString(canonical.AppendEnvelope(nil, e)), hex.EncodeToString(id[:])
}

// checkVector computes a vector with the ordinary runtime and nothing of the package, and lets the package judge it.
func checkVector(t *testing.T, v vector) {
	messages, metadata, salt := expand(t, v.input)
	payload := marshal(t, &transcriptv1.Payload{Messages: messages})
	want := &transcriptv1.NodeEnvelope{Parent: unhex(t, v.Parent), CoversThrough: unhex(t, v.CoversThrough)}
	digest := hashed("transcript.payload.v1\x00", salt, payload)
	want.PayloadDigest = digest[:]
	if len(metadata) > 0 {
		digest := hashed("transcript.metadata.v1\x00", salt, unhex(t, v.MetadataHex))
		want.MetadataDigest = digest[:]
	}
	if s := v.SpawnedFrom; s != nil {
		want.SpawnedFrom = &transcriptv1.SpawnedFrom{Node: unhex(t, s.Node), ToolCallId: s.ToolCallID}
	}
	id := sha256.Sum256(append([]byte("transcript.node.v1\x00"), marshal(t, want)...))
	if hex.EncodeToString(id[:]) != v.NodeID {
		t.Error("the ordinary runtime computes another id")
	}
	if err := canonical.Validate(messages, metadata, salt); (err != nil) != v.Stored {
		t.Errorf("stored: %v; Validate: %v", v.Stored, err)
	}
	if _, err := canonical.CheckPayload(payload); err != nil {
		t.Error(err)
	}
	if _, err := canonical.CheckMetadata(unhex(t, v.MetadataHex)); err != nil {
		t.Error(err)
	}
	if v.WireHex == "" {
		return
	}
	read, err := canonical.DecodePayload(unhex(t, v.WireHex))
	if err != nil || !bytes.Equal(canonical.EncodePayload(read), payload) {
		t.Errorf("wire_hex is no other spelling of the payload: %v", err)
	}
	if _, err := canonical.CheckPayload(unhex(t, v.WireHex)); err == nil {
		t.Error("wire_hex passes as stored")
	}
}

// expand reads an input and carries out its recipe.
func expand(t *testing.T, in input) (m []*transcriptv1.Message, metadata []*transcriptv1.MetadataEntry, salt []byte) {
	t.Helper()
	for _, raw := range in.Messages {
		message := &transcriptv1.Message{}
		if err := protojson.Unmarshal(raw, message); err != nil {
			t.Fatal(err)
		}
		m = append(m, message)
	}
	for _, f := range in.Fill {
		part, content := m[f.Message].Parts[f.Part], strings.Repeat(f.Unit, f.Times)
		if f.Opaque {
			part.GetOpaque().Data = []byte(content)
		} else {
			part.Kind = &transcriptv1.Part_Text{Text: content}
		}
	}
	for _, message := range m {
		parts := message.Parts
		for range in.PartCopies - 1 {
			message.Parts = append(message.Parts, parts...)
		}
	}
	once := m
	for range in.MessageCopies - 1 {
		m = append(m, once...)
	}
	for _, e := range in.Metadata {
		metadata = append(metadata, &transcriptv1.MetadataEntry{Key: e.Key, Value: e.Value})
	}
	return m, metadata, unhex(t, in.Salt)
}

func spawned(t *testing.T, s *spawnedFrom) *canonical.SpawnedFrom {
	t.Helper()
	if s == nil {
		return nil
	}
	from := &canonical.SpawnedFrom{Node: *idOf(t, s.Node)}
	if s.ToolCallID != nil {
		from.CallID = runloop.Some(*s.ToolCallID)
	}
	return from
}

func idOf(t *testing.T, digits string) *[32]byte {
	t.Helper()
	if digits == "" {
		return nil
	}
	id := [32]byte(unhex(t, digits))
	return &id
}

func unhex(t *testing.T, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// raw is m as protojson in one spelling.
func raw(t *testing.T, m proto.Message) json.RawMessage {
	t.Helper()
	b, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// golden compares v with a file of testdata, or with -update writes it.
func golden(t *testing.T, name string, v any) {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(testdata, name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stored, b.Bytes()) {
		t.Fatalf("%s is not what the cases give; look at what changed before running with -update", name)
	}
}
