package anthropic

import (
	"github.com/transcriptd/transcriptd/client/internal/groups"
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The API's limits on names and ids, and what stands for one of which nothing is left.
const (
	maxNameBytes = 128
	maxIDBytes   = 64
	noName       = "unknown"
	noID         = "call"
)

// ForModel writes messages as {"system": …, "messages": […]} that the Messages API accepts, from whatever provider
// they came: the user speaks first, roles alternate, each assistant message with calls is followed by a user's message
// that begins with exactly one result for each call, call ids are unique and well-formed, inputs are objects, thinking
// is signed, and no text is blank. The report tells, by the paths of the given messages, all that was changed. A
// request of the caller's adds model, max_tokens and the like, and declares the server tools whose blocks it holds.
//
// What was written for the messages of a chain begins what is written for a longer chain, unless the chain ended within
// a group or with an assistant message. Errors: ErrNoMessages; ErrInvalid, as for Format.
func ForModel(messages []*transcriptv1.Message) ([]byte, Report, error) {
	m := model{
		ids:   groups.Names{Max: maxIDBytes, Default: noID},
		names: groups.Names{Max: maxNameBytes, Default: noName},
	}
	var err error
	if m.messages, err = providerjson.AllForProvider(messages, providerjson.Inner{Message: messageExtras}, &m.report); err != nil {
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
	m.finish()
	if len(m.turns) == 0 {
		return nil, m.report, ErrNoMessages
	}
	return m.request().Append(nil), m.report, nil
}

// model is the state of one ForModel.
type model struct {
	messages []*transcriptv1.Message
	ids      groups.Names
	names    groups.Names
	system   []item
	turns    []turn
	report   Report
}

// turn is one message to be written.
type turn struct {
	role  string
	items []item
}

// item is a block to be written, and the part that it came from.
type item struct {
	node *providerjson.Node
	kind string // the block's type
	text string // of a text block
	// server is the id that a server tool's call and its result share, answer on the call the type of the result; "" of
	// other blocks.
	server, answer string
	path           string
}

// callIDs are the ids given to calls, by where these stand.
type callIDs map[place]string

type place struct{ message, part int }

func messagePath(i int) string { return providerjson.Index("messages", i) }

func (m *model) change(path string, kind ChangeKind, why string) {
	m.report.Add(Change{Path: path, Kind: kind, Why: why})
}

// step writes a message or a group. Until a user has spoken, only what the system says is written.
func (m *model) step(s groups.Step) error {
	role := m.messages[s.Message].GetRole()
	switch {
	case roleName(m.messages[s.Message]) == "":
		return providerjson.Errorf(messagePath(s.Message)+".role", "is not a role")
	case roleName(m.messages[s.Message]) == "system":
		return m.instruction(s.Message)
	case role == transcriptv1.Role_ROLE_USER:
		return m.plain("user", s.Message)
	case len(m.turns) == 0:
		m.leadIn(s)
		return nil
	case len(s.Calls) == 0:
		return m.plain("assistant", s.Message)
	}
	return m.group(s)
}

// leadIn reports what comes before any user.
func (m *model) leadIn(s groups.Step) {
	const why = "comes before the first user's message"
	if len(s.Assistants) == 0 {
		m.change(messagePath(s.Message), LeftOut, why)
	}
	for _, i := range s.Assistants {
		m.change(messagePath(i), LeftOut, why)
	}
	for _, k := range s.Answered {
		m.change(messagePath(s.Calls[k].Result), LeftOut, why)
	}
}

// instruction writes what the system or developer says: to the member system before any user has spoken, else as
// marked text of the user's.
func (m *model) instruction(i int) error {
	items, err := m.items(i)
	if err != nil {
		return err
	}
	m.others(i)
	if len(items) == 0 {
		m.change(messagePath(i), LeftOut, "has no content")
		return nil
	}
	if len(m.turns) == 0 {
		m.system = append(m.system, items...)
		return nil
	}
	m.change(messagePath(i), Replaced, "the system speaks only before all others")
	for k := range items {
		items[k] = textItem("<system>\n"+items[k].text+"\n</system>", items[k].path)
	}
	m.append("user", items)
	return nil
}

// plain writes a message that is in no group, if it has content.
func (m *model) plain(role string, i int) error {
	items, err := m.items(i)
	if err != nil {
		return err
	}
	m.others(i)
	if len(items) == 0 {
		m.change(messagePath(i), LeftOut, "has no content")
		return nil
	}
	m.appendReported(role, items, i)
	return nil
}

// append adds blocks to the last turn, if it is the role's, else a turn. It tells whether it was.
func (m *model) append(role string, items []item) (joined bool) {
	if n := len(m.turns); n > 0 && m.turns[n-1].role == role {
		m.turns[n-1].items = append(m.turns[n-1].items, items...)
		return true
	}
	m.turns = append(m.turns, turn{role: role, items: items})
	return false
}

func (m *model) appendReported(role string, items []item, i int) {
	if m.append(role, items) && !m.messages[i].GetJoined() {
		m.change(messagePath(i), Joined, "roles alternate")
	}
}

// group writes a group: one assistant message, then one of the user's with a result for each call.
func (m *model) group(s groups.Step) error {
	ids := callIDs{}
	order := make([]string, len(s.Calls))
	for k, c := range s.Calls {
		path := providerjson.Index(messagePath(c.Message)+".parts", c.Part) + ".tool_call.id"
		order[k] = m.ids.Unique(c.Call.GetId())
		m.renamed(path, c.Call.Id, order[k])
		ids[place{c.Message, c.Part}] = order[k]
	}
	for _, i := range s.Assistants {
		items, err := m.itemsWithCalls(i, ids)
		if err != nil {
			return err
		}
		m.others(i)
		m.appendReported("assistant", items, i)
	}
	return m.results(s, order)
}

func (m *model) renamed(path string, from *string, to string) {
	if from == nil || *from != to {
		c := Change{Path: path, Kind: Renamed, To: to}
		if from != nil {
			c.From = *from
		}
		m.report.Add(c)
	}
}

// others reports a message's members that no request has.
func (m *model) others(i int) {
	if m.messages[i].Name != nil {
		m.change(messagePath(i)+".name", LeftOut, "messages have no such member")
	}
	if extras := m.messages[i].GetExtras(); extras != "" && extras != `{"role":"system"}` {
		m.change(messagePath(i)+".extras", LeftOut, "only documented members are written")
	}
}

// request is what was gathered: contents of one text are strings, all others lists.
func (m *model) request() *providerjson.Node {
	n := providerjson.NewObject()
	if len(m.system) > 0 {
		n.Set("system", contentNode(m.system))
	}
	list := providerjson.NewList()
	for _, t := range m.turns {
		list.Add(providerjson.NewObject().
			Set("role", providerjson.Text(t.role)).Set("content", contentNode(t.items)))
	}
	return n.Set("messages", list)
}

func contentNode(items []item) *providerjson.Node {
	if len(items) == 1 && items[0].kind == "text" {
		return providerjson.Text(items[0].text)
	}
	list := providerjson.NewList()
	for _, i := range items {
		list.Add(i.node)
	}
	return list
}
