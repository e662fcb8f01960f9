package main

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type loopsCommand struct {
	Ref    string `arg:"" help:"The node that the chain ends in."`
	Limit  *uint  `short:"n" placeholder:"N" help:"List at most this many; 0: all. Default: 20, and a remark where there is more."`
	Redact bool   `help:"Replace secrets in what is shown."`
	Chars  int32  `name:"argument-chars" placeholder:"N" help:"With json: show the first N code points of the arguments of each call, at most 2000."`
}

func (c *loopsCommand) Help() string {
	return `A run loop is a user message and all that answers it, up to the final reply. Newest first; what was compacted is listed as it was. A line has the node that it begins in, when, its state (open, closed or interrupted), its size, and how the user's message begins; "lead-in" is what was said before any user. Examples:

    transcriptctl loops chat/42
    transcriptctl loops chat/42 --output json | jq -r 'select(.state == "RUN_LOOP_STATE_INTERRUPTED") | .first.nodeId'`
}

// Run lists the run loops of a chain.
func (c *loopsCommand) Run(ctx context.Context, s *session) error {
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	req := &transcriptv1.ListRunLoopsRequest{PreviewChars: 2 * previewRunes, Redact: c.Redact, ArgumentChars: c.Chars}
	_, err = printListed(s, s.RunLoops(ctx, ref, req), c.Limit, func(l *transcriptv1.RunLoop) error {
		if s.json {
			return s.printReply(l)
		}
		calls := int64(len(l.GetToolCalls())) + l.GetMoreToolCalls()
		begins := preview(l.GetUserPreview())
		if l.GetLeadIn() {
			begins = "(lead-in)"
		}
		return s.printLine("%s  %s  %-11s  %s, %s, %s  %s", short(l.GetFirst().GetNodeId()), clock(l.GetStartedAt()),
			standing(l), count(l.GetMessages(), "message"), count(calls, "call"),
			size(l.GetBytes()), begins)
	})
	return err
}

// standing is a loop's outcome, or its state where it has none.
func standing(l *transcriptv1.RunLoop) string {
	if l.GetOutcome() != transcriptv1.RunOutcome_RUN_OUTCOME_UNSPECIFIED {
		return enumName(l.GetOutcome().String(), "RUN_OUTCOME_")
	}
	return enumName(l.GetState().String(), "RUN_LOOP_STATE_")
}
