package mcpserver

import (
	"context"
	"fmt"
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	loopsPage = 20
	// loopChars is how much the calls of one run loop take.
	loopChars = 4000
)

func (s *caller) loopsTool() *tool {
	return &tool{
		name: "list_run_loops", title: "List runs",
		says: "Lists the run loops of a conversation, newest first. A run loop is what the user asked, the tool calls that followed, and the reply. " +
			"Tool calls have their ids, for recall_tool_call.",
		params: s.conversation(true, cursorParam()),
		run:    s.loops,
	}
}

func (s *caller) loops(ctx context.Context, a *arguments) (string, error) {
	head, err := s.cfg.Binding.head(a.Conversation)
	if err != nil {
		return "", err
	}
	reply, lines, err := fitted(loopsPage, func(size int) (*transcriptv1.ListRunLoopsResponse, error) {
		ctx, cancel := s.call(ctx)
		defer cancel()
		return s.cfg.Client.ListRunLoops(ctx, &transcriptv1.ListRunLoopsRequest{
			Namespace: s.cfg.Namespace, Head: head, PageSize: int32(min(size, loopsPage)), PageToken: a.Cursor, // at most loopsPage
			PreviewChars: 400, ArgumentChars: 120, Redact: !s.cfg.Plain,
		})
	}, func(r *transcriptv1.ListRunLoopsResponse) []string {
		lines := make([]string, len(r.GetRunLoops()))
		for i, l := range r.GetRunLoops() {
			lines[i] = runLoop(l)
		}
		return lines
	}, MaxReplyChars-headRoom-maxCursor/4)
	if err != nil {
		return "", err
	}
	if token := reply.GetNextPageToken(); token != "" {
		lines = append(lines, next("list_run_loops", token, "for older ones"))
	} else if len(lines) == 0 {
		lines = append(lines, "no run loops: no user has asked anything yet; read_conversation shows what there is")
	}
	return strings.Join(lines, "\n"), nil
}

// runLoop is a run loop in lines. The server has left out secrets.
func runLoop(l *transcriptv1.RunLoop) string {
	state := enumName(l.GetState(), "RUN_LOOP_STATE_")
	if l.GetOutcome() != transcriptv1.RunOutcome_RUN_OUTCOME_UNSPECIFIED {
		state += ", " + enumName(l.GetOutcome(), "RUN_OUTCOME_")
	}
	lines := []string{fmt.Sprintf("[%s] %s, began %s, %d messages", place(l.GetFirst()), state, clock(l.GetStartedAt()), l.GetMessages())}
	if text := l.GetUserPreview(); text != "" {
		lines = append(lines, " user: "+inline(text, 400))
	}
	room, left := loopChars, l.GetMoreToolCalls()
	for i, c := range l.GetToolCalls() {
		line := callSummary(c)
		if room -= chars(line); room < 0 {
			left += int32(len(l.GetToolCalls()) - i) // at most 100
			break
		}
		lines = append(lines, line)
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf(" %d more tool calls; read_conversation shows them", left))
	}
	if text := l.GetReplyPreview(); text != "" {
		lines = append(lines, " reply: "+inline(text, 400))
	}
	return strings.Join(lines, "\n")
}

func callSummary(c *transcriptv1.ToolCallSummary) string {
	name, id := "without a name", "without an id"
	if c.Name != nil {
		name = fmt.Sprintf("%q", c.GetName())
	}
	if c.Id != nil {
		id = fmt.Sprintf("id %q", c.GetId())
	}
	line := fmt.Sprintf(" call %s, %s, at %s, %s", name, id, place(c.GetCallPlace()), enumName(c.GetState(), "TOOL_CALL_STATE_"))
	if c.GetArguments() != "" {
		line += ": " + inline(c.GetArguments(), 120)
		if c.GetArgumentsCut() {
			line += " …"
		}
	}
	return line
}
