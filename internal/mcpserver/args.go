package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/internal/when"
)

// maxCursor is the longest cursor that is given out, so that one fits into a reply beside what it continues.
const maxCursor = 8000

// arguments are those of all tools; each tool has some of them.
type arguments struct {
	Conversation string `json:"conversation"`
	Cursor       string `json:"cursor"`
	Prefix       string `json:"prefix"`
	Messages     int    `json:"messages"`
	Message      string `json:"message"`
	Query        string `json:"query"`
	Regexp       bool   `json:"regexp"`
	Role         string `json:"role"`
	Tool         string `json:"tool"`
	ErrorsOnly   bool   `json:"errors_only"`
	Since        string `json:"since"`
	Until        string `json:"until"`
	CallID       string `json:"call_id"`
	Place        string `json:"place"`
	Occurrence   int    `json:"occurrence"`
	Text         string `json:"text"`
	Head         string `json:"head"`
	NewName      string `json:"new_name"`

	given map[string]bool
}

// param is an argument of a tool, as its JSON schema has it.
type param struct {
	name, kind, says string
	required         bool
	enum             []string
}

// schema is the JSON schema of a tool's arguments.
func schema(params []param) json.RawMessage {
	type property struct {
		Type        string   `json:"type"`
		Description string   `json:"description"`
		Enum        []string `json:"enum,omitempty"`
	}
	object := struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required,omitempty"`
		Additional bool                `json:"additionalProperties"`
	}{Type: "object", Properties: map[string]property{}}
	for _, p := range params {
		object.Properties[p.name] = property{p.kind, p.says, p.enum}
		if p.required {
			object.Required = append(object.Required, p.name)
		}
	}
	b, err := json.Marshal(object)
	if err != nil { // strings and booleans alone
		return json.RawMessage(`{"type":"object"}`)
	}
	return b
}

// parse reads the arguments of a call, strictly: a model that gives a wrong one is told so.
func parse(raw json.RawMessage, params []param) (*arguments, error) {
	a := &arguments{given: map[string]bool{}}
	if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		raw = json.RawMessage("{}")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, refuse("the arguments must be one JSON object, such as %s", example(params))
	}
	known := map[string]*param{}
	for i := range params {
		known[params[i].name] = &params[i]
	}
	for name, value := range members {
		p := known[name]
		if p == nil {
			return nil, refuse("%s: there is no such argument; there are %s", clip(fmt.Sprintf("%q", name), 60), names(params))
		}
		if string(value) == "null" { // some clients send what is absent so
			delete(members, name)
			continue
		}
		if err := json.Unmarshal(fmt.Appendf(nil, "{%q:%s}", name, value), a); err != nil {
			var kind *json.UnmarshalTypeError
			if errors.As(err, &kind) {
				return nil, refuse("%s: must be of type %s", name, p.kind)
			}
			return nil, refuse("%s: cannot be read as JSON", name)
		}
		a.given[name] = true
	}
	for i := range params {
		if err := a.check(&params[i]); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// check holds the given arguments to the schema.
func (a *arguments) check(p *param) error {
	if p.required && !a.given[p.name] {
		return refuse("%s: is needed: %s", p.name, p.says)
	}
	if p.enum == nil || !a.given[p.name] {
		return nil
	}
	if slices.Contains(p.enum, a.Role) { // the only argument that has a list
		return nil
	}
	return refuse("%s: must be one of %s", p.name, strings.Join(p.enum, ", "))
}

func names(params []param) string {
	if len(params) == 0 {
		return "none"
	}
	list := make([]string, len(params))
	for i := range params {
		list[i] = params[i].name
	}
	return strings.Join(list, ", ")
}

func example(params []param) string {
	for i := range params {
		if params[i].kind == "string" {
			return fmt.Sprintf(`{"%s": "…"}`, params[i].name)
		}
	}
	return "{}"
}

// moment reads a time.
func moment(name, text string, now time.Time) (time.Time, error) {
	t, ok := when.Parse(text, now)
	if !ok {
		return t, refuse("%s: must be a date such as 2026-11-21, a time such as 2026-11-21T12:00:00Z, or how long ago, such as 24h or 3d", name)
	}
	return t, nil
}
