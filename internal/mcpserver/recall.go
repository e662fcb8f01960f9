package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// recallBytes is how much of a result is asked of the server at once.
const recallBytes = 16_000

func (s *caller) recallTool() *tool {
	return &tool{
		name: "recall_tool_call", title: "Recall a tool call",
		says: "Shows a past tool call with its arguments and its result, whole and in pages, also one that was compacted. A line " +
			`"[result of NAME, B bytes, left out; recall CALL_ID NODE.I]" gives call_id and place. What follows a line --- is the record, to the end of the reply.`,
		params: s.conversation(true,
			param{name: "call_id", kind: "string", says: "The id of the call. Without it, and without place: the latest call that has no id."},
			param{name: "place", kind: "string", says: "The place of the result or of the message with the call, such as 3f2a9c0d1e4b.0."},
			param{name: "occurrence", kind: "integer", says: "Where calls have the same id: 0 is the latest, 1 the one before. Not with place."},
			cursorParam()),
		run: s.recall,
	}
}

func (s *caller) recall(ctx context.Context, a *arguments) (string, error) {
	head, err := s.cfg.Binding.head(a.Conversation)
	if err != nil {
		return "", err
	}
	if a.Place != "" && parsePlace(a.Place, shortID) == nil {
		return "", errPlace("place")
	}
	if a.Occurrence < 0 || a.Occurrence > 1<<20 {
		return "", refuse("occurrence: must be 0 for the latest call with that id, 1 for the one before, and so on")
	}
	from, token, err := recallCursor(a.Cursor)
	if err != nil {
		return "", err
	}
	req := &transcriptv1.RecallToolCallRequest{
		Namespace: s.cfg.Namespace, Head: head, Place: a.Place, Occurrence: int32(a.Occurrence), // at most 1<<20
		PageBytes: recallBytes, PageToken: token, Redact: !s.cfg.Plain,
	}
	if a.given["call_id"] {
		req.ToolCallId = &a.CallID
	}
	ctx, cancel := s.call(ctx)
	defer cancel()
	got, err := s.cfg.Client.RecallToolCall(ctx, req)
	if errors.Is(client.Typed(err), client.ErrToolCallNotFound) && req.ToolCallId == nil && a.Place == "" {
		return "", refuse("call_id: is needed, or place, since all calls of this conversation have ids: call list_run_loops to see both")
	}
	if err != nil {
		return "", err
	}
	return writeRecalled(got, from, token), nil
}

// recallCursor reads OFFSET.TOKEN: a page of the server's, and the characters of it that were shown. A page can be longer than a reply:
// arguments, and parts that are not text, come whole.
func recallCursor(cursor string) (from int, token string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	number, token, ok := strings.Cut(cursor, ".")
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil || !ok {
		return 0, "", errCursor()
	}
	return int(n), token, nil // 31 bits
}

// writeRecalled writes a page from a character on. The server has left out secrets.
func writeRecalled(got *transcriptv1.RecallToolCallResponse, from int, token string) string {
	plain := caller{cfg: Config{Plain: true}}
	top := []string{fmt.Sprintf("state %s, call at %s, result at %s of %d bytes, %s", enumName(got.GetState(), "TOOL_CALL_STATE_"),
		place(got.GetCallPlace()), place(got.GetResultPlace()), got.GetResultBytes(), clock(got.GetSentAt()))}
	if n := got.GetEarlierOccurrences(); n > 0 {
		top = append(top, fmt.Sprintf("%d earlier calls have this id: give occurrence to see them", n))
	}
	if got.GetLeftOut() {
		top = append(top, "the result is not shown to models, since it answers no open call")
	}
	var body strings.Builder
	if c := got.GetCall(); c != nil {
		top = append(top, plain.callLine(c))
		fmt.Fprintf(&body, "arguments:%s\nresult:\n", indent(c.GetArguments()))
	}
	for i, p := range got.GetParts() {
		if i > 0 {
			body.WriteByte('\n')
		}
		body.WriteString(plain.part(p))
	}
	rest := body.String()
	rest = rest[offset(rest, from):]
	room := MaxReplyChars - headRoom - maxCursor/4 - chars(strings.Join(top, "\n"))
	shown := beginning(rest, room)
	switch {
	case len(shown) < len(rest):
		top = append(top, next("recall_tool_call", fmt.Sprintf("%d.%s", from+chars(shown), token), "for the rest"))
	case got.GetNextPageToken() != "":
		top = append(top, next("recall_tool_call", "0."+got.GetNextPageToken(), "for the rest"))
	}
	// What is said of the call stands above: the result ends as it ends.
	return strings.Join(top, "\n") + "\n---\n" + shown
}
