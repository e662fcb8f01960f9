package main

import (
	"context"
	"fmt"
	"io"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type compactCommand struct {
	Ref         string `arg:"" help:"The chain: an alias, which moves to the compaction node, or a node."`
	DryRun      bool   `short:"n" help:"Tell what would be done, and do nothing."`
	Through     string `placeholder:"REF" help:"The last node to compact. Default: the last one at which no tool call is unanswered."`
	Summary     string `placeholder:"TEXT" help:"A summary to put first, in place of an earlier one; - reads it from standard input."`
	SummaryOnly bool   `help:"Keep no closed run loop: the summary stands for them."`
	policyFlags
}

func (c *compactCommand) Help() string {
	return `Closed run loops are condensed to what was asked and answered, the open one stays. Nothing is lost: the originals stay in the chain, and recall finds every result. Examples:

    transcriptctl compact chat/42 --dry-run
    transcriptctl compact chat/42 --max-run-loops 20
    summarize chat/42 | transcriptctl compact chat/42 --summary - --summary-only`
}

// Run compacts a chain.
func (c *compactCommand) Run(ctx context.Context, s *session) error {
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	o := client.Compaction{DryRun: c.DryRun, Policy: c.policy(), SummaryOnly: c.SummaryOnly}
	if c.Through != "" {
		if o.Through, err = s.id(ctx, c.Through); err != nil {
			return err
		}
	}
	if o.Summary, err = c.summary(s.in); err != nil {
		return err
	}
	res, err := s.Compact(ctx, ref, o)
	if err != nil {
		return err
	}
	if s.json {
		return s.printReply(res)
	}
	return c.print(s, res)
}

func (c *compactCommand) summary(in io.Reader) (string, error) {
	if c.Summary != "-" {
		return c.Summary, nil
	}
	b, err := io.ReadAll(io.LimitReader(in, maxSummary+1))
	switch {
	case err != nil:
		return "", err
	case len(b) == 0:
		return "", usagef("--summary -: standard input is empty")
	case len(b) > maxSummary:
		return "", usagef("--summary -: standard input is over 1 MiB")
	}
	return string(b), nil
}

// maxSummary is the most bytes of a summary that the server takes.
const maxSummary = 1 << 20

func (c *compactCommand) print(s *session, res *transcriptv1.CompactResponse) error {
	r := res.GetReport()
	done := short(res.GetNodeId())
	switch {
	case res.GetNotWritten() != transcriptv1.NotWritten_NOT_WRITTEN_UNSPECIFIED:
		done = "nothing: it would not get smaller"
	case !res.GetWritten():
		done = "nothing: a dry run"
	}
	before, after := r.GetBytesBefore(), r.GetBytesAfter()
	return s.printRows([][2]string{
		{"written", done},
		{"through", short(res.GetThroughId())},
		{"before", fmt.Sprintf("%s, %s, about %s", count(r.GetMessagesBefore(), "message"), size(before), count(r.GetTokensBefore(), "token"))},
		{"after", fmt.Sprintf("%s, %s, about %s (%s)", count(r.GetMessagesAfter(), "message"), size(after), count(r.GetTokensAfter(), "token"), percent(after, before))},
		{"run loops", fmt.Sprintf("%d dropped, %d condensed, %d whole", r.GetLoopsDropped(), r.GetLoopsCondensed(), r.GetLoopsWhole())},
	})
}

// percent is a share for people.
func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
