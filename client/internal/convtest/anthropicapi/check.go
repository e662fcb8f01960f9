// Package anthropicapi tells what the Messages API would refuse, for tests of what is sent to it.
package anthropicapi

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

// block is one block of a message to be sent, with all members that the API documents for any type.
type block struct {
	Type         string          `json:"type"`
	Text         *string         `json:"text"`
	ID           *string         `json:"id"`
	Name         *string         `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    *string         `json:"tool_use_id"`
	Content      json.RawMessage `json:"content"`
	IsError      *bool           `json:"is_error"`
	Thinking     *string         `json:"thinking"`
	Signature    *string         `json:"signature"`
	Data         *string         `json:"data"`
	Title        *string         `json:"title"`
	Context      *string         `json:"context"`
	Caller       json.RawMessage `json:"caller"`
	CacheControl json.RawMessage `json:"cache_control"`
	Source       *source         `json:"source"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
}

type turn struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// strict decodes JSON, and refuses members that v has not.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// Check tells why the Messages API would refuse a system and messages. It is written from the API's
// documentation and error messages, without the converter's code.
func Check(data []byte) error {
	var request struct {
		System   json.RawMessage `json:"system"`
		Messages []turn          `json:"messages"`
	}
	if err := strict(data, &request); err != nil {
		return err
	}
	if request.System != nil {
		blocks, err := readContent(request.System)
		if err != nil {
			return fmt.Errorf("system: %w", err)
		}
		if err := checkBlocks(blocks, "text"); err != nil {
			return fmt.Errorf("system: %w", err)
		}
	}
	if len(request.Messages) == 0 {
		return errors.New("at least one message is required")
	}
	c := checker{used: map[string]bool{}}
	for i, m := range request.Messages {
		if err := c.turn(i, m); err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if len(c.open) > 0 {
		return ErrUnanswered
	}
	if c.lastRole == "assistant" && strings.TrimRight(c.lastText, " \t\n\r") != c.lastText {
		return errors.New("final assistant content cannot end with trailing whitespace")
	}
	return nil
}

// What a test looks for in requests as they are, and others.
var (
	ErrUnanswered = errors.New("tool_use ids were found without tool_result blocks immediately after")
	errOrphan     = errors.New("unexpected tool_use_id found in tool_result blocks")
	ErrCallID     = errors.New("tool_use ids must be well-formed and unique")
)

// checker has what the messages so far tell of those that follow.
type checker struct {
	open     []string        // calls of the message before
	used     map[string]bool // all calls, those of server tools too
	lastRole string
	lastText string
}

func (c *checker) turn(i int, m turn) error {
	if want := []string{"user", "assistant"}[i%2]; m.Role != want {
		return fmt.Errorf("role is %q, want %q", m.Role, want)
	}
	blocks, err := readContent(m.Content)
	if err != nil {
		return err
	}
	c.lastRole, c.lastText = m.Role, ""
	if last := blocks[len(blocks)-1]; last.Text != nil {
		c.lastText = *last.Text
	}
	if m.Role == "user" {
		return c.user(blocks)
	}
	return c.assistant(blocks)
}

func (c *checker) user(blocks []block) error {
	for len(c.open) > 0 {
		if len(blocks) == 0 || blocks[0].Type != "tool_result" {
			return ErrUnanswered
		}
		if blocks[0].ToolUseID == nil {
			return errOrphan
		}
		found := slices.Index(c.open, *blocks[0].ToolUseID)
		if found < 0 {
			return errOrphan
		}
		if err := checkResult(blocks[0]); err != nil {
			return err
		}
		c.open = slices.Delete(c.open, found, found+1)
		blocks = blocks[1:]
	}
	if len(blocks) > 0 && blocks[0].Type == "tool_result" {
		return errOrphan
	}
	return checkBlocks(blocks, "text", "image", "document")
}

var (
	idPattern       = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	serverIDPattern = regexp.MustCompile(`^srvtoolu_[a-zA-Z0-9_]+$`)
	namePattern     = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

// serverTools are the tools that the provider runs, with the type of their results.
func serverTools() map[string]string {
	return map[string]string{
		"web_search": "web_search_tool_result", "web_fetch": "web_fetch_tool_result",
		"code_execution":             "code_execution_tool_result",
		"bash_code_execution":        "bash_code_execution_tool_result",
		"text_editor_code_execution": "text_editor_code_execution_tool_result",
		"tool_search_tool_regex":     "tool_search_tool_result", "tool_search_tool_bm25": "tool_search_tool_result",
	}
}

func (c *checker) assistant(blocks []block) error {
	server := map[string]string{} // by id: the type of the result that is to come
	for _, b := range blocks {
		if len(c.open) > 0 && b.Type != "tool_use" {
			return ErrUnanswered
		}
		switch b.Type {
		case "tool_use":
			if err := c.call(b, idPattern); err != nil {
				return err
			}
			if !namePattern.MatchString(*b.Name) {
				return errors.New("tool_use: name")
			}
			c.open = append(c.open, *b.ID)
		case "server_tool_use":
			if err := c.call(b, serverIDPattern); err != nil {
				return err
			}
			if server[*b.ID] = serverTools()[*b.Name]; server[*b.ID] == "" {
				return errors.New("server_tool_use: name")
			}
		default:
			if strings.HasSuffix(b.Type, "_tool_result") {
				if b.ToolUseID == nil || server[*b.ToolUseID] != b.Type || b.Content == nil {
					return errors.New("a server tool's result without its call")
				}
				delete(server, *b.ToolUseID)
			}
		}
	}
	if len(server) > 0 {
		return errors.New("a server tool's call without its result")
	}
	switch blocks[len(blocks)-1].Type {
	case "thinking", "redacted_thinking":
		return errors.New("the final block in an assistant message cannot be thinking")
	}
	return checkBlocks(blocks, "text", "tool_use", "thinking", "redacted_thinking", "server_tool_use",
		"web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result",
		"bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result")
}

// call checks the id, and that there are a name and an object as input.
func (c *checker) call(b block, pattern *regexp.Regexp) error {
	if b.ID == nil || !pattern.MatchString(*b.ID) || c.used[*b.ID] {
		return ErrCallID
	}
	c.used[*b.ID] = true
	if b.Name == nil || len(b.Input) == 0 || b.Input[0] != '{' {
		return errors.New("tool_use: name or input")
	}
	return nil
}

// readContent reads a string as one text block; neither may be empty.
func readContent(content json.RawMessage) ([]block, error) {
	if len(content) > 0 && content[0] == '"' {
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return nil, err
		}
		return []block{{Type: "text", Text: &text}}, nil
	}
	var blocks []block
	if err := strict(content, &blocks); err != nil {
		return nil, err
	}
	if len(blocks) == 0 {
		return nil, errors.New("all messages must have non-empty content")
	}
	return blocks, nil
}

func checkBlocks(blocks []block, types ...string) error {
	for _, b := range blocks {
		switch {
		case !slices.Contains(types, b.Type):
			return fmt.Errorf("a block of type %q is not allowed here", b.Type)
		case b.Type == "text" && (b.Text == nil || strings.TrimSpace(*b.Text) == ""):
			return errors.New("text content blocks must contain non-whitespace text")
		case b.Type == "thinking" && (b.Thinking == nil || b.Signature == nil || *b.Signature == ""):
			return errors.New("thinking: thinking and signature: field required")
		case b.Type == "redacted_thinking" && (b.Data == nil || *b.Data == ""):
			return errors.New("redacted_thinking: data: field required")
		}
		if err := b.members(); err != nil {
			return err
		}
		if b.Type == "image" || b.Type == "document" {
			if err := checkSource(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// members checks that a block has no members of other types.
func (b *block) members() error {
	allowed := map[string][]string{
		"text": {"text"}, "thinking": {"thinking", "signature"}, "redacted_thinking": {"data"},
		"image": {"source"}, "document": {"source", "title", "context"},
		"tool_use": {"id", "name", "input", "caller"}, "server_tool_use": {"id", "name", "input", "caller"},
		"tool_result": {"tool_use_id", "content", "is_error"},
	}[b.Type]
	if strings.HasSuffix(b.Type, "_tool_result") {
		allowed = []string{"tool_use_id", "content", "caller"}
	}
	for _, member := range []struct {
		name string
		has  bool
	}{
		{"text", b.Text != nil}, {"id", b.ID != nil}, {"name", b.Name != nil}, {"input", b.Input != nil},
		{"tool_use_id", b.ToolUseID != nil}, {"content", b.Content != nil}, {"is_error", b.IsError != nil},
		{"thinking", b.Thinking != nil}, {"signature", b.Signature != nil}, {"data", b.Data != nil},
		{"title", b.Title != nil}, {"context", b.Context != nil}, {"caller", b.Caller != nil}, {"source", b.Source != nil},
	} {
		if member.has && !slices.Contains(allowed, member.name) {
			return fmt.Errorf("%s.%s: extra inputs are not permitted", b.Type, member.name)
		}
	}
	return nil
}

func checkSource(b block) error {
	if b.Source == nil {
		return errors.New("source: field required")
	}
	switch s := b.Source; s.Type {
	case "url":
		if s.MediaType+s.Data == "" && (strings.HasPrefix(s.URL, "https://") || strings.HasPrefix(s.URL, "http://")) {
			return nil
		}
	case "text":
		if b.Type == "document" && s.MediaType == "text/plain" && s.Data != "" && s.URL == "" {
			return nil
		}
	case "base64":
		types := map[string]string{
			"image/png": "image", "image/jpeg": "image", "image/gif": "image", "image/webp": "image",
			"application/pdf": "document",
		}
		data, err := base64.StdEncoding.DecodeString(s.Data)
		if err == nil && len(data) > 0 && s.URL == "" && types[s.MediaType] == b.Type {
			return nil
		}
	}
	return errors.New("source is not accepted")
}

func checkResult(b block) error {
	if err := b.members(); err != nil {
		return err
	}
	isError := b.IsError != nil && *b.IsError
	if b.Content == nil {
		if isError {
			return errors.New("content cannot be empty if is_error is true")
		}
		return nil
	}
	blocks, err := readContent(b.Content)
	if err != nil {
		return err
	}
	if isError {
		return checkBlocks(blocks, "text")
	}
	return checkBlocks(blocks, "text", "image", "document")
}
