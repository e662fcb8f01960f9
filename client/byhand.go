package client

import (
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// ErrInvalidMessage is in every error of ParseMessage and ParseMessages. Such an error names the member by its path
// ("message.call_id is not a string") and never shows a value.
var ErrInvalidMessage = providerjson.ErrInvalid

// ParseMessage reads a message as a person writes one, a JSON object of one level:
//
//	{"role": "user", "text": "What is a node?"}
//	{"role": "assistant", "text": "I look.", "calls": [{"id": "c1", "name": "find", "arguments": {"word": "node"}}]}
//	{"role": "tool", "call_id": "c1", "text": "A step."}
//
// role is system, developer, user, assistant or tool, and text what it says; of an assistant it may be left out where there are calls. calls
// are an assistant's: arguments are an object, or a text as the model wrote it; absent, they are {}. call_id is the call that a tool's message
// answers, and error true where the tool failed. name is optional everywhere. There are no other members. What the message becomes is what
// System, User, Assistant and Result make.
func ParseMessage(data []byte) (*transcriptv1.Message, error) {
	v, err := readByHand(data, "message")
	if err != nil {
		return nil, err
	}
	return messageByHand(v)
}

// ParseMessages reads a JSON list of messages as ParseMessage reads one. Paths begin "messages".
func ParseMessages(data []byte) ([]*transcriptv1.Message, error) {
	list, err := readByHand(data, "messages")
	if err != nil {
		return nil, err
	}
	if list.Kind != providerjson.List {
		return nil, providerjson.Errorf("messages", "is not a list")
	}
	messages := make([]*transcriptv1.Message, len(list.Items))
	for i, item := range list.Items {
		if messages[i], err = messageByHand(item); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// readByHand reads JSON. What a person writes has no halves of characters, and nobody would look for a report of them.
func readByHand(data []byte, root string) (*providerjson.Value, error) {
	var report providerjson.Report
	v, err := providerjson.Read(data, root, &report)
	if err == nil && len(report.Changes) > 0 {
		return nil, providerjson.Errorf(report.Changes[0].Path, "holds a lone surrogate")
	}
	return v, err
}

// messageMembers are the members that a message of each role may have.
func messageMembers() map[string]struct {
	role    transcriptv1.Role
	members []string
} {
	type of = struct {
		role    transcriptv1.Role
		members []string
	}
	return map[string]of{
		"system":    {transcriptv1.Role_ROLE_SYSTEM, []string{"role", "text", "name"}},
		"developer": {transcriptv1.Role_ROLE_DEVELOPER, []string{"role", "text", "name"}},
		"user":      {transcriptv1.Role_ROLE_USER, []string{"role", "text", "name"}},
		"assistant": {transcriptv1.Role_ROLE_ASSISTANT, []string{"role", "text", "calls", "name"}},
		"tool":      {transcriptv1.Role_ROLE_TOOL, []string{"role", "call_id", "text", "error", "name"}},
	}
}

func messageByHand(v *providerjson.Value) (*transcriptv1.Message, error) {
	if v.Kind != providerjson.Object {
		return nil, providerjson.Errorf(v.Path(), "is not an object")
	}
	role, err := stringByHand(v, "role", true)
	if err != nil {
		return nil, err
	}
	of, known := messageMembers()[*role]
	if !known {
		return nil, providerjson.Errorf(v.Member("role").Path(), "is none of system, developer, user, assistant and tool")
	}
	if err := onlyMembers(v, "a message of the role "+*role, of.members); err != nil {
		return nil, err
	}
	m := &transcriptv1.Message{Role: of.role}
	calls, err := callsByHand(v.Member("calls"))
	if err != nil {
		return nil, err
	}
	text, err := stringByHand(v, "text", len(calls) == 0)
	if err != nil {
		return nil, err
	}
	if text != nil && (*text != "" || len(calls) == 0) {
		m.Parts = append(m.Parts, textPart(*text))
	}
	m.Parts = append(m.Parts, calls...)
	if m.ToolCallId, err = stringByHand(v, "call_id", of.role == transcriptv1.Role_ROLE_TOOL); err != nil {
		return nil, err
	}
	if m.Name, err = stringByHand(v, "name", false); err != nil {
		return nil, err
	}
	if failed := v.Member("error"); failed != nil {
		if failed.Kind != providerjson.Bool {
			return nil, providerjson.Errorf(failed.Path(), "is neither true nor false")
		}
		m.IsError = failed.True()
	}
	return m, providerjson.Check(m, v.Path())
}

func callsByHand(v *providerjson.Value) ([]*transcriptv1.Part, error) {
	if v == nil {
		return nil, nil
	}
	if v.Kind != providerjson.List {
		return nil, providerjson.Errorf(v.Path(), "is not a list")
	}
	parts := make([]*transcriptv1.Part, len(v.Items))
	for i, item := range v.Items {
		if item.Kind != providerjson.Object {
			return nil, providerjson.Errorf(item.Path(), "is not an object")
		}
		if err := onlyMembers(item, "a call", []string{"id", "name", "arguments"}); err != nil {
			return nil, err
		}
		call := &transcriptv1.ToolCall{}
		var err error
		if call.Id, err = stringByHand(item, "id", true); err != nil {
			return nil, err
		}
		if call.Name, err = stringByHand(item, "name", true); err != nil {
			return nil, err
		}
		if call.Arguments, err = argumentsByHand(item.Member("arguments")); err != nil {
			return nil, err
		}
		parts[i] = &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: call}}
	}
	return parts, nil
}

// argumentsByHand is a text as it is, and an object in the one compact form, in which numbers and the order of members stay.
func argumentsByHand(v *providerjson.Value) (string, error) {
	switch {
	case v == nil:
		return "{}", nil
	case v.Kind == providerjson.String:
		return v.Text, nil
	case v.Kind == providerjson.Object:
		return providerjson.Compact(v.Source, v.Path())
	}
	return "", providerjson.Errorf(v.Path(), "is neither an object nor a string")
}

// stringByHand is a member that is a string; nil where it is not there and need not be.
func stringByHand(v *providerjson.Value, name string, needed bool) (*string, error) {
	member := v.Member(name)
	switch {
	case member == nil && needed:
		return nil, providerjson.Errorf(providerjson.Join(v.Path(), name), "is not there")
	case member == nil:
		return nil, nil
	case member.Kind != providerjson.String:
		return nil, providerjson.Errorf(member.Path(), "is not a string")
	}
	return &member.Text, nil
}

// onlyMembers refuses the first member that is none of those that something has.
func onlyMembers(v *providerjson.Value, what string, names []string) error {
	for _, m := range v.Members {
		if !slices.Contains(names, m.Name) {
			return providerjson.Errorf(m.Value.Path(), "is no member of %s, which has %s", what, strings.Join(names, ", "))
		}
	}
	return nil
}
