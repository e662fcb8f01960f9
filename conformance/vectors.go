package conformance

import (
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// files are copies of proto/testdata/vectors.json, refused.json and requests.json, whose README tells their form.
//
//go:embed vectors/*.json
var files embed.FS

// hexBytes are bytes in hex digits.
type hexBytes []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// input is what vectors and refusals have in common.
type input struct {
	Messages []json.RawMessage `json:"messages"`
	Fill     []struct {
		Message, Part, Times int
		Unit                 string
		Opaque               bool
	} `json:"fill"`
	PartCopies    int                           `json:"part_copies"`
	MessageCopies int                           `json:"message_copies"`
	Metadata      []*transcriptv1.MetadataEntry `json:"metadata"`
	Salt          hexBytes                      `json:"salt"`
	WireHex       hexBytes                      `json:"wire_hex"`
}

type vector struct {
	input
	Name          string `json:"name"`
	Parent        string `json:"parent"`
	CoversThrough string `json:"covers_through"`
	SpawnedFrom   *struct {
		Node       string  `json:"node"`
		ToolCallID *string `json:"tool_call_id"`
	} `json:"spawned_from"`
	Stored        bool   `json:"stored"`
	PayloadLength int    `json:"payload_length"`
	NodeID        string `json:"node_id"`
}

type refusal struct {
	input
	Name            string          `json:"name"`
	StoredHex       string          `json:"stored_hex"`
	MetadataWireHex hexBytes        `json:"metadata_wire_hex"`
	SpawnedFrom     json.RawMessage `json:"spawned_from"`
	Field           string          `json:"field"`
	Kind            string          `json:"kind"`
}

func readVectors() (all []vector, err error) { return all, readJSON("vectors/vectors.json", &all) }

func readRefusals() (all []refusal, err error) { return all, readJSON("vectors/refused.json", &all) }

func readRequests() (all []badRequest, err error) {
	return all, readJSON("vectors/requests.json", &all)
}

func readJSON(name string, into any) error {
	file, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(file, into)
}

// large says that the input has over 100 KiB, or hundreds of messages.
func (in *input) large() bool {
	size := 0
	for _, f := range in.Fill {
		size += f.Times * len(f.Unit)
	}
	return size > 100<<10 || in.MessageCopies > 100
}

// expand is the messages of an input, its recipe carried out.
func (in *input) expand() ([]*transcriptv1.Message, error) {
	var messages []*transcriptv1.Message
	for _, form := range in.Messages {
		m := &transcriptv1.Message{}
		if err := protojson.Unmarshal(form, m); err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	for _, f := range in.Fill {
		part, words := messages[f.Message].Parts[f.Part], strings.Repeat(f.Unit, f.Times)
		if f.Opaque {
			part.GetOpaque().Data = []byte(words)
		} else {
			part.Kind = &transcriptv1.Part_Text{Text: words}
		}
	}
	for _, m := range messages {
		m.Parts = slices.Repeat(m.Parts, max(1, in.PartCopies))
	}
	return slices.Repeat(messages, max(1, in.MessageCopies)), nil
}

// request is a PutNodeRequest of the input.
func (p *probe) request(in *input) *transcriptv1.PutNodeRequest {
	messages, err := in.expand()
	if err != nil {
		p.failf("the kit's own vectors do not parse: %v", err)
	}
	return &transcriptv1.PutNodeRequest{Namespace: p.namespace, Messages: messages, Metadata: in.Metadata, Salt: in.Salt}
}

// Fields of PutNodeRequest that raw requests are made of.
const (
	messagesField = 3
	metadataField = 5
)

// retag gives entries of a list, as a Payload or Metadata has them in field 1, the number of another field. What is not field 1 stays.
func retag(list []byte, field protowire.Number) ([]byte, error) {
	var out []byte
	for len(list) > 0 {
		number, kind, tag := protowire.ConsumeTag(list)
		if tag < 0 {
			return nil, fmt.Errorf("a vector has no tag")
		}
		size := protowire.ConsumeFieldValue(number, kind, list[tag:])
		if size < 0 {
			return nil, fmt.Errorf("a vector has no value")
		}
		if number == 1 {
			number = field
		}
		out = protowire.AppendTag(out, number, kind)
		out, list = append(out, list[tag:tag+size]...), list[tag+size:]
	}
	return out, nil
}
