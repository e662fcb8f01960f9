package main

import (
	"cmp"
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type aliasHistoryCommand struct {
	Name  aliasName `arg:"" completes:"alias" help:"The alias."`
	Limit uint      `short:"n" placeholder:"N" help:"At most this many. Default: all that are kept, which is 100 of 90 days."`
	sinceFlag
}

func (c *aliasHistoryCommand) Help() string {
	return `Also of an alias that was deleted. Example:

    transcriptctl alias history chat/42 -5`
}

// Run tells where an alias pointed.
func (c *aliasHistoryCommand) Run(ctx context.Context, s *session) error {
	t := s.table(nodeColumn(), timeColumn("BEGAN"), right("REVISION"))
	states := since(c.sinceFlag, s.History(ctx, s.looked(string(c.Name))), true, (*transcriptv1.AliasHistoryEntry).GetBeganAt)
	_, err := printSome(s, states, c.Limit, func(e *transcriptv1.AliasHistoryEntry) error {
		return t.print(e, cmp.Or(short(e.GetNodeId()), "deleted"), clock(e.GetBeganAt()), decimal(e.GetRevision()))
	})
	return err
}
