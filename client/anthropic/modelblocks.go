package anthropic

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/client/internal/groups"
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func textItem(text, path string) item {
	return item{node: textBlock(text), kind: "text", text: text, path: path}
}

func blank(text string) bool { return strings.TrimFunc(text, unicode.IsSpace) == "" }

// items are the blocks of a message that has no calls.
func (m *model) items(i int) ([]item, error) { return m.itemsWithCalls(i, nil) }

// itemsWithCalls are the blocks of a message whose calls have these ids.
func (m *model) itemsWithCalls(i int, ids callIDs) ([]item, error) {
	var items []item
	for j, p := range m.messages[i].GetParts() {
		path := providerjson.Index(messagePath(i)+".parts", j)
		extras, err := providerjson.ReadExtras(p.GetExtras(), path+".extras")
		if err != nil {
			return nil, err
		}
		it, err := m.item(p, path, m.messages[i].GetRole(), ids[place{i, j}])
		if err != nil {
			return nil, err
		}
		if it.node != nil {
			it.path = path
			items = append(items, it)
		}
		m.partExtras(it, path, extras)
	}
	return items, nil
}

// item is the block of a part; without a node where there is none. id is that given to a call.
func (m *model) item(p *transcriptv1.Part, path string, role transcriptv1.Role, id string) (item, error) {
	switch k := p.GetKind().(type) {
	case *transcriptv1.Part_Text:
		if blank(k.Text) {
			m.blankText(path, k.Text)
			return item{}, nil
		}
		return textItem(k.Text, path), nil
	case *transcriptv1.Part_Reasoning:
		return m.thinking(k.Reasoning, path, role), nil
	case *transcriptv1.Part_ToolCall:
		if id == "" {
			m.change(path, LeftOut, "only an assistant calls tools")
			return item{}, nil
		}
		return m.call(k.ToolCall, path, id), nil
	case *transcriptv1.Part_Media:
		return m.orPlaceholder(mediaItem(k.Media), path, role, k.Media.GetMediaType()), nil
	case *transcriptv1.Part_Json:
		it, kind := m.jsonItem(k.Json, role)
		return m.orPlaceholder(it, path, role, kind), nil
	}
	return item{}, providerjson.Errorf(path, "has no kind")
}

// blankText reports a text that is left out; one that is empty says nothing, and goes unreported.
func (m *model) blankText(path, text string) {
	if text != "" {
		m.change(path, LeftOut, "a text cannot be blank")
	}
}

// thinking is the block of reasoning that Anthropic signed or encrypted; no other is accepted.
func (m *model) thinking(r *transcriptv1.Reasoning, path string, role transcriptv1.Role) item {
	encrypted := len(r.GetRedactedData()) > 0 && r.GetText() == "" && r.GetSignature() == ""
	switch {
	case role != transcriptv1.Role_ROLE_ASSISTANT:
		m.change(path, LeftOut, "only an assistant thinks")
	case encrypted:
		return item{node: thinkingBlock(r), kind: "redacted_thinking"}
	case r.GetSignature() == "":
		m.change(path, LeftOut, "thinking must be signed")
	default:
		return item{node: thinkingBlock(r), kind: "thinking"}
	}
	return item{}
}

// call is a tool_use block. Arguments that are no JSON object become one: {} where they are blank, else
// {"arguments": TEXT}.
func (m *model) call(call *transcriptv1.ToolCall, path, id string) item {
	name := m.names.Clean(call.GetName())
	m.renamed(path+".tool_call.name", call.Name, name)
	input, err := providerjson.Compact([]byte(call.GetArguments()), "")
	if err != nil || input[0] != '{' {
		m.change(path+".tool_call.arguments", Replaced, "the input is an object")
		wrapped := providerjson.NewObject()
		if !blank(call.GetArguments()) {
			wrapped.Set("arguments", providerjson.Text(call.GetArguments()))
		}
		input = string(wrapped.Append(nil))
	}
	n := block("tool_use").Set("id", providerjson.Text(id)).
		Set("name", providerjson.Text(name)).Set("input", providerjson.Raw(input))
	return item{node: n, kind: "tool_use"}
}

// orPlaceholder is the item, if it has a node; else a text that says what was left out, except of an assistant or the
// system, to whom no words are given.
func (m *model) orPlaceholder(it item, path string, role transcriptv1.Role, kind string) item {
	speaks := role == transcriptv1.Role_ROLE_USER || role == transcriptv1.Role_ROLE_TOOL
	isMedia := it.kind == typeImage || it.kind == typeDocument
	switch {
	case it.node != nil && (speaks || !isMedia):
		return it
	case speaks:
		text := providerjson.Placeholder(kind)
		m.report.Add(Change{Path: path, Kind: Replaced, To: text, Why: "the API has no such block"})
		return textItem(text, path)
	}
	m.change(path, LeftOut, "the API has no such block here")
	return item{}
}

// partExtras reports a part's other members, and writes those of a document that the model reads.
func (m *model) partExtras(it item, path string, extras *providerjson.Value) {
	if extras == nil {
		return
	}
	written := 0
	for _, name := range []string{"title", "context"} {
		v := extras.Member(name)
		if it.kind == typeDocument && v != nil && !blank(v.Text) {
			it.node.Set(name, providerjson.Text(v.Text))
			written++
		}
	}
	if written < len(extras.Members) {
		m.change(path+".extras", LeftOut, "only documented members are written")
	}
}

// mediaItem is the block that the API has for a piece of media; without a node where it takes none of its type or
// source.
func mediaItem(media *transcriptv1.Media) item {
	kind := typeDocument
	if isImage(media.GetMediaType()) {
		kind = typeImage
	}
	switch s := media.GetSource().(type) {
	case *transcriptv1.Media_Inline:
		switch media.GetMediaType() {
		case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
			if len(s.Inline) > 0 {
				return item{node: mediaBlock(media), kind: kind}
			}
		}
		if media.GetMediaType() == "text/plain" && utf8.Valid(s.Inline) && !blank(string(s.Inline)) {
			return item{node: block(typeDocument).Set("source", plainSource(string(s.Inline))), kind: typeDocument}
		}
	case *transcriptv1.Media_Uri:
		known := kind == typeImage || media.GetMediaType() == typeDocument || media.GetMediaType() == "application/pdf"
		if known && (strings.HasPrefix(s.Uri, "https://") || strings.HasPrefix(s.Uri, "http://")) {
			return item{node: mediaBlock(media), kind: kind}
		}
	}
	return item{}
}

func plainSource(text string) *providerjson.Node {
	return providerjson.NewObject().Set("type", providerjson.Text("text")).
		Set("media_type", providerjson.Text("text/plain")).Set("data", providerjson.Text(text))
}

// jsonItem is the block of a json part that the API takes back from this role, without a node where there is none;
// and the block's own type.
func (m *model) jsonItem(text string, role transcriptv1.Role) (item, string) {
	v, err := providerjson.Read([]byte(text), "", &Report{})
	if err != nil || v.Member("type") == nil {
		return item{}, ""
	}
	kind := v.Member("type").Text
	switch {
	case role == transcriptv1.Role_ROLE_ASSISTANT:
		if id, answer := m.serverBlock(v, kind); id != "" {
			return item{node: providerjson.Raw(text), kind: kind, server: id, answer: answer}, kind
		}
	case kind == typeDocument && v.Member("source") != nil:
		source := v.Member("source")
		if t, data := source.Member("type"), source.Member("data"); t != nil && t.Text == "text" && data != nil &&
			!blank(data.Text) {
			n := block(typeDocument).Set("source", plainSource(data.Text))
			return item{node: n, kind: typeDocument}, kind
		}
	}
	return item{}, kind
}

// results writes the results of a group in the order in which they came, then a stub for each call without one.
func (m *model) results(s groups.Step, ids []string) error {
	var items []item
	for _, k := range s.Answered {
		it, err := m.result(s.Calls[k].Result, ids[k])
		if err != nil {
			return err
		}
		items = append(items, it)
	}
	for k, c := range s.Calls {
		if c.Result < 0 {
			path := providerjson.Index(messagePath(c.Message)+".parts", c.Part)
			m.change(path, Added, "has no result")
			n := resultBlock(ids[k]).Set("content", providerjson.Text(runloop.StubText))
			items = append(items, item{node: n, kind: "tool_result", path: path})
		}
	}
	m.append("user", items)
	return nil
}

func resultBlock(id string) *providerjson.Node {
	return block("tool_result").Set("tool_use_id", providerjson.Text(id))
}

// result is the tool_result block of a result. One that failed holds text, and nothing else.
func (m *model) result(i int, id string) (item, error) {
	items, err := m.items(i)
	if err != nil {
		return item{}, err
	}
	m.others(i)
	n := resultBlock(id)
	if m.messages[i].GetIsError() {
		n.Set("is_error", providerjson.Raw("true"))
		items = m.failed(items, i)
	}
	if len(items) > 0 {
		n.Set("content", contentNode(items))
	}
	return item{node: n, kind: "tool_result", path: messagePath(i)}, nil
}

// failed is the content of a result that failed: text, and not none.
func (m *model) failed(items []item, i int) []item {
	for k, it := range items {
		if it.kind != "text" {
			text := providerjson.Placeholder(it.kind)
			m.report.Add(Change{Path: it.path, Kind: Replaced, To: text, Why: "an error holds only text"})
			items[k] = textItem(text, it.path)
		}
	}
	if len(items) == 0 {
		const text = "[the call failed]"
		m.report.Add(Change{Path: messagePath(i), Kind: Replaced, To: text, Why: "an error says something"})
		items = append(items, textItem(text, messagePath(i)))
	}
	return items
}
