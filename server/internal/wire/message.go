package wire

import (
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// MessageText is the text of a message's text parts, each on a line of its own.
func MessageText(m *transcriptv1.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if t, ok := p.Kind.(*transcriptv1.Part_Text); ok && t.Text != "" {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// CallsOf are a message's calls, in order.
func CallsOf(m *transcriptv1.Message) (calls []*transcriptv1.ToolCall) {
	for _, p := range m.Parts {
		if c := p.GetToolCall(); c != nil {
			calls = append(calls, c)
		}
	}
	return calls
}
