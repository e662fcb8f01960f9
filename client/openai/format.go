package openai

import (
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Format writes messages as a JSON list of chat-completions messages: for what Parse read, the same JSON again and an
// empty report. What is a framework's own is not written: opaque messages, and the member "framework" of extras; the report has
// each (LeftOut). Other messages (put by another client, or by another provider's converter) are written as nearly as
// OpenAI's form can; the report then names each field that Parse would not give back. Errors are ErrInvalid: a message
// without a role, a part without a kind, extras that are no JSON object; paths begin "messages".
func Format(messages []*transcriptv1.Message) ([]byte, Report, error) {
	var report Report
	messages, paths, err := providerjson.WithoutOpaque(messages, providerjson.Inner{}, &report)
	if err != nil {
		return nil, Report{}, err
	}
	out := []byte{'['}
	for i, m := range messages {
		if i > 0 {
			out = append(out, ',')
		}
		n, err := appendMessage(out, m, paths[i], &report)
		if err != nil {
			return nil, Report{}, err
		}
		out = n
	}
	return append(out, ']'), report, nil
}

// FormatMessage writes one message, as Format does. Paths begin "message". ErrInvalid also for an opaque message, which no provider
// has.
func FormatMessage(m *transcriptv1.Message) ([]byte, Report, error) {
	var report Report
	if canonical.IsOpaque(m) {
		return nil, Report{}, providerjson.Errorf("message", "is opaque")
	}
	m, err := providerjson.ForProvider(m, "message", providerjson.Inner{}, &report)
	if err != nil {
		return nil, Report{}, err
	}
	out, err := appendMessage(nil, m, "message", &report)
	if err != nil {
		return nil, Report{}, err
	}
	return out, report, nil
}

func appendMessage(dst []byte, m *transcriptv1.Message, path string, report *Report) ([]byte, error) {
	n, err := formatMessage(m, path)
	if err != nil {
		return nil, err
	}
	out := n.Append(dst)
	if again, _, err := ParseMessage(out[len(dst):]); err == nil {
		providerjson.Differences(path, m, again, report)
	} else {
		report.Add(Change{Path: path, Kind: Inexact})
	}
	return out, nil
}

func formatMessage(m *transcriptv1.Message, path string) (*providerjson.Node, error) {
	extras, err := providerjson.ReadExtras(m.GetExtras(), path+".extras")
	if err != nil {
		return nil, err
	}
	n := providerjson.NewObject()
	if err := formatRole(n, m, extras, path); err != nil {
		return nil, err
	}
	if err := formatParts(n, m, path); err != nil {
		return nil, err
	}
	setOptional(n, "tool_call_id", m.ToolCallId)
	setOptional(n, "name", m.Name)
	if m.GetIsError() {
		n.Set("is_error", providerjson.Raw("true"))
	}
	n.Merge(extras)
	return n, nil
}

func formatRole(n *providerjson.Node, m *transcriptv1.Message, extras *providerjson.Value, path string) error {
	if m.GetRole() == transcriptv1.Role_ROLE_TOOL && extras.Member("role") != nil {
		return nil
	}
	for name, role := range roles() {
		if role == m.GetRole() {
			n.Set("role", providerjson.Text(name))
			return nil
		}
	}
	return providerjson.Errorf(path+".role", "is not a role")
}

// formatParts writes reasoning, content and calls, each to its one place.
func formatParts(n *providerjson.Node, m *transcriptv1.Message, path string) error {
	var content []*transcriptv1.Part
	var reasoning []string
	paths := map[*transcriptv1.Part]string{}
	calls := providerjson.NewList()
	for i, p := range m.GetParts() {
		paths[p] = providerjson.Index(path+".parts", i)
		switch {
		case p.GetReasoning() != nil:
			reasoning = append(reasoning, p.GetReasoning().GetText())
		case p.GetToolCall() == nil:
			content = append(content, p)
		default:
			call, deprecated, err := formatCall(p, paths[p])
			if err != nil {
				return err
			}
			if deprecated && n.Get(functionCall) == nil {
				n.Set(functionCall, call)
			} else {
				calls.Add(call)
			}
		}
	}
	c, err := providerjson.FormatContent(content, m.GetContentForm(), func(p *transcriptv1.Part) (*providerjson.Node, error) {
		return formatPart(p, paths[p])
	})
	if err != nil {
		return err
	}
	if c != nil {
		n.Set("content", c)
	}
	if reasoning != nil {
		n.Set("reasoning_content", providerjson.Text(strings.Join(reasoning, "\n\n")))
	}
	if calls.Len() > 0 {
		n.Set("tool_calls", calls)
	}
	return nil
}
