package providerjson

import (
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"google.golang.org/protobuf/proto"
)

// IsContent tells whether a part is content, that is, neither a call nor reasoning.
func IsContent(p *transcriptv1.Part) bool { return p.GetToolCall() == nil && p.GetReasoning() == nil }

// ParseContent makes parts of a content member, nil where it is absent: a string, null, or a list each item of which
// part makes a part of.
func ParseContent(v *Value, path string, part func(*Value) (*transcriptv1.Part, error)) (
	[]*transcriptv1.Part, transcriptv1.ContentForm, error,
) {
	switch {
	case v == nil:
		return nil, transcriptv1.ContentForm_CONTENT_FORM_ABSENT, nil
	case v.Kind == Null:
		return nil, 0, nil
	case v.Kind == String:
		return []*transcriptv1.Part{TextPart(v.Text)}, 0, nil
	case v.Kind != List:
		return nil, 0, Errorf(path, "is neither a string nor a list nor null")
	}
	parts := make([]*transcriptv1.Part, len(v.Items))
	for i, item := range v.Items {
		var err error
		if parts[i], err = part(item); err != nil {
			return nil, 0, err
		}
	}
	return parts, ListForm(parts), nil
}

// ListForm is the content form of a content that was a list of these parts.
func ListForm(parts []*transcriptv1.Part) transcriptv1.ContentForm {
	var content []*transcriptv1.Part
	for _, p := range parts {
		if IsContent(p) {
			content = append(content, p)
		}
	}
	if len(content) == 0 || len(content) == 1 && PlainText(content[0]) {
		return transcriptv1.ContentForm_CONTENT_FORM_PARTS
	}
	return 0
}

// PlainText tells whether a part is text without extras.
func PlainText(p *transcriptv1.Part) bool {
	_, ok := p.GetKind().(*transcriptv1.Part_Text)
	return ok && p.GetExtras() == ""
}

// FormatContent is the content member that parts and form stand for, or nil where it is absent. The parts are content.
func FormatContent(
	parts []*transcriptv1.Part, form transcriptv1.ContentForm, part func(*transcriptv1.Part) (*Node, error),
) (*Node, error) {
	switch {
	case form == transcriptv1.ContentForm_CONTENT_FORM_PARTS:
	case len(parts) == 0 && form == transcriptv1.ContentForm_CONTENT_FORM_ABSENT:
		return nil, nil
	case len(parts) == 0:
		return Raw("null"), nil
	case len(parts) == 1 && PlainText(parts[0]):
		return Text(parts[0].GetText()), nil
	}
	list := NewList()
	for _, p := range parts {
		n, err := part(p)
		if err != nil {
			return nil, err
		}
		list.Add(n)
	}
	return list, nil
}

// TextPart is a text part.
func TextPart(text string) *transcriptv1.Part {
	return &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: text}}
}

// CallPart is a call part.
func CallPart(call *transcriptv1.ToolCall, extras string) *transcriptv1.Part {
	return &transcriptv1.Part{Extras: extras, Kind: &transcriptv1.Part_ToolCall{ToolCall: call}}
}

// ReasoningPart is a reasoning part.
func ReasoningPart(r *transcriptv1.Reasoning, extras string) *transcriptv1.Part {
	return &transcriptv1.Part{Extras: extras, Kind: &transcriptv1.Part_Reasoning{Reasoning: r}}
}

// MediaPart is a media part.
func MediaPart(m *transcriptv1.Media, extras string) *transcriptv1.Part {
	return &transcriptv1.Part{Extras: extras, Kind: &transcriptv1.Part_Media{Media: m}}
}

// JSONPart is a part of the provider's own kind: the whole value.
func JSONPart(v *Value) (*transcriptv1.Part, error) {
	text, err := Compact(v.Source, v.Path())
	if err != nil {
		return nil, err
	}
	return &transcriptv1.Part{Kind: &transcriptv1.Part_Json{Json: text}}, nil
}

// JSONNode is what a json part stands for: its text where that is JSON, else a string that holds it.
func JSONNode(p *transcriptv1.Part) *Node {
	if _, err := Compact([]byte(p.GetJson()), ""); err != nil {
		return Text(p.GetJson())
	}
	return Raw(p.GetJson())
}

// Extras is what was not taken, in the form of Message.extras.
func (t *Taker) Extras() (string, error) {
	rest := t.Rest()
	if len(rest) == 0 {
		return "", nil
	}
	return Compact(rest, t.Path())
}

// ReadExtras reads extras; nil where there are none. An error where they are not a JSON object.
func ReadExtras(extras, path string) (*Value, error) {
	if extras == "" {
		return nil, nil
	}
	v, err := Read([]byte(extras), path, &Report{})
	if err != nil {
		return nil, err
	}
	if v.Kind != Object {
		return nil, Errorf(path, "is not an object")
	}
	return v, nil
}

// Differences notes as inexact where got, read from what was written for want, is not want.
func Differences(path string, want, got *transcriptv1.Message, report *Report) {
	inexact := func(field string) { report.Add(Change{Path: path + field, Kind: Inexact}) }
	if proto.Equal(want, got) {
		return
	}
	parts := false
	for i, p := range want.GetParts() {
		if i >= len(got.GetParts()) || !proto.Equal(p, got.GetParts()[i]) {
			inexact(Index(".parts", i))
			parts = true
		}
	}
	if !parts && len(want.GetParts()) != len(got.GetParts()) {
		inexact(".parts")
	}
	for _, f := range []struct {
		name  string
		equal bool
	}{
		{".role", want.GetRole() == got.GetRole()},
		{".tool_call_id", SameString(want.ToolCallId, got.ToolCallId)},
		{".is_error", want.GetIsError() == got.GetIsError()},
		{".name", SameString(want.Name, got.Name)},
		{".state", want.GetState() == got.GetState()},
		{".content_form", want.GetContentForm() == got.GetContentForm()},
		{".joined", want.GetJoined() == got.GetJoined()},
		{".origin", want.GetOrigin() == got.GetOrigin()},
		{".extras", want.GetExtras() == got.GetExtras()},
	} {
		if !f.equal {
			inexact(f.name)
		}
	}
}

// SameString tells whether both are absent or both the same string.
func SameString(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
