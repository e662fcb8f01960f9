package openai

import (
	"github.com/transcriptd/transcriptd/client/internal/groups"
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The API's limits on names and ids.
const (
	maxNameBytes = 64
	maxIDBytes   = 40
	noName       = "unknown"
	noID         = "call"
)

// ForModel writes messages as a JSON list that the chat-completions API accepts, from whatever provider they came:
// each assistant message with calls is followed by exactly one result for each call, the assistant messages of a group
// are one, call ids are unique and well-formed, no message is empty, and each part is of a kind that its role may have. The
// report tells, by the paths of the given messages, all that was changed. Call arguments are never touched.
//
// What was written for the messages of a chain begins what is written for a longer chain, unless the chain ended within
// a group. Errors: ErrNoMessages; ErrInvalid, as for Format.
func ForModel(messages []*transcriptv1.Message) ([]byte, Report, error) {
	m := model{
		ids: groups.Names{Max: maxIDBytes, Default: noID},
		out: providerjson.NewList(),
	}
	var err error
	if m.messages, err = providerjson.AllForProvider(messages, providerjson.Inner{}, &m.report); err != nil {
		return nil, Report{}, err
	}
	steps, leftOut := groups.Split(m.messages)
	for _, i := range leftOut {
		m.change(messagePath(i), LeftOut, "answers no call of its group")
	}
	for _, s := range steps {
		if len(s.Calls) > 0 {
			err = m.group(s)
		} else {
			err = m.message(s.Message)
		}
		if err != nil {
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
	// ids are those given to calls, unique in the whole request: the API may take one again that was answered, but servers
	// that have its form may not.
	ids    groups.Names
	out    *providerjson.Node
	report Report
}

func messagePath(i int) string { return providerjson.Index("messages", i) }

func (m *model) change(path string, kind ChangeKind, why string) {
	m.report.Add(Change{Path: path, Kind: kind, Why: why})
}

// message writes a message that is in no group, if it has content.
func (m *model) message(i int) error {
	n := providerjson.NewObject()
	if err := formatRole(n, m.messages[i], nil, messagePath(i)); err != nil {
		return err
	}
	c := content{}
	if err := m.content(i, &c); err != nil {
		return err
	}
	m.others(i)
	if c.empty() {
		m.change(messagePath(i), LeftOut, "has no content")
		return nil
	}
	n.Set("content", c.node())
	m.name(n, i)
	m.out.Add(n)
	return nil
}

// group writes a group: one assistant message, a result for each of its calls, and what the results cannot hold.
func (m *model) group(s groups.Step) error {
	n := providerjson.NewObject().Set("role", providerjson.Text("assistant"))
	c := content{}
	for k, i := range s.Assistants {
		if k > 0 {
			m.change(messagePath(i), Joined, "one assistant message comes before the results")
			m.noName(i, "the message has the first one's")
		}
		if err := m.content(i, &c); err != nil {
			return err
		}
		m.others(i)
	}
	n.Set("content", c.node())
	m.name(n, s.Assistants[0])
	ids := m.calls(n, s)
	m.out.Add(n)
	return m.results(s, ids)
}

// calls writes tool_calls and returns their ids.
func (m *model) calls(n *providerjson.Node, s groups.Step) []string {
	names := groups.Names{Max: maxNameBytes, Default: noName}
	list := providerjson.NewList()
	ids := make([]string, len(s.Calls))
	for k, call := range s.Calls {
		path := providerjson.Index(messagePath(call.Message)+".parts", call.Part) + ".tool_call"
		ids[k] = m.ids.Unique(call.Call.GetId())
		m.renamed(path+".id", call.Call.Id, ids[k])
		name := names.Clean(call.Call.GetName())
		m.renamed(path+".name", call.Call.Name, name)
		list.Add(modelCall(m.messages[call.Message].GetParts()[call.Part], ids[k], name))
	}
	n.Set("tool_calls", list)
	return ids
}

func (m *model) renamed(path string, from *string, to string) {
	if from == nil || *from != to {
		m.report.Add(Change{Path: path, Kind: Renamed, From: text(from), To: to})
	}
}

// modelCall is a call as the API documents it, of a function or of a custom tool.
func modelCall(p *transcriptv1.Part, id, name string) *providerjson.Node {
	kind, member := "function", "arguments"
	if extras, err := providerjson.ReadExtras(p.GetExtras(), ""); err == nil {
		kind, member = calledKind(extras)
	}
	return providerjson.NewObject().
		Set("id", providerjson.Text(id)).
		Set("type", providerjson.Text(kind)).
		Set(kind, providerjson.NewObject().
			Set("name", providerjson.Text(name)).
			Set(member, providerjson.Text(p.GetToolCall().GetArguments())))
}

// results writes the results of a group in the order in which they came, then a stub for each call without one, then
// a user's message with the media that results cannot hold.
func (m *model) results(s groups.Step, ids []string) error {
	media := providerjson.NewList()
	for _, k := range s.Answered {
		i := s.Calls[k].Result
		c := content{id: ids[k]}
		if err := m.content(i, &c); err != nil {
			return err
		}
		m.others(i)
		if m.messages[i].GetIsError() {
			m.change(messagePath(i)+".is_error", LeftOut, "results have no such member")
		}
		m.noName(i, "results have no such member")
		m.result(ids[k], c.node())
		for _, n := range c.moved {
			media.Add(n)
		}
	}
	for k, call := range s.Calls {
		if call.Result < 0 {
			m.change(providerjson.Index(messagePath(call.Message)+".parts", call.Part), Added, "has no result")
			m.result(ids[k], providerjson.Text(runloop.StubText))
		}
	}
	if media.Len() > 0 {
		m.out.Add(providerjson.NewObject().Set("role", providerjson.Text("user")).Set("content", media))
	}
	return nil
}

func (m *model) result(id string, content *providerjson.Node) {
	m.out.Add(providerjson.NewObject().
		Set("role", providerjson.Text("tool")).
		Set("tool_call_id", providerjson.Text(id)).
		Set("content", content))
}

// name writes the name of a speaker that is not a tool.
func (m *model) name(n *providerjson.Node, i int) {
	if m.messages[i].Name == nil {
		return
	}
	if m.messages[i].GetName() == "" {
		m.change(messagePath(i)+".name", LeftOut, "is empty")
		return
	}
	names := groups.Names{Max: maxNameBytes, Default: noName}
	name := names.Clean(m.messages[i].GetName())
	m.renamed(messagePath(i)+".name", m.messages[i].Name, name)
	n.Set("name", providerjson.Text(name))
}

// noName reports a name that is not written.
func (m *model) noName(i int, why string) {
	if m.messages[i].Name != nil {
		m.change(messagePath(i)+".name", LeftOut, why)
	}
}

// others reports a message's other members, none of which is written.
func (m *model) others(i int) {
	if m.messages[i].GetExtras() != "" {
		m.change(messagePath(i)+".extras", LeftOut, "only documented members are written")
	}
}
