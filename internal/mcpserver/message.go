package mcpserver

import (
	"fmt"
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// placed is a message with where it stands in its chain.
type placed struct {
	*transcriptv1.Message
	place *transcriptv1.MessagePlace
	note  *transcriptv1.MessageNote
}

// heading is the line above a message.
func (s *caller) heading(m *placed) string {
	line := fmt.Sprintf("[%s] %s", place(m.place), roleName(m.GetRole()))
	if m.Name != nil {
		line += " " + s.quoted(m.GetName())
	}
	if m.GetRole() == transcriptv1.Role_ROLE_TOOL {
		if m.ToolCallId == nil {
			line += ", result of a call without an id"
		} else {
			line += ", result of call " + s.quoted(m.GetToolCallId())
		}
		if m.GetIsError() {
			line += ", an error"
		}
	}
	if m.GetState() != transcriptv1.MessageState_MESSAGE_STATE_UNSPECIFIED {
		line += ", " + enumName(m.GetState(), "MESSAGE_STATE_")
	}
	if m.note.GetSentAt() != nil {
		line += ", " + clock(m.note.GetSentAt())
	}
	return line
}

// quoted is an id or a name, whole and in one line. Ids have at most 1 KiB.
func (s *caller) quoted(text string) string { return fmt.Sprintf("%q", s.clean(text)) }

// body is the content of a message as text.
func (s *caller) body(m *transcriptv1.Message) string {
	var parts []string
	for _, p := range m.GetParts() {
		if text := s.part(p); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

func (s *caller) part(p *transcriptv1.Part) string {
	switch kind := p.GetKind().(type) {
	case *transcriptv1.Part_Text:
		return s.clean(kind.Text)
	case *transcriptv1.Part_Reasoning:
		if kind.Reasoning.GetText() == "" {
			return "(reasoning that is not shown)"
		}
		return "(reasoning) " + s.clean(kind.Reasoning.GetText())
	case *transcriptv1.Part_Media:
		return s.media(kind.Media)
	case *transcriptv1.Part_Json:
		return s.clean(kind.Json)
	case *transcriptv1.Part_ToolCall:
		return s.callLine(kind.ToolCall) + " " + s.clean(kind.ToolCall.GetArguments())
	case *transcriptv1.Part_Opaque:
		return fmt.Sprintf("(state of an agent framework, %d bytes, not shown)", len(kind.Opaque.GetData()))
	default:
		return "(a part of a kind that this version does not know)"
	}
}

func (s *caller) media(m *transcriptv1.Media) string {
	kind := inline(s.clean(m.GetMediaType()), 100)
	switch source := m.GetSource().(type) {
	case *transcriptv1.Media_Inline:
		return fmt.Sprintf("(media %s, %d bytes, not shown)", kind, len(source.Inline))
	case *transcriptv1.Media_Uri:
		return fmt.Sprintf("(media %s at %s)", kind, inline(s.clean(source.Uri), 500))
	default:
		return fmt.Sprintf("(media %s)", kind)
	}
}

// callLine names a tool call: its tool, and the id by which it is recalled.
func (s *caller) callLine(c *transcriptv1.ToolCall) string {
	name := "without a name"
	if c.Name != nil {
		name = s.quoted(c.GetName())
	}
	if c.Id == nil {
		return fmt.Sprintf("(tool call %s, without an id)", name)
	}
	return fmt.Sprintf("(tool call %s, id %s)", name, s.quoted(c.GetId()))
}
