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
	DryRun      bool   `help:"Tell what would be done, and do nothing."`
	Through     string `placeholder:"REF" help:"The last node to compact. Default: the last one at which no tool call is unanswered. With --summary or --summary-only: the last node that was read for it."`
	Summary     string `placeholder:"TEXT" help:"A summary to put first, in place of an earlier one; - reads it from standard input."`
	SummaryOnly bool   `help:"Keep no closed run loop: the summary stands for them."`
	policyFlags
}

func (c *compactCommand) Help() string {
	return `Appends a node that stands for what was said so far, in the effective view and in conversations: closed run loops are condensed to what was asked and answered, bounded by the policy, the open one stays. An alias moves to the new node. Nothing is lost: the originals stay in the chain, the full view has them, and recall finds every result. Without flags of a policy its defaults hold. Examples:

    transcriptctl compact chat/42 --dry-run
    transcriptctl compact chat/42 --max-run-loops 20

A summary stands for what its maker has read. So it needs --through, the last node of that: what was said since stays.

    transcriptctl assemble 3c2ec8f9e0e9 | summarize | transcriptctl compact chat/42 --summary - --summary-only --through 3c2ec8f9e0e9`
}

// Run compacts a chain.
func (c *compactCommand) Run(ctx context.Context, s *session) error {
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	o := client.Compaction{DryRun: c.DryRun, SummaryOnly: c.SummaryOnly}
	if o.Policy, err = c.policy(); err != nil {
		return err
	}
	if err := c.unread(); err != nil {
		return err
	}
	if c.Through != "" {
		if o.Through, err = s.id(ctx, c.Through); err != nil {
			return err
		}
	}
	if o.Summary, err = c.summary(ctx, s); err != nil {
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

// unread is a usage error where nobody says how far the summary's maker has read.
func (c *compactCommand) unread() error {
	flag := "--summary"
	if c.Summary == "" {
		flag = "--summary-only"
	}
	if c.Through != "" || c.DryRun || c.Summary == "" && !c.SummaryOnly {
		return nil
	}
	return usagef("%s needs --through REF, the last node that was read for it, so that it hides nothing that was said since; --dry-run tells the last that can be named", flag)
}

func (c *compactCommand) summary(ctx context.Context, s *session) (string, error) {
	if c.Summary != "-" {
		return c.Summary, nil
	}
	in, _, err := s.openInput(ctx, "-")
	if err != nil {
		return "", err
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
	done := res.GetNodeId()
	switch {
	case res.GetNotWrittenReason() != transcriptv1.NotWrittenReason_NOT_WRITTEN_REASON_UNSPECIFIED:
		done = "nothing: it would not get smaller"
	case !res.GetWritten():
		done = "nothing: a dry run"
	}
	before, after := r.GetBytesBefore(), r.GetBytesAfter()
	rows := [][2]string{{"written", done}}
	for _, a := range res.GetAliases() {
		rows = append(rows, [2]string{"alias", name(a.GetName()) + " " + aliasFate(a)})
	}
	return s.printRows(append(rows, [][2]string{
		{"through", orDash(res.GetThroughId())},
		{"before", fmt.Sprintf("%s, %s, about %s", count(r.GetMessagesBefore(), "message"), size(before), count(r.GetTokensBefore(), "token"))},
		{"after", fmt.Sprintf("%s, %s, about %s (%s)", count(r.GetMessagesAfter(), "message"), size(after), count(r.GetTokensAfter(), "token"), percent(after, before))},
		{"run loops", fmt.Sprintf("%d dropped, %d condensed, %d whole", r.GetRunLoopsDropped(), r.GetRunLoopsCondensed(), r.GetRunLoopsWhole())},
	}...))
}

// percent is a share for people.
func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
