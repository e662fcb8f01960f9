package main

import (
	"context"
	"strconv"
	"strings"
)

type aliasResolveCommand struct {
	Name aliasName `arg:"" completes:"alias" help:"The alias."`
}

func (c *aliasResolveCommand) Help() string {
	return `Examples:

    transcriptctl alias resolve chat/42
    transcriptctl alias resolve chat/42 --output json | jq -r .alias.nodeId`
}

// Run tells where an alias points.
func (c *aliasResolveCommand) Run(ctx context.Context, s *session) error {
	reply, err := s.Resolve(ctx, s.looked(string(c.Name)))
	if err != nil {
		return err
	}
	if s.json {
		return s.printReply(reply)
	}
	a := reply.GetAlias()
	rows := [][2]string{{"node", a.GetNodeId()}, {"moved", clock(a.GetMovedAt())}, {"revision", strconv.FormatInt(a.GetRevision(), 10)}}
	if len(a.GetLabels()) > 0 {
		rows = append(rows, [2]string{"labels", strings.TrimSpace(labelText(a.GetLabels()))})
	}
	return s.printRows(append(rows, counterRows(reply.GetCounters())...))
}
