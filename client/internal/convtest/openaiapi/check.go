// Package openaiapi tells what the chat-completions API would refuse, for tests of what is sent to it.
package openaiapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// sent is one message to be sent, with all members that the API documents and that a conversation needs.
type sent struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Name       *string         `json:"name"`
	ToolCallID *string         `json:"tool_call_id"`
	ToolCalls  []sentCall      `json:"tool_calls"`
}

type sentCall struct {
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
}

// Check tells why the chat-completions API would refuse messages. It is written from the API's documentation
// and error messages, without the converter's code. In two things it is stricter, since servers with an API like it are:
// call ids are unique in the whole request, and of letters, digits, _ and -.
func Check(data []byte) error {
	var messages []sent
	if err := strict(data, &messages); err != nil {
		return err
	}
	if len(messages) == 0 {
		return errors.New("messages: array too short")
	}
	c := checker{open: map[string]bool{}, used: map[string]bool{}}
	for i, m := range messages {
		if err := c.message(m); err != nil {
			return fmt.Errorf("messages[%d] (%s): %w", i, m.Role, err)
		}
	}
	if len(c.open) > 0 {
		return ErrUnanswered
	}
	return nil
}

// strict decodes JSON, and refuses members that v has not.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// What a test looks for in requests as they are, and others.
var (
	ErrUnanswered = errors.New("an assistant message with tool_calls must be followed by tool messages")
	errOrphan     = errors.New("a tool message must be a response to a preceding message with tool_calls")
	ErrCallID     = errors.New("a call id is empty, too long, of other characters or not unique")
)

// checker has what the messages so far tell of those that follow.
type checker struct {
	open map[string]bool // calls of the assistant message that results follow
	used map[string]bool // all calls
}

func (c *checker) message(m sent) error {
	if m.Role == "tool" {
		if m.ToolCallID == nil || !c.open[*m.ToolCallID] {
			return errOrphan
		}
		delete(c.open, *m.ToolCallID)
		if m.Name != nil || m.ToolCalls != nil {
			return errors.New("a tool message has no name and no tool_calls")
		}
		return checkContent(m.Content, m.Role)
	}
	if len(c.open) > 0 {
		return ErrUnanswered
	}
	if m.ToolCallID != nil {
		return errors.New("only a tool message has a tool_call_id")
	}
	if m.Name != nil && !named(*m.Name) {
		return errors.New("name does not match the pattern")
	}
	if m.ToolCalls == nil {
		return checkContent(m.Content, m.Role)
	}
	if m.Role != "assistant" || len(m.ToolCalls) == 0 {
		return errors.New("tool_calls: only of an assistant, and not an empty array")
	}
	if err := c.calls(m.ToolCalls); err != nil {
		return err
	}
	if string(m.Content) == "null" {
		return nil
	}
	return checkContent(m.Content, m.Role)
}

var idPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

func (c *checker) calls(calls []sentCall) error {
	for _, call := range calls {
		if !idPattern.MatchString(call.ID) || c.used[call.ID] {
			return ErrCallID
		}
		c.used[call.ID], c.open[call.ID] = true, true
		function := call.Type == "function" && call.Custom == nil && call.Function != nil && call.Function.Arguments != nil &&
			named(call.Function.Name)
		custom := call.Type == "custom" && call.Function == nil && call.Custom != nil && call.Custom.Input != nil &&
			named(call.Custom.Name)
		if !function && !custom {
			return errors.New("a call is malformed")
		}
	}
	return nil
}

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func named(name string) bool { return namePattern.MatchString(name) }

// checkContent checks a string, which only a result may leave empty, or a list of parts that the role may have.
func checkContent(content json.RawMessage, role string) error {
	types, known := map[string][]string{
		"system": {"text"}, "developer": {"text"}, "tool": {"text"},
		"user": {"text", "image_url", "input_audio", "file"}, "assistant": {"text", "refusal"},
	}[role]
	if !known {
		return errors.New("unknown role")
	}
	if len(content) > 0 && content[0] == '"' {
		if string(content) == `""` && role != "tool" {
			return errors.New("content is empty")
		}
		return nil
	}
	var parts []sentPart
	if err := strict(content, &parts); err != nil || len(parts) == 0 {
		return errors.New("content is neither a string nor a list of parts that is not empty")
	}
	for _, p := range parts {
		if !slices.Contains(types, p.Type) || !p.whole() {
			return fmt.Errorf("a part of type %q is not allowed here or malformed", p.Type)
		}
	}
	return nil
}

// sentPart is an item of a content.
type sentPart struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	Refusal  *string `json:"refusal"`
	ImageURL *struct {
		URL    string  `json:"url"`
		Detail *string `json:"detail"`
	} `json:"image_url"`
	InputAudio *struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
	File *struct {
		FileID   string `json:"file_id"`
		Filename string `json:"filename"`
		FileData string `json:"file_data"`
	} `json:"file"`
}

// whole tells whether a part has the member of its type, not empty, and no other.
func (p *sentPart) whole() bool {
	members := 0
	for _, has := range []bool{p.Text != nil, p.Refusal != nil, p.ImageURL != nil, p.InputAudio != nil, p.File != nil} {
		if has {
			members++
		}
	}
	if members != 1 {
		return false
	}
	switch {
	case p.Type == "text" && p.Text != nil:
		return *p.Text != ""
	case p.Type == "refusal" && p.Refusal != nil:
		return *p.Refusal != ""
	case p.Type == "image_url" && p.ImageURL != nil:
		d := p.ImageURL.Detail
		return isImageURL(p.ImageURL.URL) && (d == nil || slices.Contains([]string{"auto", "low", "high"}, *d))
	case p.Type == "input_audio" && p.InputAudio != nil:
		return isBase64(p.InputAudio.Data) && slices.Contains([]string{"wav", "mp3"}, p.InputAudio.Format)
	case p.Type == "file" && p.File != nil:
		if p.File.FileID != "" {
			return p.File.FileData == ""
		}
		return p.File.Filename != "" && isDataURL(p.File.FileData, "application/pdf")
	}
	return false
}

// isImageURL tells whether an image is on the web, or inline in a type that the API takes.
func isImageURL(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") ||
		isDataURL(url, "image/png", "image/jpeg", "image/gif", "image/webp")
}

var dataURL = regexp.MustCompile(`^data:([^;,]+)(?:;[^;,]+)*;base64,(.+)$`)

// isDataURL tells whether a URL holds something of one of these media types.
func isDataURL(url string, types ...string) bool {
	found := dataURL.FindStringSubmatch(url)
	return found != nil && slices.Contains(types, strings.ToLower(found[1])) && isBase64(found[2])
}

// isBase64 tells whether a text is base64, with padding or without, and not of nothing.
func isBase64(text string) bool {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return err == nil && len(data) > 0
}
