package openai

import (
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"google.golang.org/protobuf/proto"
)

// Members of a call part's extras that say how the call was written. No call that parseRegular takes has members of
// the first two names, and a type only where it is "custom".
const (
	// wholeCall is untyped where the item of tool_calls has no type and else the form that the API documents; where
	// it has another form, it holds the whole item.
	wholeCall = "tool_call"
	untyped   = "untyped"
	// functionCall: the call was the deprecated member function_call; holds what else stood in it.
	functionCall = "function_call"
	// customCall is also the value of the type of a custom tool's call.
	customCall = "custom"
)

// parseCalls takes tool_calls of an assistant; null, an empty list and other roles' stay in the extras.
func parseCalls(t *providerjson.Taker, m *transcriptv1.Message) error {
	v := t.Look("tool_calls")
	if v == nil || v.Kind == providerjson.Null || m.GetRole() != transcriptv1.Role_ROLE_ASSISTANT {
		return nil
	}
	if v.Kind != providerjson.List {
		return providerjson.Errorf(v.Path(), "is neither a list nor null")
	}
	if len(v.Items) == 0 {
		return nil
	}
	t.Take("tool_calls")
	for _, item := range v.Items {
		p, err := parseCall(item)
		if err != nil {
			return err
		}
		m.Parts = append(m.Parts, p)
	}
	return nil
}

func parseCall(v *providerjson.Value) (*transcriptv1.Part, error) {
	if v.Kind != providerjson.Object {
		return nil, providerjson.Errorf(v.Path(), "is not an object")
	}
	kind, member := "", "arguments"
	if k := v.Member("type"); k != nil && k.Kind == providerjson.String {
		kind = k.Text
	}
	if kind == customCall {
		member = "input"
	}
	id, err := providerjson.Take(v).String("id")
	if err != nil {
		return nil, err
	}
	call := &transcriptv1.ToolCall{Id: id}
	inner, err := parseCalled(v, member, call)
	if err != nil {
		return nil, err
	}
	if v.Member("type") == nil {
		kind = "function"
	}
	extras := ""
	if regular := inner != "" && inner == kind && v.Member(wholeCall) == nil && v.Member(functionCall) == nil; regular {
		extras, err = regularExtras(v, kind, member)
	} else {
		extras, err = marked(providerjson.Raw(v.Source), nil, v.Path())
	}
	return providerjson.CallPart(call, extras), err
}

// marked is extras that begin with wholeCall and go on with rest.
func marked(whole *providerjson.Node, rest []byte, path string) (string, error) {
	n := providerjson.NewObject().Set(wholeCall, whole)
	if len(rest) > 0 {
		v, err := providerjson.Read(rest, path, &Report{})
		if err != nil {
			return "", err
		}
		n.Merge(v)
	}
	return providerjson.Compact(n.Append(nil), path)
}

// parseCalled reads name and arguments from the member "function" or "custom", and returns which of them holds both
// as the API documents, or "".
func parseCalled(v *providerjson.Value, member string, call *transcriptv1.ToolCall) (string, error) {
	object := "function"
	if member == "input" {
		object = customCall
	}
	o := v.Member(object)
	if o == nil || o.Kind == providerjson.Null {
		return "", nil
	}
	if o.Kind != providerjson.Object {
		return "", providerjson.Errorf(o.Path(), "is not an object")
	}
	var err error
	t := providerjson.Take(o)
	if call.Name, err = t.String("name"); err != nil {
		return "", err
	}
	arguments, err := t.String(member)
	if err != nil {
		return "", err
	}
	call.Arguments = text(arguments)
	if arguments == nil {
		return "", nil
	}
	return object, nil
}

// regularExtras is a documented call's other members. The type "custom" stays; "function" is implied.
func regularExtras(v *providerjson.Value, kind, member string) (string, error) {
	t := providerjson.Take(v)
	if kind != customCall {
		t.Take("type")
	}
	if _, err := t.String("id"); err != nil {
		return "", err
	}
	sub := t.Sub(kind)
	sub.Take(member)
	if _, err := sub.String("name"); err != nil {
		return "", err
	}
	if v.Member("type") == nil {
		return marked(providerjson.Text(untyped), t.Rest(), v.Path())
	}
	return t.Extras()
}

// parseFunctionCall takes the deprecated function_call of an assistant: a call without an id, after all others.
func parseFunctionCall(t *providerjson.Taker, m *transcriptv1.Message) error {
	v := t.Look(functionCall)
	if v == nil || v.Kind == providerjson.Null || m.GetRole() != transcriptv1.Role_ROLE_ASSISTANT {
		return nil
	}
	name, arguments := v.Member("name"), v.Member("arguments")
	for _, s := range []*providerjson.Value{name, arguments} {
		if s == nil || s.Kind != providerjson.String {
			return providerjson.Errorf(v.Path(), "has not a string as name and as arguments")
		}
	}
	t.Take(functionCall)
	rest := providerjson.Take(v)
	rest.Take("name")
	rest.Take("arguments")
	other, err := rest.Extras()
	if err != nil {
		return err
	}
	if other == "" {
		other = "{}"
	}
	m.Parts = append(m.Parts, providerjson.CallPart(
		&transcriptv1.ToolCall{Name: proto.String(name.Text), Arguments: arguments.Text},
		`{"`+functionCall+`":`+other+`}`))
	return nil
}

// formatCall is the item of tool_calls that a call part stands for; or, with deprecated, the member function_call.
func formatCall(p *transcriptv1.Part, path string) (n *providerjson.Node, deprecated bool, err error) {
	extras, err := providerjson.ReadExtras(p.GetExtras(), path+".extras")
	if err != nil {
		return nil, false, err
	}
	call := p.GetToolCall()
	whole, other := extras.Member(wholeCall), extras.Member(functionCall)
	if whole != nil && whole.Kind == providerjson.Object {
		return providerjson.Raw(whole.Source), false, nil
	}
	if other != nil {
		n = called(call, "arguments")
		n.Merge(other)
		return n, true, nil
	}
	kind, member := calledKind(extras)
	n = providerjson.NewObject()
	setOptional(n, "id", call.Id)
	if whole == nil {
		n.Set("type", providerjson.Text(kind))
	} else {
		extras = extras.Without(wholeCall)
	}
	n.Set(kind, called(call, member))
	n.Merge(extras)
	return n, false, nil
}

// calledKind is the type of a call and the member that holds the arguments.
func calledKind(extras *providerjson.Value) (kind, member string) {
	if t := extras.Member("type"); t != nil && t.Text == customCall {
		return customCall, "input"
	}
	return "function", "arguments"
}

func called(call *transcriptv1.ToolCall, member string) *providerjson.Node {
	n := providerjson.NewObject()
	setOptional(n, "name", call.Name)
	return n.Set(member, providerjson.Text(call.GetArguments()))
}

func setOptional(n *providerjson.Node, name string, value *string) {
	if value != nil {
		n.Set(name, providerjson.Text(*value))
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
