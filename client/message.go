package client

import (
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// System is a system message of one text.
func System(text string) *transcriptv1.Message {
	return textMessage(transcriptv1.Role_ROLE_SYSTEM, text)
}

// User is a user message of one text.
func User(text string) *transcriptv1.Message { return textMessage(transcriptv1.Role_ROLE_USER, text) }

// Assistant is an assistant message of a text, which may be empty where there are calls, and calls.
func Assistant(text string, calls ...*transcriptv1.ToolCall) *transcriptv1.Message {
	m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT}
	if text != "" || len(calls) == 0 {
		m.Parts = append(m.Parts, textPart(text))
	}
	for _, call := range calls {
		m.Parts = append(m.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: call}})
	}
	return m
}

// Opaque is a framework's own state, for a node: the service gives it back in the full view, and no model is sent it. kind tells a
// framework its own; data is at most 1 MiB. The role, SYSTEM, says nothing.
func Opaque(kind string, data []byte) *transcriptv1.Message {
	return &transcriptv1.Message{Role: transcriptv1.Role_ROLE_SYSTEM, Parts: []*transcriptv1.Part{{
		Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{Type: kind, Data: data}},
	}}}
}

// IsOpaque tells whether a message is a framework's own state: see Opaque.
func IsOpaque(m *transcriptv1.Message) bool { return canonical.IsOpaque(m) }

// Call is a tool call with the arguments as the model wrote them.
func Call(id, name, arguments string) *transcriptv1.ToolCall {
	return &transcriptv1.ToolCall{Id: &id, Name: &name, Arguments: arguments}
}

// Result is the result of a call: a tool message of one text with the call's id and name.
func Result(call *transcriptv1.ToolCall, text string) *transcriptv1.Message {
	m := textMessage(transcriptv1.Role_ROLE_TOOL, text)
	m.ToolCallId, m.Name = call.Id, call.Name
	return m
}

// unknownResult is what UnknownResult says.
const unknownResult = "[result unknown: the agent was interrupted while this call may have been running]"

// UnknownResult answers a call of which nobody knows whether it ran.
func UnknownResult(call *transcriptv1.ToolCall) *transcriptv1.Message {
	m := Result(call, unknownResult)
	m.IsError = true
	return m
}

// Text is the text of a message: its text parts, end to end.
func Text(m *transcriptv1.Message) string {
	var b strings.Builder
	for _, part := range m.GetParts() {
		b.WriteString(part.GetText())
	}
	return b.String()
}

// Calls are the tool calls of a message, in order.
func Calls(m *transcriptv1.Message) []*transcriptv1.ToolCall {
	var calls []*transcriptv1.ToolCall
	for _, part := range m.GetParts() {
		if call := part.GetToolCall(); call != nil {
			calls = append(calls, call)
		}
	}
	return calls
}

func textMessage(role transcriptv1.Role, text string) *transcriptv1.Message {
	return &transcriptv1.Message{Role: role, Parts: []*transcriptv1.Part{textPart(text)}}
}

func textPart(text string) *transcriptv1.Part {
	return &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: text}}
}

// openCalls are the calls of the group that messages end in that have no result there, in order. messages are an
// effective view. A result answers the first unanswered call with its id; absent equals absent.
func openCalls(messages []*transcriptv1.Message) []*transcriptv1.ToolCall {
	results := len(messages)
	for results > 0 && messages[results-1].Role == transcriptv1.Role_ROLE_TOOL {
		results--
	}
	first := results
	for first > 0 && len(Calls(messages[first-1])) > 0 {
		first--
	}
	var open []*transcriptv1.ToolCall
	for _, m := range messages[first:results] {
		open = append(open, Calls(m)...)
	}
	for _, result := range messages[results:] {
		for i, call := range open {
			if sameID(call.Id, result.ToolCallId) {
				open = append(open[:i], open[i+1:]...)
				break
			}
		}
	}
	return open
}

func sameID(a, b *string) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}
