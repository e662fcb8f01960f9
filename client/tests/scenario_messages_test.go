package client_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// plain is a message as scenarios have it.
type plain struct {
	System    *string     `json:"system,omitempty"`
	Developer *string     `json:"developer,omitempty"`
	User      *string     `json:"user,omitempty"`
	Assistant *string     `json:"assistant,omitempty"`
	Tool      *string     `json:"tool,omitempty"`
	Calls     []plainCall `json:"calls,omitempty"`
	Of        *string     `json:"of,omitempty"`
	Name      *string     `json:"name,omitempty"`
	Error     bool        `json:"error,omitempty"`
	Origin    string      `json:"origin,omitempty"`
	Times     int         `json:"times,omitempty"`
}

type plainCall struct {
	ID        *string `json:"id"`
	Name      *string `json:"name"`
	Arguments string  `json:"arguments"`
}

// texts are where a message has its text, by role.
func (p *plain) texts() map[transcriptv1.Role]**string {
	return map[transcriptv1.Role]**string{
		transcriptv1.Role_ROLE_SYSTEM: &p.System, transcriptv1.Role_ROLE_DEVELOPER: &p.Developer, transcriptv1.Role_ROLE_USER: &p.User,
		transcriptv1.Role_ROLE_ASSISTANT: &p.Assistant, transcriptv1.Role_ROLE_TOOL: &p.Tool,
	}
}

// message is what an SDK is given.
func (p *plain) message() (*transcriptv1.Message, error) {
	times := max(1, p.Times)
	switch {
	case p.System != nil:
		return client.System(strings.Repeat(*p.System, times)), nil
	case p.User != nil:
		return client.User(strings.Repeat(*p.User, times)), nil
	case p.Assistant != nil:
		var calls []*transcriptv1.ToolCall
		for _, c := range p.Calls {
			calls = append(calls, client.Call(*c.ID, *c.Name, c.Arguments))
		}
		return client.Assistant(strings.Repeat(*p.Assistant, times), calls...), nil
	case p.Tool != nil:
		m := client.Result(client.Call(*p.Of, *p.Name, ""), strings.Repeat(*p.Tool, times))
		m.IsError = p.Error
		return m, nil
	default:
		return nil, fmt.Errorf("a message of no role that is put: %+v", p)
	}
}

func toMessages(all []plain) ([]*transcriptv1.Message, error) {
	var messages []*transcriptv1.Message
	for i := range all {
		m, err := all[i].message()
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// toPlain is what a scenario sees of messages.
func toPlain(messages []*transcriptv1.Message) []plain {
	all := []plain{}
	for _, m := range messages {
		p := plain{Of: m.ToolCallId, Name: m.Name, Error: m.IsError, Calls: plainCalls(client.Calls(m))}
		if m.Origin != 0 {
			p.Origin = strings.TrimPrefix(m.Origin.String(), "ORIGIN_")
		}
		text := client.Text(m)
		*p.texts()[m.Role] = &text
		all = append(all, p)
	}
	return all
}

func plainCalls(calls []*transcriptv1.ToolCall) []plainCall {
	all := []plainCall{}
	for _, c := range calls {
		all = append(all, plainCall{c.Id, c.Name, c.Arguments})
	}
	return all
}

// expanded is a list of expected messages with their texts as long as they are.
func expanded(list []any) []any {
	all := make([]any, len(list))
	for i := range list {
		whole := map[string]any{}
		m, _ := list[i].(map[string]any)
		times, long := m["times"].(float64)
		for key, value := range m {
			text, isText := value.(string)
			switch {
			case key == "times":
			case long && isText && key != "of" && key != "name" && key != "origin":
				whole[key] = strings.Repeat(text, int(times))
			default:
				whole[key] = value
			}
		}
		all[i] = whole
	}
	return all
}

// toPolicy is the policy of a preset's name, or one in the JSON form of protobuf.
func toPolicy(source json.RawMessage) (*transcriptv1.Policy, error) {
	if len(source) == 0 {
		return nil, nil
	}
	var name string
	if json.Unmarshal(source, &name) != nil {
		policy := new(transcriptv1.Policy)
		return policy, protojson.Unmarshal(source, policy)
	}
	preset := map[string]func() *transcriptv1.Policy{
		"chat": client.Chat, "coding": client.Coding, "long": client.Long, "frugal": client.Frugal, "unbounded": client.Unbounded,
	}[name]
	if preset == nil {
		return nil, fmt.Errorf("no policy is called %q", name)
	}
	return preset(), nil
}
