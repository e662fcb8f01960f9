package turns

import (
	"testing"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A turn that is put again has another id of its call, which its result answers, and is else the same.
func TestTurnsWithOtherCalls(t *testing.T) {
	first := Turn(7)
	again := withCall(first, 12)
	if call, answered := again[1].Parts[0].GetToolCall().GetId(), again[2].GetToolCallId(); call != CallID(12) || answered != call {
		t.Errorf("the call is %q, its result answers %q", call, answered)
	}
	if was := first[2].GetToolCallId(); was != CallID(7) {
		t.Errorf("the turn itself became %q", was)
	}
	if !proto.Equal(request(withCall(again, 7)), request(first)) {
		t.Error("a turn with its own call is another")
	}
}

func request(messages []*transcriptv1.Message) *transcriptv1.PutNodeRequest {
	return &transcriptv1.PutNodeRequest{Messages: messages}
}

// Chains of a source have no node in common, and no chain has two calls with the same id.
func TestChainsDiffer(t *testing.T) {
	s := NewSource("some")
	one, other := s.Chain(), s.Chain()
	if a, b := one.Next(), other.Next(); proto.Equal(a, b) || a.Namespace != "some" || a.Parent != nil {
		t.Errorf("%v\n%v", a, b)
	}
	ids := map[string]bool{}
	for range 2 * different {
		id := one.Next().Messages[2].GetToolCallId()
		if ids[id] {
			t.Fatalf("%s comes twice", id)
		}
		ids[id] = true
	}
	one.Head = "abc"
	if got := one.Next().GetParent().GetNodeId(); got != "abc" {
		t.Errorf("the parent is %q", got)
	}
}
