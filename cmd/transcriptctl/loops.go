package main

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type loopsCommand struct {
	Ref    string `arg:"" optional:"" help:"The node that the chain ends in; with --stale a PREFIX of aliases, or nothing for all."`
	Limit  *uint  `short:"n" placeholder:"N" help:"List at most this many; 0: all. Default: 20, and a remark where there is more; with --stale all."`
	Redact bool   `help:"Replace secrets in what is shown."`
	Chars  int32  `name:"argument-chars" placeholder:"N" help:"With json: show the first N code points of the arguments of each call, at most 2000."`
	sinceFlag
	staleFlags
}

func (c *loopsCommand) Help() string {
	return `A run loop is a user message and all that answers it, up to the final reply. Newest first; what was compacted is listed as it was. A line has the node that it begins in, when, its state (open, closed or interrupted), its size, and how the user's message begins; "lead-in" is what was said before any user.

With --stale it is a guard: it lists the aliases, of all chains or of those under a PREFIX, whose last run loop is open and behind which nothing but compactions was put for longer, by the server's clock. With --end it ends these runs, each with all aliases of its head, on condition that they point there still: a run that somebody works on meanwhile "moved on", and nothing is written. Examples:

    transcriptctl loops chat/42
    transcriptctl loops chat/42 -5 --since 2026-11-23
    transcriptctl loops --stale 1h
    transcriptctl loops --stale 1h --end cancelled chat/
    transcriptctl loops chat/42 --output json | jq -r 'select(.state == "RUN_LOOP_STATE_INTERRUPTED") | .first.nodeId'`
}

// Run lists the run loops of a chain, or stale runs of many.
func (c *loopsCommand) Run(ctx context.Context, s *session) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Stale != nil {
		return c.stale(ctx, s)
	}
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	req := &transcriptv1.ListRunLoopsRequest{PreviewChars: 2 * previewRunes, Redact: c.Redact, ArgumentChars: c.Chars}
	t := s.table(nodeColumn(), timeColumn("STARTED"), left("STATE").wide(len("interrupted")), right("MESSAGES"), right("CALLS"), right("BYTES").wide(len("1023.9 KiB")), left("USER"))
	loops := since(c.sinceFlag, s.RunLoops(ctx, ref, req), false, (*transcriptv1.RunLoop).GetStartedAt)
	_, err = printListed(s, loops, c.Limit, func(l *transcriptv1.RunLoop) error {
		calls := int64(len(l.GetToolCalls())) + int64(l.GetMoreToolCalls())
		begins := preview(l.GetUserPreview())
		if l.GetLeadIn() {
			begins = "(lead-in)"
		}
		return t.print(l, short(l.GetFirst().GetNodeId()), clock(l.GetStartedAt()), standing(l), decimal(int64(l.GetMessages())), decimal(calls), size(l.GetBytes()), begins)
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
