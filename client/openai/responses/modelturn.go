package responses

import (
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// turn writes the items of an assistant's message; given is what was given to the call of a part.
func (m *model) turn(i int, given func(part int) *call) error {
	t := turn{model: m, given: given}
	for j, p := range m.messages[i].GetParts() {
		path := providerjson.Index(messagePath(i)+".parts", j)
		extras, err := providerjson.ReadExtras(p.GetExtras(), path+".extras")
		if err != nil {
			return err
		}
		if err := t.part(p, j, extras, path); err != nil {
			return err
		}
	}
	t.endMessage()
	for _, path := range t.paths {
		m.change(path, LeftOut, "nothing follows the reasoning")
	}
	m.others(i)
	if !t.wrote {
		m.change(messagePath(i), LeftOut, "has no content")
	}
	return nil
}

// turn is what was written of an assistant's message so far.
type turn struct {
	*model
	given func(part int) *call
	// said is the content of the item of type message that was begun, phase the item's phase.
	said  *content
	phase string
	// thought are reasoning items that something has to follow, paths their parts'.
	thought []*providerjson.Node
	paths   []string
	wrote   bool
}

func (t *turn) part(p *transcriptv1.Part, j int, extras *providerjson.Value, path string) error {
	if item := extras.Member(itemMember); item != nil {
		t.endMessage()
		t.phase = phaseOf(item)
	}
	switch k := p.GetKind().(type) {
	case *transcriptv1.Part_Text:
		t.say().text(k.Text, transcriptv1.Role_ROLE_ASSISTANT)
		t.itemExtras(path, extras)
	case *transcriptv1.Part_Reasoning:
		t.endMessage()
		t.reasoning(k.Reasoning, extras, path)
	case *transcriptv1.Part_ToolCall:
		t.call(k.ToolCall, j, extras, path)
	case *transcriptv1.Part_Media:
		t.change(path, LeftOut, "messages of this role hold only text")
		t.partExtras(path, extras, "")
	case *transcriptv1.Part_Json:
		t.json(p, extras, path)
	default:
		return providerjson.Errorf(path, "has no kind")
	}
	return nil
}

// phaseOf is what an item says that its text is: a comment on the work, or the final answer.
func phaseOf(item *providerjson.Value) string {
	switch phase := textOf(item.Member("phase")); phase {
	case "commentary", "final_answer":
		return phase
	}
	return ""
}

func (t *turn) say() *content {
	if t.said == nil {
		t.said = &content{}
	}
	return t.said
}

// endMessage writes the item of type message that was begun, if it says something.
func (t *turn) endMessage() {
	if t.said != nil && !t.said.empty() {
		n := said(t.said.node())
		if t.phase != "" {
			n.Set("phase", providerjson.Text(t.phase))
		}
		t.write(n)
	}
	t.said, t.phase = nil, ""
}

// write writes an item, and before it the reasoning that it follows.
func (t *turn) write(n *providerjson.Node) {
	for _, r := range t.thought {
		t.out.Add(r)
	}
	t.out.Add(n)
	t.thought, t.paths, t.wrote = nil, nil, true
}

// itemExtras reports the other members of a text and of the item that it begins. What an answer tells of itself is no news to the model.
func (t *turn) itemExtras(path string, extras *providerjson.Value) {
	if extras == nil {
		return
	}
	for _, member := range extras.Members {
		switch member.Name {
		case itemMember, "annotations", "logprobs":
		default:
			t.change(path+".extras", LeftOut, "only documented members are written")
			return
		}
	}
}

// reasoning keeps reasoning that OpenAI encrypted, until something follows it.
func (t *turn) reasoning(r *transcriptv1.Reasoning, extras *providerjson.Value, path string) {
	encrypted := textOf(extras.Member("encrypted_content"))
	if encrypted == "" {
		t.change(path, LeftOut, "reasoning must be encrypted")
		return
	}
	n := typed(reasoningItem, "encrypted_content", encrypted)
	if list := extras.Member("summary"); list != nil {
		texts, _ := textsOf(list, "summary_text")
		summary := providerjson.NewList()
		for _, text := range texts {
			summary.Add(typed("summary_text", "text", text))
		}
		n.Set("summary", summary)
	} else {
		n.Set("summary", summaryOf(r.GetText()))
	}
	t.thought = append(t.thought, n)
	t.paths = append(t.paths, path)
}

// call writes a call, of a function or of a custom tool.
func (t *turn) call(tool *transcriptv1.ToolCall, j int, extras *providerjson.Value, path string) {
	t.endMessage()
	given := t.given(j)
	name := t.names.Clean(tool.GetName())
	t.renamed(path+".tool_call.name", tool.Name, name)
	kind, arguments := functionCall, "arguments"
	switch c := callOf(textOf(extras.Member("type"))); {
	case c == nil && textOf(extras.Member("type")) == "custom", c != nil && c.kind == customCall: // as chat completions have it, and as this API does
		kind, arguments, given.custom = customCall, "input", true
	case c != nil:
		t.change(path, Replaced, "a function stands for the tool")
	}
	n := typed(kind, "call_id", given.id).Set("name", providerjson.Text(name))
	if space := textOf(extras.Member("namespace")); space != "" && t.names.Clean(space) == space {
		n.Set("namespace", providerjson.Text(space))
	}
	t.callExtras(path, extras, n.Get("namespace") != nil)
	t.write(n.Set(arguments, providerjson.Text(tool.GetArguments())))
}

// callExtras reports the other members of a call of a function or of a custom tool. That an answer has an id and a status is no news to the model.
func (t *turn) callExtras(path string, extras *providerjson.Value, namespace bool) {
	if c := callOf(textOf(extras.Member("type"))); extras == nil || c != nil && !c.named() {
		return
	}
	for _, member := range extras.Members {
		switch {
		case member.Name == "type", member.Name == "id", member.Name == "status", member.Name == "namespace" && namespace:
		default:
			t.change(path+".extras", LeftOut, "only documented members are written")
			return
		}
	}
}

// json writes what the API takes back: a refusal, and what stands for compacted items.
func (t *turn) json(p *transcriptv1.Part, extras *providerjson.Value, path string) {
	v, err := providerjson.Read([]byte(p.GetJson()), "", &Report{})
	if err != nil {
		v = nil
	}
	kind := textOf(v.Member("type"))
	refusal, encrypted := textOf(v.Member("refusal")), textOf(v.Member("encrypted_content"))
	switch {
	case kind == "refusal" && refusal != "":
		t.say().add(typed("refusal", "refusal", refusal))
		t.itemExtras(path, extras)
	case kind == "compaction" && encrypted != "" && isWhole(p):
		t.endMessage()
		t.write(typed("compaction", "encrypted_content", encrypted))
	default:
		t.change(path, LeftOut, "the API has no such item here")
	}
}
