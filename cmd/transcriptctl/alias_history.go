package main

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type aliasHistoryCommand struct {
	Name  string `arg:"" help:"The alias."`
	Limit uint   `short:"n" placeholder:"N" help:"At most this many. Default: all that are kept, which is 100 of 90 days."`
}

func (c *aliasHistoryCommand) Help() string {
	return `Also of an alias that was deleted. Example:

    transcriptctl alias history chat/42 -n 5`
}

// Run tells where an alias pointed.
func (c *aliasHistoryCommand) Run(ctx context.Context, s *session) error {
	_, err := printSome(s, s.History(ctx, c.Name), c.Limit, s.printState)
	return err
}

func (s *session) printState(e *transcriptv1.AliasHistoryEntry) error {
	if s.json {
		return s.printReply(e)
	}
	where := short(e.GetNodeId())
	if where == "" {
		where = "deleted"
	}
	return s.printLine("%-*s  %s  rev %d", shortDigits, where, clock(e.GetBeganAt()), e.GetRevision())
}
