package main

import "context"

type statsCommand struct{}

func (c *statsCommand) Help() string {
	return `Examples:

    transcriptctl stats
    transcriptctl stats --namespace team-a --output json | jq .nodes`
}

// Run tells the size of a namespace, and its quotas.
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
	quotas := reply.GetSettings()
	rows := [][2]string{
		{"nodes", decimal(reply.GetNodes()) + ofQuota(quotas.GetMaxNodes(), decimal)},
		{"messages", decimal(reply.GetMessages()) + ", " + size(reply.GetMessageBytes()) + ofQuota(quotas.GetMaxMessageBytes(), size)},
		{"aliases", decimal(reply.GetAliases()) + ofQuota(quotas.GetMaxAliases(), decimal)},
		{"roots", decimal(reply.GetRoots())},
		{"forks", decimal(reply.GetForks())},
	}
	if quotas != nil {
		rows = append(rows, [2]string{"settings", "revision " + decimal(reply.GetSettingsRevision())})
	}
	return s.printRows(append(rows, ruleRows(quotas.GetRetention())...))
}

// ofQuota is what a number may be at most, to be said behind it; empty where it may be any.
func ofQuota(limit int64, text func(int64) string) string {
	if limit == 0 {
		return ""
	}
	return " (at most " + text(limit) + ")"
}
