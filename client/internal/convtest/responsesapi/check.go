// Package responsesapi tells what the Responses API would refuse of an input, for tests of what is sent to it.
package responsesapi

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

// item has all members that the API documents and that a conversation needs.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Phase     string          `json:"phase"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace *string         `json:"namespace"`
	Arguments *string         `json:"arguments"`
	Input     *string         `json:"input"`
	Output    json.RawMessage `json:"output"`
	Summary   []content       `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
}

type content struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	Refusal  string  `json:"refusal"`
	ImageURL string  `json:"image_url"`
	FileID   string  `json:"file_id"`
	FileURL  string  `json:"file_url"`
	FileData string  `json:"file_data"`
	Filename string  `json:"filename"`
	Detail   string  `json:"detail"`
}

// Check tells why the Responses API would refuse a list of input items. It is written from the API's documentation and error messages, without the
// converter's code. It is stricter in two things: call ids are unique in the whole request, and a result comes before anybody else speaks.
func Check(data []byte) error {
	var items []item
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&items); err != nil {
		return err
	}
	if len(items) == 0 {
		return errors.New("input: empty")
	}
	var members []map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	c := checker{open: map[string]string{}, used: map[string]bool{}}
	for i, one := range items {
		if err := errors.Join(c.item(one), onlyDocumented(one.Type, members[i])); err != nil {
			return fmt.Errorf("input[%d] (%s%s): %w", i, one.Type, one.Role, err)
		}
	}
	if c.thought {
		return errors.New("reasoning was provided without its required following item")
	}
	if len(c.open) > 0 {
		return errUnanswered
	}
	return nil
}

// documented are the members of each type of item, beside its type.
var documented = map[string][]string{
	"": {"role", "content", "phase"}, "reasoning": {"summary", "encrypted_content"}, "compaction": {"encrypted_content"},
	"function_call": {"call_id", "name", "namespace", "arguments"}, "function_call_output": {"call_id", "output"},
	"custom_tool_call": {"call_id", "name", "namespace", "input"}, "custom_tool_call_output": {"call_id", "output"},
}

func onlyDocumented(kind string, members map[string]json.RawMessage) error {
	for name := range members {
		if name != "type" && !slices.Contains(documented[kind], name) {
			return fmt.Errorf("unknown parameter: %s", name)
		}
	}
	return nil
}

var errUnanswered = errors.New("no tool output found for a call")

type checker struct {
	// open are calls without a result, with the type that it has to have.
	open map[string]string
	used map[string]bool
	// thought: the last item is reasoning.
	thought bool
}

var (
	idPattern   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	namePattern = idPattern
)

func (c *checker) item(one item) error {
	follows := c.thought
	c.thought = one.Type == "reasoning"
	if follows && one.Role != "" && one.Role != "assistant" {
		return errors.New("reasoning was provided without its required following item")
	}
	switch one.Type {
	case "":
		return c.message(one)
	case "reasoning":
		if one.Encrypted == "" || one.Summary == nil {
			return errors.New("reasoning without its content")
		}
		for _, s := range one.Summary {
			if s.Type != "summary_text" || s.Text == nil {
				return errors.New("malformed summary")
			}
		}
	case "compaction":
		if one.Encrypted == "" {
			return errors.New("no content")
		}
	case "function_call":
		return c.call(one, one.Arguments, "function_call_output")
	case "custom_tool_call":
		return c.call(one, one.Input, "custom_tool_call_output")
	case "function_call_output", "custom_tool_call_output":
		if follows || c.open[one.CallID] != one.Type {
			return errors.New("no tool call found for the output")
		}
		delete(c.open, one.CallID)
		return checkContent(one.Output, "output of a call")
	default:
		return errors.New("unknown type")
	}
	return nil
}

func (c *checker) call(one item, arguments *string, output string) error {
	if !idPattern.MatchString(one.CallID) || c.used[one.CallID] {
		return errors.New("a call id is empty, too long, of other characters or not unique")
	}
	if !namePattern.MatchString(one.Name) || arguments == nil || one.Namespace != nil && !namePattern.MatchString(*one.Namespace) {
		return errors.New("a call is malformed")
	}
	c.used[one.CallID], c.open[one.CallID] = true, output
	return nil
}

func (c *checker) message(one item) error {
	if one.Role != "assistant" && len(c.open) > 0 {
		return errUnanswered
	}
	if one.Phase != "" && one.Role != "assistant" {
		return errors.New("only an assistant's message has a phase")
	}
	if bytes.Equal(one.Content, []byte(`""`)) {
		return errors.New("content is empty")
	}
	return checkContent(one.Content, one.Role)
}

func checkContent(text json.RawMessage, role string) error {
	types, known := map[string][]string{
		"system": {"input_text"}, "developer": {"input_text"}, "user": {"input_text", "input_image", "input_file"},
		"output of a call": {"input_text", "input_image", "input_file"}, "assistant": {"output_text", "refusal"},
	}[role]
	if !known {
		return errors.New("unknown role")
	}
	if len(text) > 0 && text[0] == '"' {
		return nil
	}
	var parts []content
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&parts); err != nil {
		return err
	}
	if len(parts) == 0 {
		return errors.New("content is empty")
	}
	for _, p := range parts {
		if !slices.Contains(types, p.Type) {
			return fmt.Errorf("no %s in a message of this role", p.Type)
		}
		if err := p.check(); err != nil {
			return fmt.Errorf("%s: %w", p.Type, err)
		}
	}
	return nil
}

func (p content) check() error {
	sources := 0
	for _, s := range []string{p.ImageURL, p.FileID, p.FileURL, p.FileData} {
		if s != "" {
			sources++
		}
	}
	text := p.Text != nil && *p.Text != ""
	switch p.Type {
	case "input_text", "output_text":
		if text && sources == 0 && p.Refusal == "" && p.Detail == "" && p.Filename == "" {
			return nil
		}
	case "refusal":
		if p.Refusal != "" && sources == 0 && p.Text == nil {
			return nil
		}
	case "input_image":
		detail := slices.Contains([]string{"auto", "low", "high", "original"}, p.Detail)
		if detail && sources == 1 && (p.FileID != "" || isURL(p.ImageURL) || isData(p.ImageURL, "image/png", "image/jpeg", "image/gif", "image/webp")) {
			return nil
		}
	case "input_file":
		if p.Detail == "" && sources == 1 && (p.FileID != "" || isURL(p.FileURL) || p.Filename != "" && isData(p.FileData, "application/pdf")) {
			return nil
		}
	}
	return errors.New("malformed")
}

func isURL(s string) bool { return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") }

func isData(url string, types ...string) bool {
	head, text, ok := strings.Cut(url, ";base64,")
	data, err := base64.StdEncoding.DecodeString(text)
	return ok && err == nil && len(data) > 0 && slices.Contains(types, strings.TrimPrefix(head, "data:"))
}
