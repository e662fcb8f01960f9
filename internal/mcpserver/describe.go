package mcpserver

import (
	"context"
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func (s *caller) describeTool() *tool {
	return &tool{
		name: "describe_chain", title: "Describe a conversation",
		says: "Tells the state of a conversation: how long it is, whether a run is open and what it waits for, what it was forked and spawned from, " +
			"the tools called, and its variables.",
		params: s.conversation(true),
		run:    s.describe,
	}
}

func (s *caller) describe(ctx context.Context, a *arguments) (string, error) {
	head, err := s.cfg.Binding.head(a.Conversation)
	if err != nil {
		return "", err
	}
	ctx, cancel := s.call(ctx)
	defer cancel()
	reply, err := s.cfg.Client.Describe(ctx, &transcriptv1.DescribeRequest{
		Namespace: s.cfg.Namespace, Head: head, Mode: transcriptv1.DescribeMode_DESCRIBE_MODE_PREVIEW,
		PreviewChars: 500, MaxTextChars: MaxReplyChars - headRoom, Redact: !s.cfg.Plain,
	})
	if err != nil {
		return "", err
	}
	text := reply.GetText()
	if s.cfg.Binding.bound() || s.cfg.Binding.Prefix != "" {
		text = s.withoutOtherNames(text, reply.GetAliases())
	}
	return text, nil
}

// withoutOtherNames leaves out names that are not the binding's. A head may have any. Each line of the text is the server's own; one
// that continues another begins with two spaces.
func (s *caller) withoutOtherNames(text string, names []string) string {
	var kept []string
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if inside = strings.HasPrefix(line, "aliases: ") || inside && strings.HasPrefix(line, "  "); !inside {
			kept = append(kept, line)
		}
	}
	var own []string
	for _, name := range names {
		if !s.cfg.Binding.bound() && strings.HasPrefix(name, s.cfg.Binding.Prefix) {
			own = append(own, oneLine(name))
		}
	}
	if len(own) > 0 {
		kept = append(kept, "aliases: "+clip(strings.Join(own, ", "), headRoom/2))
	}
	return strings.Join(kept, "\n")
}
