package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// block is one block of a message to be sent.
type block struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Signature string          `json:"signature"`
	Source    struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
}

type turn struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// checkRequest tells why the Messages API would refuse a system and messages. It is written from the API's
// documentation and error messages, without the converter's code.
func checkRequest(data []byte) error {
	var request struct {
		System   json.RawMessage `json:"system"`
		Messages []turn          `json:"messages"`
	}
	if err := json.Unmarshal(data, &request); err != nil {
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
		return errors.New("tool_use ids were found without tool_result blocks immediately after")
	}
	if c.lastRole == "assistant" && strings.TrimSpace(c.lastText) != c.lastText {
		if strings.TrimRight(c.lastText, " \t\n\r") != c.lastText {
			return errors.New("final assistant content cannot end with trailing whitespace")
		}
	}
	return nil
}

type checker struct {
	open     []string // calls of the message before
	used     map[string]bool
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
			return errors.New("tool_use ids were found without tool_result blocks immediately after")
		}
		found := -1
		for i, id := range c.open {
			if id == blocks[0].ToolUseID {
				found = i
			}
		}
		if found < 0 {
			return errors.New("unexpected tool_use_id found in tool_result blocks")
		}
		if err := checkResult(blocks[0]); err != nil {
			return err
		}
		c.open = append(c.open[:found], c.open[found+1:]...)
		blocks = blocks[1:]
	}
	return checkBlocks(blocks, "text", "image", "document")
}

var idPattern, namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

func (c *checker) assistant(blocks []block) error {
	server := map[string]bool{}
	for _, b := range blocks {
		if len(c.open) > 0 && b.Type != "tool_use" {
			return errors.New("tool_use ids were found without tool_result blocks immediately after")
		}
		switch b.Type {
		case "tool_use":
			if !idPattern.MatchString(b.ID) || c.used[b.ID] {
				return errors.New("tool_use ids must be well-formed and unique")
			}
			if !namePattern.MatchString(b.Name) || len(b.Input) == 0 || b.Input[0] != '{' {
				return errors.New("tool_use: name or input")
			}
			c.used[b.ID] = true
			c.open = append(c.open, b.ID)
		case "server_tool_use":
			server[b.ID] = true
		default:
			if strings.HasSuffix(b.Type, "_tool_result") {
				if !server[b.ToolUseID] {
					return errors.New("a server tool's result without its call")
				}
				delete(server, b.ToolUseID)
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
	if err := json.Unmarshal(content, &blocks); err != nil {
		return nil, err
	}
	if len(blocks) == 0 {
		return nil, errors.New("all messages must have non-empty content")
	}
	return blocks, nil
}

func checkBlocks(blocks []block, types ...string) error {
	for _, b := range blocks {
		known := false
		for _, t := range types {
			known = known || t == b.Type
		}
		switch {
		case !known:
			return fmt.Errorf("a block of type %q is not allowed here", b.Type)
		case b.Type == "text" && (b.Text == nil || strings.TrimSpace(*b.Text) == ""):
			return errors.New("text content blocks must contain non-whitespace text")
		case b.Type == "thinking" && b.Signature == "":
			return errors.New("thinking: signature: field required")
		case b.Type == "image" || b.Type == "document":
			if err := checkSource(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkSource(b block) error {
	switch b.Source.Type {
	case "url":
		if !strings.HasPrefix(b.Source.URL, "http") {
			return errors.New("only http and https URLs are supported")
		}
		return nil
	case "text":
		if b.Type == "document" && b.Source.Data != "" {
			return nil
		}
	case "base64":
		types := map[string]string{
			"image/png": "image", "image/jpeg": "image", "image/gif": "image", "image/webp": "image",
			"application/pdf": "document",
		}
		if b.Source.Data != "" && types[b.Source.MediaType] == b.Type {
			return nil
		}
	}
	return errors.New("source is not accepted")
}

func checkResult(b block) error {
	if b.Content == nil {
		if b.IsError {
			return errors.New("content cannot be empty if is_error is true")
		}
		return nil
	}
	blocks, err := readContent(b.Content)
	if err != nil {
		return err
	}
	if b.IsError {
		return checkBlocks(blocks, "text")
	}
	return checkBlocks(blocks, "text", "image", "document")
}
