package bench

import (
	"testing"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A turn that is put again differs in the id of its call alone, whichever way it is encoded.
func TestTurnsWithOtherCalls(t *testing.T) {
	const seed, other = 1 << 32, 7
	first, second := turn(seed), withCall(turn(seed), other)
	if got, want := second[1].Parts[0].GetToolCall().GetId(), second[2].GetToolCallId(); got != want || got == first[2].GetToolCallId() {
		t.Errorf("the call is %q, its result answers %q", got, want)
	}
	encoded, err := encodeTurn(seed)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[uint64][]*transcriptv1.Message{other: second, seed: withCall(second, seed), 0: withCall(first, 0)} {
		got := new(transcriptv1.PutNodeRequest)
		if err := proto.Unmarshal(encoded.append(nil, id), got); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got, &transcriptv1.PutNodeRequest{Messages: want}) {
			t.Errorf("call %d: %v", id, got)
		}
	}
	if again := withCall(second, seed); !proto.Equal(&transcriptv1.PutNodeRequest{Messages: again}, &transcriptv1.PutNodeRequest{Messages: first}) {
		t.Errorf("with its own call: %v", again)
	}
}
