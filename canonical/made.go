package canonical

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// originNumber is that of Message.origin on the wire.
const originNumber = 9

// AppendStub appends the stub for a call without a result, as an entry of a payload. Its length is runloop.StubLength.
func AppendStub(dst []byte, call runloop.Call) []byte { return AppendMessage(dst, Stub(call)) }

// Stub is the stub for a call without a result: a TOOL message with the call's id and name and the text
// runloop.StubText.
func Stub(call runloop.Call) *transcriptv1.Message {
	m := &transcriptv1.Message{
		Role:   transcriptv1.Role_ROLE_TOOL,
		Parts:  []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: runloop.StubText}}},
		Origin: transcriptv1.Origin_ORIGIN_STUB,
	}
	if call.ID.Present {
		m.ToolCallId = &call.ID.Value
	}
	if call.Name.Present {
		m.Name = &call.Name.Value
	}
	return m
}

// AppendLeftOut appends the left-out line for so many run loops, as an entry of a payload. Its length is runloop.LeftOutLength.
func AppendLeftOut(dst []byte, loops int64) []byte { return AppendMessage(dst, LeftOut(loops)) }

// LeftOut is the left-out line for so many run loops: a USER message with the text runloop.LeftOutText.
func LeftOut(loops int64) *transcriptv1.Message {
	return &transcriptv1.Message{
		Role:   transcriptv1.Role_ROLE_USER,
		Parts:  []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: runloop.LeftOutText(loops)}}},
		Origin: transcriptv1.Origin_ORIGIN_LEFT_OUT,
	}
}

// CountShortened is how many of the messages of an encoded payload, or of some of its entries, say that they were shortened. It
// decodes nothing.
func CountShortened(payload []byte) int {
	n := 0
	for len(payload) > 0 {
		_, _, tag := protowire.ConsumeTag(payload)
		if tag < 0 {
			break
		}
		message, size := protowire.ConsumeBytes(payload[tag:])
		if size < 0 {
			break
		}
		if isShortened(message) {
			n++
		}
		payload = payload[tag+size:]
	}
	return n
}

func isShortened(message []byte) bool {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return false
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return false
		}
		if number == originNumber && kind == protowire.VarintType {
			origin, _ := protowire.ConsumeVarint(message[tag:])
			return origin == uint64(transcriptv1.Origin_ORIGIN_SHORTENED)
		}
		message = message[tag+size:]
	}
	return false
}
