package responses

import (
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Parse reads a JSON list of items, such as a request's input or a response's output. What a model gives between two others, reasoning, texts and
// calls, is one message of the assistant; a message of anybody else, and a result, is one by itself. Each message is such that a server accepts it. The report tells of lone surrogates. Errors
// are ErrInvalid, with paths that begin "items".
func Parse(data []byte) ([]*transcriptv1.Message, Report, error) {
	var report Report
	list, err := providerjson.Read(data, "items", &report)
	if err != nil {
		return nil, Report{}, err
	}
	if list.Kind != providerjson.List {
		return nil, Report{}, providerjson.Errorf("items", "is not a list")
	}
	p := parser{messages: []*transcriptv1.Message{}}
	for _, item := range list.Items {
		if err := p.item(item); err != nil {
			return nil, Report{}, err
		}
	}
	if err := p.close(); err != nil {
		return nil, Report{}, err
	}
	return p.messages, report, nil
}

// parser has the messages so far.
type parser struct {
	messages []*transcriptv1.Message
	// turn is the assistant's message that further parts belong to, the path its first item's.
	turn  *transcriptv1.Message
	path  string
	calls int
}

func (p *parser) item(v *providerjson.Value) error {
	if v.Kind != providerjson.Object {
		return providerjson.Errorf(v.Path(), "is not an object")
	}
	kind := textOf(v.Member("type"))
	switch {
	case kind == textMessage, v.Member("type") == nil && v.Member("role") != nil:
		return p.message(v)
	case kind == reasoningItem:
		return p.add(parseReasoning, v)
	case callOf(kind) != nil:
		return p.call(v, callOf(kind))
	case resultOf(kind) != nil && isString(v.Member("call_id")):
		return p.result(v, resultOf(kind))
	default:
		return p.whole(v)
	}
}

// own adds a message by itself.
func (p *parser) own(m *transcriptv1.Message, v *providerjson.Value) error {
	if err := p.close(); err != nil {
		return err
	}
	p.messages = append(p.messages, m)
	return providerjson.Check(m, v.Path())
}

// close ends the assistant's message.
func (p *parser) close() error {
	m := p.turn
	p.turn, p.calls = nil, 0
	if m == nil {
		return nil
	}
	p.messages = append(p.messages, m)
	return providerjson.Check(m, p.path)
}

// append adds parts of an item to the assistant's message.
func (p *parser) append(v *providerjson.Value, parts ...*transcriptv1.Part) {
	if p.turn == nil {
		p.turn, p.path = &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT}, v.Path()
	}
	p.turn.Parts = append(p.turn.Parts, parts...)
}

// add appends the part that an item becomes; where it becomes none, it is one whole.
func (p *parser) add(parse func(*providerjson.Value) (*transcriptv1.Part, error), v *providerjson.Value) error {
	part, err := parse(v)
	switch {
	case err != nil:
		return err
	case part == nil:
		return p.whole(v)
	}
	p.append(v, part)
	return nil
}

// call appends a call. A message has no more calls than a server accepts: the next begins another.
func (p *parser) call(v *providerjson.Value, c *called) error {
	part, err := c.parse(v)
	switch {
	case err != nil:
		return err
	case part == nil:
		return p.whole(v)
	}
	if p.calls == canonical.MaxCalls {
		if err := p.close(); err != nil {
			return err
		}
	}
	p.calls++
	p.append(v, part)
	return nil
}

// whole keeps an item as it is: in a message of the role that it has, or of the user who approves; else in the assistant's.
func (p *parser) whole(v *providerjson.Value) error {
	part, err := jsonPart(v, jsonItem)
	if err != nil {
		return err
	}
	role := roles()[textOf(v.Member("role"))]
	if textOf(v.Member("type")) == "mcp_approval_response" {
		role = transcriptv1.Role_ROLE_USER
	}
	if role == transcriptv1.Role_ROLE_UNSPECIFIED || role == transcriptv1.Role_ROLE_ASSISTANT {
		p.append(v, part)
		return nil
	}
	return p.own(&transcriptv1.Message{Role: role, Parts: []*transcriptv1.Part{part}}, v)
}

// jsonPart is a json part that is more than an item of content.
func jsonPart(v *providerjson.Value, is string) (*transcriptv1.Part, error) {
	part, err := providerjson.JSONPart(v)
	if err != nil {
		return nil, err
	}
	part.Extras = `{"` + jsonMember + `":"` + is + `"}`
	return part, nil
}

// message takes an item of type message.
func (p *parser) message(v *providerjson.Value) error {
	t := providerjson.Take(v)
	role := t.Look("role")
	if !isString(role) {
		return providerjson.Errorf(providerjson.Join(v.Path(), "role"), "is not a string")
	}
	m := &transcriptv1.Message{Role: roles()[role.Text]}
	t.Take("role")
	if m.GetRole() == transcriptv1.Role_ROLE_UNSPECIFIED {
		return providerjson.Errorf(role.Path(), "is not a role of this provider")
	}
	if m.GetRole() == transcriptv1.Role_ROLE_ASSISTANT {
		return p.said(v, t)
	}
	content := t.Look("content")
	t.Take("content")
	var err error
	m.Parts, m.ContentForm, err = providerjson.ParseContent(content, providerjson.Join(v.Path(), "content"), parseInput)
	if err != nil {
		return err
	}
	if m.Extras, err = t.Extras(); err != nil {
		return err
	}
	return p.own(m, v)
}

// said appends what an assistant's message says.
func (p *parser) said(v *providerjson.Value, t *providerjson.Taker) error {
	content := t.Look("content")
	t.Take("content")
	others, err := t.Extras()
	if err != nil {
		return err
	}
	switch {
	case isString(content):
		part := providerjson.TextPart(content.Text)
		if others != "" || p.speaking() {
			if part.Extras, err = asItem(others, true, v.Path()); err != nil {
				return err
			}
		}
		p.append(v, part)
		return nil
	case content == nil || content.Kind != providerjson.List || len(content.Items) == 0:
		return p.whole(v)
	}
	for i, item := range content.Items {
		part, err := parseOutput(item)
		if err != nil {
			return err
		}
		if i == 0 {
			if part.Extras, err = begins(part.GetExtras(), others, v.Path()); err != nil {
				return err
			}
		}
		p.append(v, part)
	}
	return nil
}

// speaking tells whether the assistant's message ends in content of an item of type message.
func (p *parser) speaking() bool {
	if p.turn == nil {
		return false
	}
	last := p.turn.GetParts()[len(p.turn.GetParts())-1]
	return providerjson.IsContent(last) && !isWhole(last)
}

// isWhole tells whether a part is a whole item. Part extras that Parse makes are compact.
func isWhole(part *transcriptv1.Part) bool {
	return part.GetExtras() == `{"`+jsonMember+`":"`+jsonItem+`"}` && isJSON(part)
}

func isJSON(part *transcriptv1.Part) bool {
	_, ok := part.GetKind().(*transcriptv1.Part_Json)
	return ok
}

// asItem is extras of a part that begins an item with those other members.
func asItem(others string, text bool, path string) (string, error) {
	if others == "" {
		others = "{}"
	}
	item, err := providerjson.ReadExtras(others, path)
	if err != nil {
		return "", err
	}
	n := providerjson.NewObject()
	if text {
		n.Set("content", providerjson.Text(""))
	}
	n.Merge(item)
	return providerjson.Compact(providerjson.NewObject().Set(itemMember, n).Append(nil), path)
}

// begins are a content part's extras where it begins an item with those other members.
func begins(extras, others, path string) (string, error) {
	item, err := asItem(others, false, path)
	if err != nil || extras == "" {
		return item, err
	}
	// Both are compact objects, and the part's own has no such member.
	return strings.TrimSuffix(item, "}") + "," + strings.TrimPrefix(extras, "{"), nil
}

// result takes a call's result.
func (p *parser) result(v *providerjson.Value, c *called) error {
	t := providerjson.Take(v)
	id, err := t.String("call_id")
	if err != nil {
		return err
	}
	m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: id}
	output := t.Look(c.result)
	t.Take(c.result)
	if c.kind == functionCall {
		t.Take("type")
	}
	if output == nil || output.Kind == providerjson.Null || output.Kind == providerjson.String || output.Kind == providerjson.List {
		m.Parts, m.ContentForm, err = providerjson.ParseContent(output, v.Path(), parseInput)
	} else {
		var part *transcriptv1.Part
		part, err = jsonPart(output, jsonOutput)
		m.Parts = []*transcriptv1.Part{part}
	}
	if err != nil {
		return err
	}
	if m.Extras, err = t.Extras(); err != nil {
		return err
	}
	return p.own(m, v)
}

// parse makes a call of an item; nil where it has not the documented form.
func (c *called) parse(v *providerjson.Value) (*transcriptv1.Part, error) {
	t := providerjson.Take(v)
	if !isString(t.Look("call_id")) {
		return nil, nil
	}
	id, err := t.String("call_id")
	if err != nil {
		return nil, err
	}
	call := &transcriptv1.ToolCall{Id: id}
	if c.named() {
		if !isString(t.Look("name")) || !isString(t.Look(c.arguments)) {
			return nil, nil
		}
		if call.Name, err = t.String("name"); err != nil {
			return nil, err
		}
		call.Arguments = t.Look(c.arguments).Text
	} else {
		name := c.toolName()
		call.Name = &name
		if arguments := t.Look(c.arguments); arguments != nil {
			if call.Arguments, err = providerjson.Compact(arguments.Source, arguments.Path()); err != nil {
				return nil, err
			}
		}
	}
	t.Take(c.arguments)
	if c.kind == functionCall {
		t.Take("type")
	}
	extras, err := t.Extras()
	return providerjson.CallPart(call, extras), err
}

// toolName is the name of a call that has none.
func (c *called) toolName() string { return strings.TrimSuffix(c.kind, "_call") }

// parseReasoning makes reasoning of an item with a summary; nil where it has not the documented form.
func parseReasoning(v *providerjson.Value) (*transcriptv1.Part, error) {
	t := providerjson.Take(v)
	t.Take("type")
	summary := t.Look("summary")
	if summary == nil || summary.Kind != providerjson.List {
		return nil, nil
	}
	texts, exact := textsOf(summary, "summary_text")
	thought, _ := textsOf(t.Look("content"), "reasoning_text")
	r := &transcriptv1.Reasoning{Text: strings.Join(texts, "\n\n")}
	switch {
	case len(texts) == 0 && len(thought) > 0:
		r.Text = strings.Join(thought, "\n\n")
	case exact && (len(texts) == 0 || len(texts) == 1 && texts[0] != ""):
		t.Take("summary")
	}
	extras, err := t.Extras()
	return providerjson.ReasoningPart(r, extras), err
}

// textsOf are the texts of a list's items of a type; exact where it has nothing else.
func textsOf(list *providerjson.Value, kind string) (texts []string, exact bool) {
	if list == nil {
		return nil, false
	}
	exact = true
	for _, item := range list.Items {
		text := item.Member("text")
		if textOf(item.Member("type")) != kind || !isString(text) {
			exact = false
			continue
		}
		texts = append(texts, text.Text)
		exact = exact && len(item.Members) == 2
	}
	return texts, exact
}
