package canonical_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestFewElements: elements are counted at any depth, and bytes that do not parse tell nothing.
func TestFewElements(t *testing.T) {
	d := (&transcriptv1.Payload{}).ProtoReflect().Descriptor()
	payload := canonical.EncodePayload([]*transcriptv1.Message{{Parts: []*transcriptv1.Part{
		{Kind: &transcriptv1.Part_Text{Text: "a"}}, {Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{}}},
	}}})
	if !canonical.FewElements(d, payload, 4) || canonical.FewElements(d, payload, 3) { // a message, two parts, a call
		t.Error("not four elements")
	}
	alias, err := proto.Marshal(&transcriptv1.ArchiveAlias{
		States: make([]*transcriptv1.ArchiveAliasState, 3), Labels: map[string]string{"a": "b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	d = (&transcriptv1.ArchiveAlias{}).ProtoReflect().Descriptor()
	if !canonical.FewElements(d, alias, 4) || canonical.FewElements(d, alias, 3) {
		t.Error("not three states and a label")
	}
	copies, err := proto.Marshal(&transcriptv1.CompactionCopies{LoopBegins: []int32{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	d = (&transcriptv1.CompactionCopies{}).ProtoReflect().Descriptor()
	if !canonical.FewElements(d, copies, 3) || canonical.FewElements(d, copies, 2) {
		t.Error("not three numbers")
	}
	for _, b := range [][]byte{{0xff}, {0x0a}, {0x0a, 5, 1}, {0x08}, bytes.Repeat([]byte{0xff}, 12)} {
		if !canonical.FewElements(d, b, 0) {
			t.Errorf("%x, which does not parse, has too many", b)
		}
	}
}

// TestNodeOfManyElements: a node is refused before its bytes take memory.
func TestNodeOfManyElements(t *testing.T) {
	many := bytes.Repeat([]byte{0x0a, 0x00}, canonical.MaxElements+1) // empty messages
	envelope := canonical.AppendEnvelope(nil, canonical.Envelope{PayloadDigest: canonical.PayloadDigest(nil, many)})
	if _, err := canonical.CheckNode(envelope, many, nil, nil); err == nil {
		t.Error("too many messages are taken")
	}
	if _, err := canonical.CheckNode(envelope, make([]byte, canonical.MaxPayloadBytes+1), nil, nil); err == nil {
		t.Error("too many bytes are taken")
	}
}
