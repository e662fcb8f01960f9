package main

import (
	"context"
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type replayCommand struct {
	Ref           string   `arg:"" help:"The node that the chain ends in."`
	MaxCalls      int32    `short:"n" default:"20" placeholder:"N" help:"Show at most this many calls, the newest (1 to 200). Default: ${default}."`
	MaxItemChars  int32    `default:"500" placeholder:"N" help:"Characters of each call's arguments, and of each result (1 to 10000). Default: ${default}."`
	MaxChars      int32    `default:"8000" placeholder:"N" help:"Characters in all (1 to 200000). Default: ${default}."`
	Tool          []string `sep:"none" placeholder:"NAME" help:"Only calls of this tool; may be repeated."`
	PastLoopsOnly bool     `help:"Leave out the last run loop, which every view shows."`
}

func (c *replayCommand) Help() string {
	return `Prints the latest tool calls of a chain with their results, oldest first, bounded, secrets replaced. Examples:

    transcriptctl replay chat/42
    transcriptctl replay chat/42 --tool read_file --max-calls 5
    transcriptctl replay chat/42 --past-loops-only`
}

// Run prints the latest calls.
func (c *replayCommand) Run(ctx context.Context, s *session) error {
	if c.MaxCalls < 1 || c.MaxItemChars < 1 || c.MaxChars < 1 {
		return usagef("--max-calls, --max-item-chars and --max-chars must be at least 1")
	}
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	reply, err := s.Replay(ctx, ref, &transcriptv1.ReplayToolsRequest{
		MaxCalls: c.MaxCalls, MaxItemChars: c.MaxItemChars, MaxChars: c.MaxChars, ToolNames: c.Tool, PastLoopsOnly: c.PastLoopsOnly,
	})
	if err != nil {
		return err
	}
	if s.json {
		return s.printReply(reply)
	}
	if reply.GetHasMoreCalls() {
		s.remark("there are other calls, not shown; see --max-calls and --max-chars")
	}
	if reply.GetText() == "" {
		return nil
	}
	return s.printLine("%s", strings.TrimSuffix(visible(reply.GetText()), "\n"))
}
