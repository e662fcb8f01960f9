package mcpserver

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is one tool: what a model is told of it, and what it does.
type tool struct {
	name, title, says string
	params            []param
	writes            bool
	run               func(context.Context, *arguments) (string, error)
}

func (t *tool) declare() *mcp.Tool {
	no := false
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.says, InputSchema: schema(t.params),
		Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: !t.writes, DestructiveHint: &no, IdempotentHint: !t.writes, OpenWorldHint: &no},
	}
}

// conversation is the argument that names one; there is none where the server has only one.
func (s *caller) conversation(required bool, more ...param) []param {
	if s.cfg.Binding.bound() {
		return more
	}
	says := "The name of the conversation, whole, as list_conversations shows it."
	if !required {
		says += " Without it: all conversations."
	}
	return append([]param{{name: "conversation", kind: "string", says: says, required: required}}, more...)
}

func cursorParam() param {
	return param{name: "cursor", kind: "string", says: "The cursor that the last reply gives, with the same other arguments. Without it: from the beginning of the list."}
}

// handler calls a tool. Whatever goes wrong is a result that the model can act on.
func (s *caller) handler(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began := time.Now()
		args, err := parse(req.Params.Arguments, t.params)
		var text string
		if err == nil {
			text, err = t.run(ctx, args)
		}
		result := &mcp.CallToolResult{}
		if err != nil {
			text, result.IsError = s.told(err), true
		}
		// A text of stored bytes may be cut within what is no UTF-8; JSON has none of it.
		result.Content = []mcp.Content{&mcp.TextContent{Text: clip(strings.ToValidUTF8(text, "\uFFFD"), MaxReplyChars)}}
		s.cfg.Log.LogAttrs(ctx, slog.LevelInfo, "tool called", slog.String("tool", t.name), slog.Bool("error", result.IsError),
			slog.Duration("took", time.Since(began)))
		return result, nil
	}
}
