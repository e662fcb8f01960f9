package anthropic

import (
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Parse reads a request: {"system": …, "messages": […]}. The system prompt becomes the first message; a message with
// tool results becomes several, all but the first joined to the one before. Each is such that a server accepts it. The
// request's other members are no part of a transcript: the report names them (LeftOut), and tells of lone surrogates.
// Errors are ErrInvalid, with paths that begin "system" or "messages".
func Parse(data []byte) ([]*transcriptv1.Message, Report, error) {
	var report Report
	request, err := providerjson.Read(data, "", &report)
	if err != nil {
		return nil, Report{}, err
	}
	if request.Kind != providerjson.Object {
		return nil, Report{}, providerjson.Errorf("", "is not an object")
	}
	list := request.Member("messages")
	if list == nil || list.Kind != providerjson.List {
		return nil, Report{}, providerjson.Errorf("messages", "is not a list")
	}
	messages, err := parseSystem(request.Member("system"))
	if err != nil {
		return nil, Report{}, err
	}
	for _, item := range list.Items {
		more, err := parseMessage(item)
		if err != nil {
			return nil, Report{}, err
		}
		messages = append(messages, more...)
	}
	for _, m := range request.Members {
		if m.Name != "system" && m.Name != "messages" {
			report.Add(Change{Path: m.Value.Path(), Kind: LeftOut, Why: "is no part of a transcript"})
		}
	}
	return messages, report, nil
}

// ParseMessage reads one message, such as an answer. What it becomes is what it becomes in a request. Errors are
// ErrInvalid, with paths that begin "message".
func ParseMessage(data []byte) ([]*transcriptv1.Message, Report, error) {
	var report Report
	v, err := providerjson.Read(data, "message", &report)
	if err != nil {
		return nil, Report{}, err
	}
	messages, err := parseMessage(v)
	if err != nil {
		return nil, Report{}, err
	}
	return messages, report, nil
}

// parseSystem makes the first message of the member system; none where it is absent.
func parseSystem(v *providerjson.Value) ([]*transcriptv1.Message, error) {
	if v == nil {
		return nil, nil
	}
	m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_SYSTEM}
	var err error
	m.Parts, m.ContentForm, err = providerjson.ParseContent(v, v.Path(), blockParser(m.GetRole()))
	if err != nil {
		return nil, err
	}
	return []*transcriptv1.Message{m}, providerjson.Check(m, v.Path())
}

func parseMessage(v *providerjson.Value) ([]*transcriptv1.Message, error) {
	if v.Kind != providerjson.Object {
		return nil, providerjson.Errorf(v.Path(), "is not an object")
	}
	t := providerjson.Take(v)
	role, err := parseRole(t)
	if err != nil {
		return nil, err
	}
	content := t.Look("content")
	t.Take("content")
	extras, err := t.Extras()
	if err != nil {
		return nil, err
	}
	var messages []*transcriptv1.Message
	if role == transcriptv1.Role_ROLE_USER && hasResults(content) {
		messages, err = parseResults(content, extras)
	} else {
		m := &transcriptv1.Message{Role: role, Extras: extras}
		path := providerjson.Join(v.Path(), "content")
		m.Parts, m.ContentForm, err = providerjson.ParseContent(content, path, blockParser(role))
		messages = append(messages, m)
	}
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if err := providerjson.Check(m, v.Path()); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// parseRole takes the role. That of a system message among the others stays in the extras, which tells it from the
// member system.
func parseRole(t *providerjson.Taker) (transcriptv1.Role, error) {
	v := t.Look("role")
	if v == nil || v.Kind != providerjson.String {
		return 0, providerjson.Errorf(providerjson.Join(t.Path(), "role"), "is not a string")
	}
	switch v.Text {
	case "user":
		t.Take("role")
		return transcriptv1.Role_ROLE_USER, nil
	case "assistant":
		t.Take("role")
		return transcriptv1.Role_ROLE_ASSISTANT, nil
	case "system":
		return transcriptv1.Role_ROLE_SYSTEM, nil
	}
	return 0, providerjson.Errorf(v.Path(), "is not a role of this provider")
}

// messageExtras is the member of a result's extras that holds the other members of the user's message that it begins.
const messageExtras = "message"

// isResult tells whether a block becomes a message of its own. A block with a member of the name messageExtras, which
// the API does not know, does not.
func isResult(v *providerjson.Value) bool {
	kind := v.Member("type")
	return kind != nil && kind.Text == "tool_result" && v.Member(messageExtras) == nil
}

func hasResults(content *providerjson.Value) bool {
	if content == nil {
		return false
	}
	for _, block := range content.Items {
		if isResult(block) {
			return true
		}
	}
	return false
}

// parseResults makes messages of the content of a user's message with results: one of each result, and one of each
// run of other blocks.
func parseResults(content *providerjson.Value, extras string) ([]*transcriptv1.Message, error) {
	var messages []*transcriptv1.Message
	add := func(m *transcriptv1.Message) {
		m.Joined = len(messages) > 0
		messages = append(messages, m)
	}
	var last *transcriptv1.Message // the user's message that further blocks belong to
	parse := blockParser(transcriptv1.Role_ROLE_USER)
	for _, block := range content.Items {
		if isResult(block) {
			m, err := parseResult(block)
			if err != nil {
				return nil, err
			}
			add(m)
			last = nil
			continue
		}
		part, err := parse(block)
		if err != nil {
			return nil, err
		}
		if last == nil {
			last = &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER}
			add(last)
		}
		last.Parts = append(last.Parts, part)
		last.ContentForm = providerjson.ListForm(last.Parts)
	}
	return messages, addMessageExtras(messages[0], extras, content.Path())
}

func addMessageExtras(m *transcriptv1.Message, extras, path string) error {
	switch {
	case extras == "":
		return nil
	case m.GetRole() == transcriptv1.Role_ROLE_USER:
		m.Extras = extras
		return nil
	}
	own, err := providerjson.ReadExtras(m.GetExtras(), path)
	if err != nil {
		return err
	}
	n := providerjson.NewObject()
	n.Merge(own)
	n.Set(messageExtras, providerjson.Raw(extras))
	m.Extras, err = providerjson.Compact(n.Append(nil), path)
	return err
}

func parseResult(v *providerjson.Value) (*transcriptv1.Message, error) {
	t := providerjson.Take(v)
	t.Take("type")
	t.Take("content")
	m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_TOOL}
	var err error
	if m.ToolCallId, err = t.String("tool_use_id"); err != nil {
		return nil, err
	}
	if failed := t.Look("is_error"); failed != nil && failed.True() {
		t.Take("is_error")
		m.IsError = true
	}
	path := providerjson.Join(v.Path(), "content")
	m.Parts, m.ContentForm, err = providerjson.ParseContent(t.Look("content"), path, blockParser(m.GetRole()))
	if err != nil {
		return nil, err
	}
	m.Extras, err = t.Extras()
	return m, err
}
