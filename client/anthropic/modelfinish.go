package anthropic

import (
	"strings"
	"unicode"
)

// finish makes hold what only the whole can tell: server tools' calls and results come in pairs, an assistant message
// has its calls last and does not end in thinking, none is empty, and the last does not end in white space.
func (m *model) finish() {
	turns := m.turns
	m.turns = nil
	for _, t := range turns {
		if t.role == "assistant" {
			t.items = m.withoutTrailingThinking(m.callsLast(m.paired(t.items)))
		}
		if len(t.items) > 0 {
			m.append(t.role, t.items)
		}
	}
	m.trimEnd()
}

// callsLast moves what stands behind a call before the calls: the results must come directly after them.
func (m *model) callsLast(items []item) []item {
	var others, calls []item
	for _, it := range items {
		if it.kind == "tool_use" {
			calls = append(calls, it)
			continue
		}
		if len(calls) > 0 {
			m.change(it.path, Moved, "calls come last")
		}
		others = append(others, it)
	}
	return append(others, calls...)
}

// withoutTrailingThinking leaves out the thinking that an assistant message ends in.
func (m *model) withoutTrailingThinking(items []item) []item {
	for len(items) > 0 {
		last := items[len(items)-1]
		if !isThinking(last.kind) {
			break
		}
		m.change(last.path, LeftOut, "an assistant message cannot end in thinking")
		items = items[:len(items)-1]
	}
	return items
}

func isThinking(kind string) bool { return kind == "thinking" || kind == "redacted_thinking" }

// trimEnd takes the white space off the end of a last message that is the assistant's.
func (m *model) trimEnd() {
	if len(m.turns) == 0 || m.turns[len(m.turns)-1].role != "assistant" {
		return
	}
	items := m.turns[len(m.turns)-1].items
	last := &items[len(items)-1]
	if trimmed := strings.TrimRightFunc(last.text, unicode.IsSpace); last.kind == "text" && trimmed != last.text {
		m.change(last.path, Replaced, "the last message cannot end in white space")
		*last = textItem(trimmed, last.path)
	}
}
