package main

import (
	"context"
	"strconv"
)

type statsCommand struct{}

func (c *statsCommand) Help() string {
	return `Examples:

    transcriptctl stats
    transcriptctl stats --namespace team-a --output json | jq .nodes`
}

// Run tells the size of a namespace.
func (c *statsCommand) Run(ctx context.Context, s *session) error {
	reply, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	if reply.GetNodes() == 0 {
		defer s.remarkNothing()
	}
	if s.json {
		return s.printReply(reply)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return s.printRows([][2]string{
		{"nodes", number(reply.GetNodes())},
		{"messages", number(reply.GetMessages()) + ", " + size(reply.GetMessageBytes())},
		{"aliases", number(reply.GetAliases())},
		{"roots", number(reply.GetRoots())},
		{"forks", number(reply.GetForks())},
	})
}
