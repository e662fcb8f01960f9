package anthropic

import (
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Format writes messages as {"system": …, "messages": […]}: for what Parse read, the same system and messages again
// and an empty report. What is a framework's own is not written: opaque messages, and the member "framework" of extras; the report has
// each (LeftOut). Other messages (put by another client, or by another provider's converter) are written as
// nearly as Anthropic's form can; the report then names each field that Parse would not give back. Errors are
// ErrInvalid: a message without a role, a part without a kind, extras that are no JSON object; paths begin "messages".
func Format(messages []*transcriptv1.Message) ([]byte, Report, error) {
	var report Report
	messages, paths, err := providerjson.WithoutOpaque(messages, providerjson.Inner{Message: messageExtras}, &report)
	if err != nil {
		return nil, Report{}, err
	}
	request := providerjson.NewObject()
	list := providerjson.NewList()
	for i := 0; i < len(messages); {
		if i == 0 && isSystem(messages[0]) {
			system, err := formatContent(messages[0], paths[0])
			if err != nil {
				return nil, Report{}, err
			}
			if system != nil {
				request.Set("system", system)
			}
			i++
			continue
		}
		n := oneMessage(messages[i:])
		m, err := formatMessage(messages[i:i+n], paths[i:i+n])
		if err != nil {
			return nil, Report{}, err
		}
		list.Add(m)
		i += n
	}
	out := request.Set("messages", list).Append(nil)
	again, _, err := Parse(out)
	compare(messages, again, paths, err, &report)
	return out, report, nil
}

// compare tells what reading again what was written did not give back.
func compare(messages, again []*transcriptv1.Message, paths []string, err error, report *Report) {
	if err != nil || len(again) != len(messages) {
		report.Add(Change{Path: "messages", Kind: Inexact, Count: len(messages)})
		return
	}
	for i, m := range messages {
		providerjson.Differences(paths[i], m, again[i], report)
	}
}

// isSystem tells whether a first message is the member system, rather than one of the messages with that role.
func isSystem(m *transcriptv1.Message) bool {
	return m.GetRole() == transcriptv1.Role_ROLE_SYSTEM && m.GetExtras() == ""
}

// oneMessage is how many of the messages, from the first on, are one at the provider.
func oneMessage(messages []*transcriptv1.Message) int {
	n := 1
	for n < len(messages) && messages[n].GetJoined() && roleName(messages[n]) == roleName(messages[0]) {
		n++
	}
	return n
}

func roleName(m *transcriptv1.Message) string {
	switch m.GetRole() {
	case transcriptv1.Role_ROLE_USER, transcriptv1.Role_ROLE_TOOL:
		return "user"
	case transcriptv1.Role_ROLE_ASSISTANT:
		return "assistant"
	case transcriptv1.Role_ROLE_SYSTEM, transcriptv1.Role_ROLE_DEVELOPER:
		return "system"
	default:
		return ""
	}
}

// formatMessage writes the messages that are one at the provider, and have these paths.
func formatMessage(messages []*transcriptv1.Message, paths []string) (*providerjson.Node, error) {
	path := paths[0]
	first := messages[0]
	role := roleName(first)
	if role == "" {
		return nil, providerjson.Errorf(path+".role", "is not a role")
	}
	extras, err := providerjson.ReadExtras(first.GetExtras(), path+".extras")
	if err != nil {
		return nil, err
	}
	if first.GetRole() == transcriptv1.Role_ROLE_TOOL {
		extras = extras.Member(messageExtras)
	}
	n := providerjson.NewObject().Set("role", providerjson.Text(role))
	content, err := formatContent(first, path)
	if len(messages) > 1 || first.GetRole() == transcriptv1.Role_ROLE_TOOL {
		content, err = formatBlocks(messages, paths)
	}
	if err != nil {
		return nil, err
	}
	if content != nil {
		n.Set("content", content)
	}
	n.Merge(extras)
	return n, nil
}

func formatContent(m *transcriptv1.Message, path string) (*providerjson.Node, error) {
	at := -1
	return providerjson.FormatContent(m.GetParts(), m.GetContentForm(), func(p *transcriptv1.Part) (*providerjson.Node, error) {
		at++
		return formatBlock(p, providerjson.Index(path+".parts", at))
	})
}

// formatBlocks is a content list: a block of each result, and the blocks of all else.
func formatBlocks(messages []*transcriptv1.Message, paths []string) (*providerjson.Node, error) {
	list := providerjson.NewList()
	for i, m := range messages {
		path := paths[i]
		if m.GetRole() == transcriptv1.Role_ROLE_TOOL {
			n, err := formatResult(m, path, i == 0)
			if err != nil {
				return nil, err
			}
			list.Add(n)
			continue
		}
		for j, p := range m.GetParts() {
			n, err := formatBlock(p, providerjson.Index(path+".parts", j))
			if err != nil {
				return nil, err
			}
			list.Add(n)
		}
	}
	return list, nil
}

// formatResult is a tool_result block. The first of a message does not hold the message's other members.
func formatResult(m *transcriptv1.Message, path string, first bool) (*providerjson.Node, error) {
	extras, err := providerjson.ReadExtras(m.GetExtras(), path+".extras")
	if err != nil {
		return nil, err
	}
	n := block("tool_result")
	setOptional(n, "tool_use_id", m.ToolCallId)
	content, err := formatContent(m, path)
	if err != nil {
		return nil, err
	}
	if content != nil {
		n.Set("content", content)
	}
	if m.GetIsError() {
		n.Set("is_error", providerjson.Raw("true"))
	}
	if first {
		extras = extras.Without(messageExtras)
	}
	n.Merge(extras)
	return n, nil
}

// FormatMessage writes messages that are one at the provider, such as ParseMessage gives, as Format does. ErrInvalid
// also where they are none or more than one there.
func FormatMessage(messages []*transcriptv1.Message) ([]byte, Report, error) {
	var report Report
	messages, paths, err := providerjson.WithoutOpaque(messages, providerjson.Inner{Message: messageExtras}, &report)
	if err != nil {
		return nil, Report{}, err
	}
	if len(messages) == 0 || oneMessage(messages) != len(messages) {
		return nil, Report{}, providerjson.Errorf("messages", "is not one message of the provider")
	}
	n, err := formatMessage(messages, paths)
	if err != nil {
		return nil, Report{}, err
	}
	out := n.Append(nil)
	again, _, err := ParseMessage(out)
	compare(messages, again, paths, err, &report)
	return out, report, nil
}
