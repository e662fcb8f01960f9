package reply

import (
	"bytes"
	"log/slog"
	"testing"

	"google.golang.org/grpc/mem"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// A spliced reply is the message with the frame's messages behind it.
func TestSplicedReply(t *testing.T) {
	pool := NewBuffers()
	c := NewCodec(receive.NewRequests(), pool, slog.New(slog.DiscardHandler))
	f := &chainview.Frame{Memory: pool, Most: 100}
	encode := func(v any) []byte {
		b, err := c.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Free()
		return b.Materialize()
	}
	payload := encode(&transcriptv1.Payload{Messages: []*transcriptv1.Message{{}, {}}})
	f.Share(payload, 0, len(payload))
	m := &transcriptv1.AssembleResponse{HeadId: "ab"}
	reply := Splice(m, f, nil)
	want := Size(reply)
	all, err := reply.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got := encode(reply)
	if !bytes.Equal(all, got) {
		t.Error("Encode gives other bytes than are sent")
	}
	var back transcriptv1.AssembleResponse
	if err := c.CodecV2.Unmarshal(mem.BufferSlice{mem.SliceBuffer(got)}, &back); err != nil {
		t.Fatal(err)
	}
	if len(got) != want || back.HeadId != "ab" || len(back.Messages) != 2 {
		t.Errorf("%d bytes, %d told: %v", len(got), want, &back)
	}
}
