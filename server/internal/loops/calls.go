package loops

import (
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// list lists the message's calls, as many as there is room for, and returns what it listed.
func (s *loopScan) list(m *transcriptv1.Message, place *transcriptv1.MessagePlace, at *timestamppb.Timestamp) []*transcriptv1.ToolCallSummary {
	before := len(s.reply.ToolCalls)
	for _, c := range wire.CallsOf(m) {
		if len(s.reply.ToolCalls) == maxLoopCalls {
			break
		}
		listed := &transcriptv1.ToolCallSummary{
			Id: c.Id, Name: c.Name, State: transcriptv1.ToolCallState_TOOL_CALL_STATE_UNANSWERED, CallPlace: place, CalledAt: at,
		}
		listed.Arguments, listed.ArgumentsCut = s.argumentsOf(c)
		s.reply.ToolCalls = append(s.reply.ToolCalls, listed)
	}
	return s.reply.ToolCalls[before:]
}

// argumentsOf is what is shown of a call's arguments, and whether they were cut.
func (s *loopScan) argumentsOf(c *transcriptv1.ToolCall) (shown string, cut bool) {
	if s.arguments == 0 {
		return "", false
	}
	all := c.Arguments
	if s.preview.Redact {
		all = redact.Text(all)
	}
	shown = wire.FirstPoints(all, s.arguments)
	if len(shown) == len(all) {
		return all, false
	}
	return strings.Clone(shown), true
}

// answer lets a result answer the first open call with its id, and returns the calls that stay open.
func answer(
	open []*transcriptv1.ToolCallSummary, result *transcriptv1.Message, place *transcriptv1.MessagePlace, at *timestamppb.Timestamp,
) []*transcriptv1.ToolCallSummary {
	c, rest, ok := chainview.TakeFirst(open, func(c *transcriptv1.ToolCallSummary) bool {
		return wire.Optional(c.Id) == wire.Optional(result.ToolCallId)
	})
	if ok {
		c.State, c.ResultPlace, c.AnsweredAt = transcriptv1.ToolCallState_TOOL_CALL_STATE_OK, place, at
		if result.IsError {
			c.State = transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR
		}
	}
	return rest
}

func redactCalls(calls []*transcriptv1.ToolCallSummary) {
	for _, c := range calls {
		c.Id, c.Name = wire.RedactedName(c.Id), wire.RedactedName(c.Name)
	}
}
