package responses

import (
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Format writes messages as a JSON list of items: for what Parse read, the same JSON again and an empty report. What is a framework's own is not
// written: opaque messages, and the member "framework" of extras; the report has each (LeftOut). Other messages (put by another client, or by
// another provider's converter) are written as nearly as the items can; the report then names each field that Parse would not give back, or, where
// it would give more messages or fewer, "messages". Errors are ErrInvalid: a message without a role, a part without a kind, extras that are no JSON
// object; paths begin "messages".
func Format(messages []*transcriptv1.Message) ([]byte, Report, error) {
	var report Report
	messages, paths, err := providerjson.WithoutOpaque(messages, inner(), &report)
	if err != nil {
		return nil, Report{}, err
	}
	w := writer{out: providerjson.NewList()}
	for i, m := range messages {
		if err := w.message(m, paths[i]); err != nil {
			return nil, Report{}, err
		}
	}
	out := w.out.Append(nil)
	again, _, err := Parse(out)
	if err != nil || len(again) != len(messages) {
		report.Add(Change{Path: "messages", Kind: Inexact, Count: len(messages)})
		return out, report, nil //nolint:nilerr // what cannot be read again is reported
	}
	for i, m := range messages {
		providerjson.Differences(paths[i], unmarked(m), again[i], &report)
	}
	return out, report, nil
}

// unmarked is an assistant's message in which no part is marked as an item of nothing but a text, where that need not be said: so is a part of which a
// framework's members were left out.
func unmarked(m *transcriptv1.Message) *transcriptv1.Message {
	for i, p := range m.GetParts() {
		follows := i > 0 && providerjson.IsContent(m.GetParts()[i-1]) && !isWhole(m.GetParts()[i-1])
		if m.GetRole() == transcriptv1.Role_ROLE_ASSISTANT && isText(p) && !follows && p.GetExtras() == `{"`+itemMember+`":{"content":""}}` {
			m = proto.CloneOf(m)
			m.Parts[i].Extras = ""
		}
	}
	return m
}

// writer has the items so far.
type writer struct {
	out *providerjson.Node
	// content is the content of the item of type message that further parts belong to, or nil.
	content *providerjson.Node
}

func (w *writer) message(m *transcriptv1.Message, path string) error {
	extras, err := providerjson.ReadExtras(m.GetExtras(), path+".extras")
	if err != nil {
		return err
	}
	w.content = nil
	if m.GetRole() == transcriptv1.Role_ROLE_ASSISTANT {
		return w.turn(m, path)
	}
	if m.GetRole() == transcriptv1.Role_ROLE_TOOL {
		return w.result(m, extras, path)
	}
	role := roleName(m.GetRole())
	if role == "" {
		return providerjson.Errorf(path+".role", "is not a role")
	}
	if parts := m.GetParts(); len(parts) == 1 && isWhole(parts[0]) {
		w.out.Add(providerjson.JSONNode(parts[0]))
		return nil
	}
	content, err := formatContent(m, path)
	if err != nil {
		return err
	}
	n := providerjson.NewObject().Set("role", providerjson.Text(role))
	if content != nil {
		n.Set("content", content)
	}
	if extras != nil {
		n.Merge(extras)
	}
	w.out.Add(n)
	return nil
}

func roleName(role transcriptv1.Role) string {
	for name, r := range roles() {
		if r == role {
			return name
		}
	}
	return ""
}

// formatContent is the content of a message that is not the assistant's. Only an assistant has calls and reasoning here.
func formatContent(m *transcriptv1.Message, path string) (*providerjson.Node, error) {
	var content []*transcriptv1.Part
	paths := map[*transcriptv1.Part]string{}
	for i, p := range m.GetParts() {
		if providerjson.IsContent(p) {
			content = append(content, p)
			paths[p] = providerjson.Index(path+".parts", i)
		}
	}
	return providerjson.FormatContent(content, m.GetContentForm(), func(p *transcriptv1.Part) (*providerjson.Node, error) {
		extras, err := providerjson.ReadExtras(p.GetExtras(), paths[p]+".extras")
		if err != nil {
			return nil, err
		}
		return formatPart(p, extras, m.GetRole(), paths[p])
	})
}

// result writes a call's result.
func (w *writer) result(m *transcriptv1.Message, extras *providerjson.Value, path string) error {
	c := callOf(functionCall)
	if other := resultOf(textOf(extras.Member("type"))); other != nil {
		c = other
	}
	n := providerjson.NewObject().Set("type", providerjson.Text(c.output))
	if m.ToolCallId != nil {
		n.Set("call_id", providerjson.Text(m.GetToolCallId()))
	}
	output, err := formatOutput(m, path)
	if err != nil {
		return err
	}
	if output != nil {
		n.Set(c.result, output)
	}
	if extras != nil {
		n.Merge(extras)
	}
	w.out.Add(n)
	return nil
}

// formatOutput is what a result has as its output, or nil.
func formatOutput(m *transcriptv1.Message, path string) (*providerjson.Node, error) {
	if parts := m.GetParts(); len(parts) == 1 && isJSON(parts[0]) && parts[0].GetExtras() == `{"`+jsonMember+`":"`+jsonOutput+`"}` {
		return providerjson.JSONNode(parts[0]), nil
	}
	return formatContent(m, path)
}

// turn writes the items of an assistant's message.
func (w *writer) turn(m *transcriptv1.Message, path string) error {
	if len(m.GetParts()) == 0 {
		w.out.Add(said(providerjson.Text("")))
		return nil
	}
	for i, p := range m.GetParts() {
		at := providerjson.Index(path+".parts", i)
		extras, err := providerjson.ReadExtras(p.GetExtras(), at+".extras")
		if err != nil {
			return err
		}
		if providerjson.IsContent(p) && !isWhole(p) {
			if err := w.say(m, i, extras, at); err != nil {
				return err
			}
			continue
		}
		w.content = nil
		w.out.Add(formatItem(p, extras))
	}
	return nil
}

// said is an item of type message of the assistant.
func said(content *providerjson.Node) *providerjson.Node {
	return providerjson.NewObject().Set("role", providerjson.Text("assistant")).Set("content", content)
}

// say writes a part of what an assistant says: to the item that was begun, or to one of its own.
func (w *writer) say(m *transcriptv1.Message, i int, extras *providerjson.Value, path string) error {
	p := m.GetParts()[i]
	item := extras.Member(itemMember)
	if item != nil && item.Kind != providerjson.Object {
		item = nil
	}
	alone := !goesOn(m.GetParts()[i+1:])
	if item == nil && w.content == nil && alone && providerjson.PlainText(p) {
		w.out.Add(said(providerjson.Text(p.GetText())))
		return nil
	}
	if item != nil && alone && len(extras.Members) == 1 && isString(item.Member("content")) && isText(p) {
		n := said(providerjson.Text(p.GetText()))
		n.Merge(item.Without("content"))
		w.out.Add(n)
		w.content = nil
		return nil
	}
	own := extras
	if item != nil {
		own = extras.Without(itemMember)
	}
	part, err := formatPart(p, own, m.GetRole(), path)
	if err != nil {
		return err
	}
	if item != nil || w.content == nil {
		w.content = providerjson.NewList()
		n := said(w.content)
		if item != nil {
			n.Merge(item)
		}
		w.out.Add(n)
	}
	w.content.Add(part)
	return nil
}

func isText(p *transcriptv1.Part) bool {
	_, ok := p.GetKind().(*transcriptv1.Part_Text)
	return ok
}

// goesOn tells whether the parts that follow go on with the item before them.
func goesOn(parts []*transcriptv1.Part) bool {
	if len(parts) == 0 || !providerjson.IsContent(parts[0]) || isWhole(parts[0]) {
		return false
	}
	extras, err := providerjson.ReadExtras(parts[0].GetExtras(), "")
	return err == nil && (extras.Member(itemMember) == nil || extras.Member(itemMember).Kind != providerjson.Object)
}

// formatItem is the item of a call, of reasoning, or of a part that is one.
func formatItem(p *transcriptv1.Part, extras *providerjson.Value) *providerjson.Node {
	var n *providerjson.Node
	switch {
	case p.GetToolCall() != nil:
		n = formatCall(p.GetToolCall(), extras)
	case p.GetReasoning() != nil:
		n = providerjson.NewObject().Set("type", providerjson.Text(reasoningItem))
		if extras.Member("summary") == nil {
			n.Set("summary", summaryOf(p.GetReasoning().GetText()))
		}
	default:
		return providerjson.JSONNode(p)
	}
	if extras != nil {
		n.Merge(extras)
	}
	return n
}

// summaryOf is a summary of one text, or of none.
func summaryOf(text string) *providerjson.Node {
	list := providerjson.NewList()
	if text != "" {
		list.Add(typed("summary_text", "text", text))
	}
	return list
}

func formatCall(call *transcriptv1.ToolCall, extras *providerjson.Value) *providerjson.Node {
	c := callOf(functionCall)
	if other := callOf(textOf(extras.Member("type"))); other != nil {
		c = other
	}
	n := providerjson.NewObject().Set("type", providerjson.Text(c.kind))
	if call.Id != nil {
		n.Set("call_id", providerjson.Text(call.GetId()))
	}
	if c.named() {
		if call.Name != nil {
			n.Set("name", providerjson.Text(call.GetName()))
		}
		return n.Set(c.arguments, providerjson.Text(call.GetArguments()))
	}
	if text := call.GetArguments(); text != "" {
		arguments := providerjson.Text(text)
		if _, err := providerjson.Compact([]byte(text), ""); err == nil {
			arguments = providerjson.Raw(text)
		}
		n.Set(c.arguments, arguments)
	}
	return n
}
