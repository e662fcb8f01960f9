package main

import (
	"context"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type recallCommand struct {
	Ref        string `arg:"" help:"The node that the chain ends in."`
	CallID     string `arg:"" optional:"" help:"The id of the tool call; - for calls without one."`
	Place      string `arg:"" optional:"" help:"NODE.I as the line of a left-out result gives it: names exactly that result."`
	Occurrence int    `placeholder:"N" help:"Where ids repeat: 0 is the latest call with that id, 1 the one before."`
}

func (c *recallCommand) Help() string {
	return `Prints the result of a past tool call, also of what was compacted; the call itself is told on standard error. A line "[result of NAME, B bytes, left out; recall CALL_ID NODE.I]" gives both arguments. Examples:

    transcriptctl recall chat/42 call_7
    transcriptctl recall chat/42 call_7 3f2a9c0d1e4b.0 | less`
}

// Run prints the result of a past call.
func (c *recallCommand) Run(ctx context.Context, s *session) error {
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	call := client.Recall{Place: c.Place, Occurrence: c.Occurrence}
	if c.CallID != "" && c.CallID != "-" {
		call.ID, call.HasID = c.CallID, true
	}
	got, err := s.Recall(ctx, ref, call)
	if err != nil {
		return err
	}
	if s.json {
		return s.printReply(got.RecallToolCallResponse)
	}
	if got.Call != nil {
		s.remark("%s(%s)", visible(got.Call.GetName()), visible(got.Call.GetArguments()))
	}
	switch {
	case got.ResultPlace == nil:
		s.remark("the call has no result")
		return nil
	case got.State == transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR:
		s.remark("the result is an error")
	}
	for _, p := range got.Parts {
		if err := s.printPart(p); err != nil {
			return err
		}
	}
	return nil
}

// printPart prints a part of a result; what is not text is named.
func (s *session) printPart(p *transcriptv1.Part) error {
	switch k := p.GetKind().(type) {
	case *transcriptv1.Part_Text:
		return s.printLine("%s", strings.TrimSuffix(visible(k.Text), "\n"))
	case *transcriptv1.Part_Json:
		return s.printLine("%s", visible(k.Json))
	}
	return s.printLine("%s", visible(partLine(p)))
}
