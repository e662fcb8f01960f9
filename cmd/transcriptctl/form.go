package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/openai"
	"github.com/transcriptd/transcriptd/client/openai/responses"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The names of the forms that messages have at providers, of the one for people, and of that of the contract.
const (
	formOpenAI    = "openai"
	formAnthropic = "anthropic"
	formResponses = "responses"
	formSimple    = "simple"
	formProtoJSON = "protojson"
)

// form is how messages are written for a provider.
type form struct {
	name string
	// list is the member of a line, or of a request, that has the messages.
	list string
	// parse reads the members of a line, one a single message; format writes messages as an object or a list, forModel what the provider's API accepts.
	parse            func(members map[string]json.RawMessage) ([]*transcriptv1.Message, openai.Report, error)
	one              func(data []byte) ([]*transcriptv1.Message, openai.Report, error)
	format, forModel func([]*transcriptv1.Message) ([]byte, openai.Report, error)
}

// forms are all forms of providers.
func forms() []*form {
	return []*form{
		{formOpenAI, "messages", func(members map[string]json.RawMessage) ([]*transcriptv1.Message, openai.Report, error) {
			return openai.Parse(members["messages"])
		}, func(data []byte) ([]*transcriptv1.Message, openai.Report, error) {
			m, report, err := openai.ParseMessage(data)
			return []*transcriptv1.Message{m}, report, err
		}, openai.Format, openai.ForModel},
		{formAnthropic, "messages", parseAnthropic, anthropic.ParseMessage, anthropic.Format, anthropic.ForModel},
		{formResponses, "items", func(members map[string]json.RawMessage) ([]*transcriptv1.Message, openai.Report, error) {
			return responses.Parse(members["items"])
		}, func(data []byte) ([]*transcriptv1.Message, openai.Report, error) {
			return responses.Parse(slices.Concat([]byte{'['}, data, []byte{']'}))
		}, responses.Format, responses.ForModel},
	}
}

// formNamed is the form with a name; nil where it is none of a provider's.
func formNamed(name string) *form {
	all := forms()
	if at := slices.IndexFunc(all, func(f *form) bool { return f.name == name }); at >= 0 {
		return all[at]
	}
	return nil
}

// parseAnthropic reads the member messages, and system where it is there.
func parseAnthropic(members map[string]json.RawMessage) ([]*transcriptv1.Message, openai.Report, error) {
	if !json.Valid(members["messages"]) { // else it could end its list, and go on with members of its own
		return nil, openai.Report{}, fmt.Errorf("%w: messages is not JSON, or more than one text", errNotJSON)
	}
	request := `{"messages":` + string(members["messages"])
	if system, there := members["system"]; there {
		request += `,"system":` + string(system)
	}
	return anthropic.Parse([]byte(request + "}"))
}

// read reads a message, a list of messages, or an object with the list.
func (f *form) read(data []byte) ([]*transcriptv1.Message, openai.Report, error) {
	if data[0] == '[' {
		return f.parse(map[string]json.RawMessage{f.list: data})
	}
	members, err := topMembers(data)
	if err != nil {
		return nil, openai.Report{}, err
	}
	if members[f.list] != nil {
		return f.parse(members)
	}
	return f.one(data)
}

// has tells whether a member of a line is of the conversation.
func (f *form) has(member string) bool {
	return member == "id" || member == f.list || f.name == formAnthropic && member == "system"
}

// missing is the error for a line without messages. Where it has those of another form, it says so.
func (f *form) missing(members map[string]json.RawMessage) error {
	for _, other := range forms() {
		if _, there := members[other.list]; there && other.list != f.list {
			return fmt.Errorf("%w: %s is not there; %s is, as lines of --form %s have it", errNotJSON, f.list, other.list, other.name)
		}
	}
	return fmt.Errorf("%w: %s is not there", errNotJSON, f.list)
}

// line writes a conversation.
func (f *form) line(id string, messages []*transcriptv1.Message) ([]byte, openai.Report, error) {
	out, report, err := f.format(messages)
	if err != nil {
		return nil, report, err
	}
	begin, err := lineBegin(id)
	if err != nil {
		return nil, report, err
	}
	if out[0] == '{' {
		return append(append([]byte(begin), ','), out[1:]...), report, nil
	}
	return slices.Concat([]byte(begin+`,"`+f.list+`":`), out, []byte{'}'}), report, nil
}

// lineBegin is how a line begins that has a conversation with that id.
func lineBegin(id string) (string, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(id); err != nil {
		return "", err
	}
	return `{"id":` + strings.TrimSuffix(text.String(), "\n"), nil
}
