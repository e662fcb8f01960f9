package openai

import (
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Parse reads a JSON list of chat-completions messages: one transcript message for each, and each such that a server
// accepts it; also what FormatLine writes. The report tells of lone surrogates. Errors are ErrInvalid, with paths that begin "messages".
func Parse(data []byte) ([]*transcriptv1.Message, Report, error) {
	var report Report
	list, err := providerjson.Read(data, "messages", &report)
	if err != nil {
		return nil, Report{}, err
	}
	if list.Kind != providerjson.List {
		return nil, Report{}, providerjson.Errorf("messages", "is not a list")
	}
	messages := make([]*transcriptv1.Message, len(list.Items))
	for i, item := range list.Items {
		if messages[i], err = parseMessage(item); err != nil {
			return nil, Report{}, err
		}
	}
	return messages, report, nil
}

// ParseMessage reads one message, such as an answer's choices[0].message. What it becomes is what it becomes in a
// list. Errors are ErrInvalid, with paths that begin "message".
func ParseMessage(data []byte) (*transcriptv1.Message, Report, error) {
	var report Report
	v, err := providerjson.Read(data, "message", &report)
	if err != nil {
		return nil, Report{}, err
	}
	m, err := parseMessage(v)
	if err != nil {
		return nil, Report{}, err
	}
	return m, report, nil
}

func parseMessage(v *providerjson.Value) (*transcriptv1.Message, error) {
	if v.Kind != providerjson.Object {
		return nil, providerjson.Errorf(v.Path(), "is not an object")
	}
	if m := parseOpaque(v); m != nil {
		return m, nil
	}
	t := providerjson.Take(v)
	m := &transcriptv1.Message{}
	for _, step := range []func(*providerjson.Taker, *transcriptv1.Message) error{
		parseRole, parseReasoning, parseContent, parseCalls, parseFunctionCall, parseResult, parseName,
	} {
		if err := step(t, m); err != nil {
			return nil, err
		}
	}
	var err error
	if m.Extras, err = t.Extras(); err != nil {
		return nil, err
	}
	return m, providerjson.Check(m, v.Path())
}

// roles are OpenAI's names of the roles. The deprecated role "function" is TOOL with {"role":"function"} in extras.
func roles() map[string]transcriptv1.Role {
	return map[string]transcriptv1.Role{
		"system":    transcriptv1.Role_ROLE_SYSTEM,
		"developer": transcriptv1.Role_ROLE_DEVELOPER,
		"user":      transcriptv1.Role_ROLE_USER,
		"assistant": transcriptv1.Role_ROLE_ASSISTANT,
		"tool":      transcriptv1.Role_ROLE_TOOL,
	}
}

func parseRole(t *providerjson.Taker, m *transcriptv1.Message) error {
	v := t.Look("role")
	if v == nil || v.Kind != providerjson.String {
		return providerjson.Errorf(providerjson.Join(t.Path(), "role"), "is not a string")
	}
	role, known := roles()[v.Text]
	switch {
	case known:
		t.Take("role")
		m.Role = role
	case v.Text == "function":
		m.Role = transcriptv1.Role_ROLE_TOOL
	default:
		return providerjson.Errorf(v.Path(), "is not a role of this provider")
	}
	return nil
}

// parseReasoning takes reasoning_content, which compatible APIs have, where it is a string.
func parseReasoning(t *providerjson.Taker, m *transcriptv1.Message) error {
	v := t.Look("reasoning_content")
	if v == nil || v.Kind != providerjson.String {
		return nil
	}
	t.Take("reasoning_content")
	m.Parts = append(m.Parts, providerjson.ReasoningPart(&transcriptv1.Reasoning{Text: v.Text}, ""))
	return nil
}

func parseContent(t *providerjson.Taker, m *transcriptv1.Message) error {
	v := t.Look("content")
	t.Take("content")
	parts, form, err := providerjson.ParseContent(v, providerjson.Join(t.Path(), "content"), parsePart)
	m.Parts = append(m.Parts, parts...)
	m.ContentForm = form
	return err
}

// parseResult takes what says which call a result answers and whether it failed (is_error, which is not OpenAI's).
func parseResult(t *providerjson.Taker, m *transcriptv1.Message) error {
	if m.GetRole() != transcriptv1.Role_ROLE_TOOL {
		return nil
	}
	if v := t.Look("is_error"); v != nil && v.True() {
		t.Take("is_error")
		m.IsError = true
	}
	var err error
	m.ToolCallId, err = t.String("tool_call_id")
	return err
}

func parseName(t *providerjson.Taker, m *transcriptv1.Message) error {
	var err error
	m.Name, err = t.String("name")
	return err
}
