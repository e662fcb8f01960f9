package canonical

import (
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

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
