package canonical_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// turn is a turn of a coding session: 3.5 KB in four messages, one with extras.
func turn() []*transcriptv1.Message {
	text := func(s string) []*transcriptv1.Part {
		return []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: s}}}
	}
	id, name := "call_0123456789abcdef", "read_file"
	return []*transcriptv1.Message{
		{Role: 3, Parts: text("Where is the loop that never ends?")},
		{Role: 4, Extras: `{"annotations":[],"refusal":null}`, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_ToolCall{
			ToolCall: &transcriptv1.ToolCall{Id: &id, Name: &name, Arguments: `{"path": "main.go"}`}}}}},
		{Role: 5, ToolCallId: &id, Parts: text(strings.Repeat("for { }\n", 400))},
		{Role: 4, Parts: text("In main.go, line 1.")},
	}
}

func BenchmarkValidate(b *testing.B) {
	messages := turn()
	b.ReportAllocs()
	for b.Loop() {
		if err := canonical.Validate(messages, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeAndFacts(b *testing.B) {
	messages := turn()
	b.SetBytes(int64(len(canonical.EncodePayload(messages))))
	b.ReportAllocs()
	for b.Loop() {
		canonical.EncodePayload(messages)
		canonical.Facts(messages)
	}
}

// BenchmarkRuntimeMarshal is the ordinary runtime, to compare with.
func BenchmarkRuntimeMarshal(b *testing.B) {
	payload := &transcriptv1.Payload{Messages: turn()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (proto.MarshalOptions{Deterministic: true}).Marshal(payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNodeID(b *testing.B) {
	n := canonical.NewNode(turn(), nil, nil)
	parent := [32]byte{1}
	b.ReportAllocs()
	for b.Loop() {
		canonical.NodeID(n.Envelope(&parent, nil))
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	src := []byte(`{"a": [` + strings.Repeat(`{"name": "value \u00e9", "n": 1.5e3, "t": true}, `, 100) + `null]}`)
	out := make([]byte, 0, len(src))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := canonical.AppendJSON(out, src); err != nil {
			b.Fatal(err)
		}
	}
}
