package responses

import (
	"github.com/transcriptd/transcriptd/client/internal/groups"
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The API's limits on names and ids.
const (
	maxBytes = 64
	noName   = "unknown"
	noID     = "call"
)

// ForModel writes messages as a JSON list of items that the Responses API accepts as input, from whatever provider they came: each call is followed
// by exactly one result, behind the items of its group; call ids are unique and well-formed; no message is empty; each part is of a kind that its role may have. Reasoning
// goes back where OpenAI encrypted it, and something follows it. Items have no ids, so that nothing need be stored at OpenAI; what its tools did is left out. The report tells, by the paths of the
// given messages, all that was changed. Call arguments are never touched.
//
// What was written for the messages of a chain begins what is written for a longer chain, unless the chain ended within a group or in
// reasoning. Errors: ErrNoMessages; ErrInvalid, as for Format.
func ForModel(messages []*transcriptv1.Message) ([]byte, Report, error) {
	m := model{
		ids:   groups.Names{Max: maxBytes, Default: noID},
		names: groups.Names{Max: maxBytes, Default: noName},
		out:   providerjson.NewList(),
	}
	var err error
	if m.messages, err = providerjson.AllForProvider(messages, inner(), &m.report); err != nil {
		return nil, Report{}, err
	}
	steps, leftOut := groups.Split(m.messages)
	for _, i := range leftOut {
		m.change(messagePath(i), LeftOut, "answers no call of its group")
	}
	for _, s := range steps {
		if err := m.step(s); err != nil {
			return nil, Report{}, err
		}
	}
	if m.out.Len() == 0 {
		return nil, m.report, ErrNoMessages
	}
	return m.out.Append(nil), m.report, nil
}

// model is the state of one ForModel.
type model struct {
	messages []*transcriptv1.Message
	ids      groups.Names // those given to calls, unique in the whole request
	names    groups.Names
	out      *providerjson.Node
	report   Report
}

func messagePath(i int) string { return providerjson.Index("messages", i) }

func (m *model) change(path string, kind ChangeKind, why string) {
	m.report.Add(Change{Path: path, Kind: kind, Why: why})
}

func (m *model) renamed(path string, from *string, to string) {
	if from == nil || *from != to {
		was := ""
		if from != nil {
			was = *from
		}
		m.report.Add(Change{Path: path, Kind: Renamed, From: was, To: to})
	}
}

func (m *model) step(s groups.Step) error {
	switch {
	case len(s.Calls) > 0:
		return m.group(s)
	case m.messages[s.Message].GetRole() == transcriptv1.Role_ROLE_ASSISTANT:
		return m.turn(s.Message, nil)
	default:
		return m.speaks(s.Message)
	}
}

// speaks writes a message of the system, the developer or the user.
func (m *model) speaks(i int) error {
	role := roleName(m.messages[i].GetRole())
	if role == "" {
		return providerjson.Errorf(messagePath(i)+".role", "is not a role")
	}
	content, err := m.input(i)
	if err != nil {
		return err
	}
	m.others(i)
	if content.empty() {
		m.change(messagePath(i), LeftOut, "has no content")
		return nil
	}
	m.out.Add(providerjson.NewObject().Set("role", providerjson.Text(role)).Set("content", content.node()))
	return nil
}

// others reports a message's other members, none of which is written.
func (m *model) others(i int) {
	if m.messages[i].Name != nil {
		m.change(messagePath(i)+".name", LeftOut, "items have no such member")
	}
	switch m.messages[i].GetExtras() {
	case "", `{"type":"message"}`:
	default:
		m.change(messagePath(i)+".extras", LeftOut, "only documented members are written")
	}
}

// group writes a group: the items of its assistant messages, then a result for each of its calls.
func (m *model) group(s groups.Step) error {
	given := make([]call, len(s.Calls))
	byPlace := map[[2]int]*call{}
	for k, c := range s.Calls {
		given[k] = call{id: m.ids.Unique(c.Call.GetId())}
		m.renamed(providerjson.Index(messagePath(c.Message)+".parts", c.Part)+".tool_call.id", c.Call.Id, given[k].id)
		byPlace[[2]int{c.Message, c.Part}] = &given[k]
	}
	for _, i := range s.Assistants {
		if err := m.turn(i, func(part int) *call { return byPlace[[2]int{i, part}] }); err != nil {
			return err
		}
	}
	for _, k := range s.Answered {
		if err := m.result(s.Calls[k].Result, given[k]); err != nil {
			return err
		}
	}
	for k, c := range s.Calls {
		if c.Result < 0 {
			m.change(providerjson.Index(messagePath(c.Message)+".parts", c.Part), Added, "has no result")
			m.out.Add(given[k].output(providerjson.Text(runloop.StubText)))
		}
	}
	return nil
}

// call is a call that was written.
type call struct {
	id     string
	custom bool
}

// output is the item of its result.
func (c call) output(content *providerjson.Node) *providerjson.Node {
	kind := "function_call_output"
	if c.custom {
		kind = "custom_tool_call_output"
	}
	return typed(kind, "call_id", c.id).Set("output", content)
}

// result writes the result of a call.
func (m *model) result(i int, c call) error {
	content, err := m.input(i)
	if err != nil {
		return err
	}
	if m.messages[i].GetIsError() {
		m.change(messagePath(i)+".is_error", LeftOut, "results have no such member")
	}
	m.others(i)
	m.out.Add(c.output(content.node()))
	return nil
}
