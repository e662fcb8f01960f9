package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// sent is one message to be sent.
type sent struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Name       *string         `json:"name"`
	ToolCallID *string         `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function *struct {
			Name      string  `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
		Custom *struct {
			Name  string  `json:"name"`
			Input *string `json:"input"`
		} `json:"custom"`
	} `json:"tool_calls"`
}

// checkRequest tells why the chat-completions API would refuse messages. It is written from the API's documentation
// and error messages, without the converter's code.
func checkRequest(data []byte) error {
	var raw []map[string]json.RawMessage
	var messages []sent
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &messages); err != nil {
		return err
	}
	if len(messages) == 0 {
		return errors.New("messages: array too short")
	}
	open := map[string]bool{}
	for i, m := range messages {
		for member := range raw[i] {
			if !map[string]bool{
				"role": true, "content": true, "name": true, "tool_call_id": true, "tool_calls": true,
			}[member] {
				return fmt.Errorf("messages[%d]: unknown member %q", i, member)
			}
		}
		if err := checkMessage(m, open); err != nil {
			return fmt.Errorf("messages[%d] (%s): %w", i, m.Role, err)
		}
	}
	if len(open) > 0 {
		return errors.New("an assistant message with tool_calls must be followed by tool messages")
	}
	return nil
}

func checkMessage(m sent, open map[string]bool) error {
	if m.Role == "tool" {
		if m.ToolCallID == nil || !open[*m.ToolCallID] {
			return errors.New("a tool message must be a response to a preceding message with tool_calls")
		}
		delete(open, *m.ToolCallID)
		return checkContent(m.Content, "tool")
	}
	if len(open) > 0 {
		return errors.New("an assistant message with tool_calls must be followed by tool messages")
	}
	if m.Name != nil && !toolName.MatchString(*m.Name) {
		return errors.New("name does not match the pattern")
	}
	if m.Role != "assistant" || m.ToolCalls == nil {
		return checkContent(m.Content, m.Role)
	}
	for _, c := range m.ToolCalls {
		if c.ID == "" || len(c.ID) > 40 || open[c.ID] {
			return errors.New("a call id is empty, too long or not unique")
		}
		open[c.ID] = true
		function := c.Type == "function" && c.Function != nil && c.Function.Arguments != nil &&
			toolName.MatchString(c.Function.Name)
		custom := c.Type == "custom" && c.Custom != nil && c.Custom.Input != nil && toolName.MatchString(c.Custom.Name)
		if !function && !custom {
			return errors.New("a call is malformed")
		}
	}
	if len(m.ToolCalls) == 0 {
		return errors.New("tool_calls: empty array")
	}
	if string(m.Content) == "null" {
		return nil
	}
	return checkContent(m.Content, m.Role)
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkContent checks a string, which only a result may leave empty, or a list of parts that the role may have.
func checkContent(content json.RawMessage, role string) error {
	types, known := map[string][]string{
		"system": {"text"}, "developer": {"text"}, "tool": {"text"},
		"user": {"text", "image_url", "input_audio", "file"}, "assistant": {"text", "refusal"},
	}[role]
	if !known {
		return errors.New("unknown role")
	}
	var text string
	if json.Unmarshal(content, &text) == nil && len(content) > 0 && content[0] == '"' {
		if text == "" && role != "tool" {
			return errors.New("content is empty")
		}
		return nil
	}
	var parts []map[string]json.RawMessage
	if err := json.Unmarshal(content, &parts); err != nil || len(parts) == 0 {
		return errors.New("content is neither a string nor a list that is not empty")
	}
	for _, p := range parts {
		var kind string
		if err := json.Unmarshal(p["type"], &kind); err != nil {
			return err
		}
		allowed := false
		for _, t := range types {
			allowed = allowed || t == kind
		}
		if !allowed || len(p) != 2 || p[kind] == nil || string(p[kind]) == `""` {
			return fmt.Errorf("a part of type %q is not allowed here or malformed", kind)
		}
	}
	return nil
}
