package main

import (
	"context"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type recallCommand struct {
	Ref        string `arg:"" help:"The node that the chain ends in."`
	CallID     string `arg:"" help:"The id of the tool call; - for calls without one, or where NODE.I says which."`
	Place      string `arg:"" optional:"" name:"node.i" help:"NODE.I as the line of a left-out result gives it: names exactly that result."`
	Occurrence int32  `placeholder:"N" help:"Where ids repeat: 0 is the latest call with that id, 1 the one before."`
	Redact     bool   `help:"Replace secrets in the call and in its result."`
}

func (c *recallCommand) Help() string {
	return `Prints the result of a past tool call, whatever was compacted since; the call itself is told on standard error. Control characters are shown as \x1b; --output json has everything as it is, with --redact without secrets. A line "[result of NAME, B bytes, left out; recall CALL_ID NODE.I]" gives both arguments. Examples:

    transcriptctl recall chat/42 call_7
    transcriptctl recall chat/42 call_7 --occurrence 1
    transcriptctl recall chat/42 call_7 --redact
    transcriptctl recall chat/42 call_7 3f2a9c0d1e4b.0 | less`
}

// Run prints the result of a past call.
func (c *recallCommand) Run(ctx context.Context, s *session) error {
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	call := client.Recall{Place: c.Place, Occurrence: int(c.Occurrence), Redact: c.Redact}
	if c.CallID != "-" {
		call.ID, call.HasID = c.CallID, true
	}
	got, err := s.Recall(ctx, ref, call)
	if err != nil {
		return err
	}
	if s.json {
		return s.printReply(got.RecallToolCallResponse)
	}
	s.tellRecalled(got)
	for _, p := range got.Parts {
		if err := s.printPart(p); err != nil {
			return err
		}
	}
	return nil
}

// tellRecalled says on standard error which call it was, and what became of it.
func (s *session) tellRecalled(got *client.Recalled) {
	if got.Call == nil {
		s.remark("the result answers no call")
	} else {
		s.remark("%s", visible(partText(&transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: got.Call}})))
	}
	if n := got.EarlierOccurrences; n > 0 {
		s.remark("%s with this id: see --occurrence", count(n, "earlier call"))
	}
	switch {
	case got.ResultPlace == nil:
		s.remark("the call has no result")
	case got.State == transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR:
		s.remark("the result is an error")
	}
	if got.LeftOut {
		s.remark("views leave this result out: it answers no call of its group")
	}
}
