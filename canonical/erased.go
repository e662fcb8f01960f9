package canonical

import (
	"slices"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// What stands in markers. Part of what is stored: must not change.
const (
	// ErasedText is the text of a marker.
	ErasedText = "[erased]"
	// erasedType is the type of an opaque marker, erasedArguments are those of its calls.
	erasedType      = "erased"
	erasedArguments = "{}"
)

// Erased are the markers of messages, one for each, of which nothing is shared but ids and names. See ErasedMessage.
func Erased(messages []*transcriptv1.Message) []*transcriptv1.Message {
	markers := make([]*transcriptv1.Message, len(messages))
	for i, m := range messages {
		markers[i] = ErasedMessage(m)
	}
	return markers
}

// ErasedMessage is the marker of a valid message: what is left of it once it is erased, which is all that folds go by. It has the message's role,
// state and origin, of a result its call's id, its name and whether it is an error, and calls with their ids and names. One text says that it was
// erased; a message that is empty by its facts has none, and an opaque one an opaque part. A stub and a left-out line are their own markers, since they tell
// nothing that anybody said. A marker is its own marker.
func ErasedMessage(m *transcriptv1.Message) *transcriptv1.Message {
	if m.Origin == transcriptv1.Origin_ORIGIN_STUB || m.Origin == transcriptv1.Origin_ORIGIN_LEFT_OUT {
		return m
	}
	out := &transcriptv1.Message{Role: m.Role, State: m.State, Origin: m.Origin}
	if IsOpaque(m) {
		out.Parts = []*transcriptv1.Part{{Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{Type: erasedType}}}}
		return out
	}
	if m.Role == transcriptv1.Role_ROLE_TOOL {
		out.ToolCallId, out.Name, out.IsError = m.ToolCallId, m.Name, m.IsError
	}
	if f := FactsOf(m); !f.Empty {
		out.Parts = append(out.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: ErasedText}})
	}
	for _, p := range m.Parts {
		if c := p.GetToolCall(); c != nil {
			call := &transcriptv1.ToolCall{Id: c.Id, Name: c.Name, Arguments: erasedArguments}
			out.Parts = append(out.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: call}})
		}
	}
	return out
}

// ErasedWhere is what is left of messages of which some are erased: those that erased tells of, by their index.
func ErasedWhere(messages []*transcriptv1.Message, erased func(i int) bool) []*transcriptv1.Message {
	out := slices.Clone(messages)
	for i, m := range messages {
		if erased(i) {
			out[i] = ErasedMessage(m)
		}
	}
	return out
}
