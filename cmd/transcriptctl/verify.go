package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/bytecount"
)

type verifyCommand struct {
	All    bool            `help:"Check the whole store: every namespace, the files, and rows that no namespace has."`
	Rate   bytecount.Count `placeholder:"N" help:"Read at most N bytes of the store a second, so that others are not held up: in bytes or as 64KiB, 20MiB; 0: no bound."`
	Cursor string          `placeholder:"TOKEN" help:"Go on where an earlier check of the same was, as its remark, or a report in JSON, tells."`
}

func (c *verifyCommand) Help() string {
	return `Problems go to standard output, a line each: the namespace with --all, the node, the kind and what is wrong; - is for none. docs/operations.md says what to do about each kind. Progress goes to standard error where that is a terminal. Exit code 6 where there are problems. A check that ended early tells how another goes on. Examples:

    transcriptctl verify
    transcriptctl verify --namespace team-a --output json
    transcriptctl verify --all --rate 10MiB`
}

// Run checks a namespace, or the whole store.
func (c *verifyCommand) Run(ctx context.Context, s *session) error {
	if c.All && s.namespaceGiven {
		return usagef("--all checks every namespace: leave out --namespace, and TRANSCRIPTCTL_NAMESPACE in the environment")
	}
	line, cursor, problems := newProgress(s.notes), c.Cursor, c.table(s)
	defer line.clear()
	for reply, err := range s.Verify(ctx, client.Check{WholeStore: c.All, Cursor: c.Cursor, MaxBytesPerSecond: int64(c.Rate)}) {
		line.clear()
		if err != nil {
			c.remarkCursor(s, cursor)
			return err
		}
		cursor = reply.GetCursor()
		if err := c.print(s, problems, reply); err != nil {
			return err
		}
		if reply.GetDone() {
			if !c.All && reply.GetNodesChecked() == 0 && reply.GetProblemsFound() == 0 {
				s.remarkNothing()
			}
			return verdict(reply)
		}
		line.show(c.text(reply))
	}
	return errBadReply
}

// kindName is the name of a kind of problem as operations.md and metrics have it; - for none.
func kindName(kind transcriptv1.ProblemKind) string {
	if kind == transcriptv1.ProblemKind_PROBLEM_KIND_UNSPECIFIED {
		return "-"
	}
	return strings.ToLower(strings.TrimPrefix(kind.String(), "PROBLEM_KIND_"))
}

// remarkCursor tells how a check that ended early goes on, where it got anywhere.
func (c *verifyCommand) remarkCursor(s *session, cursor string) {
	if cursor != "" && cursor != c.Cursor {
		s.remark("the check was not finished; to go on: the same command with --cursor %s", cursor)
	}
}

func verdict(last *transcriptv1.VerifyResponse) error {
	if last.GetProblemsFound() > 0 {
		return errProblems
	}
	return nil
}

// text is how far it has come.
func (c *verifyCommand) text(r *transcriptv1.VerifyResponse) string {
	text := fmt.Sprintf("%s and %s checked, %s", count(r.GetNodesChecked(), "node"),
		entries(r.GetEntriesChecked()), count(r.GetProblemsFound(), "problem"))
	if c.All {
		text = fmt.Sprintf("%s, %s, %s", count(r.GetFilesChecked(), "file"), count(r.GetNamespacesChecked(), "namespace"), text)
	}
	if c.All && r.GetNamespace() != "" {
		text += ", in " + r.GetNamespace()
	}
	return text
}

func entries(n int64) string {
	if n == 1 {
		return "1 index entry"
	}
	return fmt.Sprintf("%d index entries", n)
}

// table is that of the problems.
func (c *verifyCommand) table(s *session) *table {
	if c.All {
		return s.table(left("NAMESPACE"), nodeColumn(), left("KIND").wide(len("settings")), left("PROBLEM"))
	}
	return s.table(nodeColumn(), left("KIND").wide(len("settings")), left("PROBLEM"))
}

// print prints the problems of a report, and the sums where it is the last.
func (c *verifyCommand) print(s *session, problems *table, r *transcriptv1.VerifyResponse) error {
	if s.json {
		if len(r.GetProblems()) == 0 && !r.GetDone() {
			return nil
		}
		return errors.Join(s.printReply(r), s.out.Flush())
	}
	for _, p := range r.GetProblems() {
		cells := []string{orDash(p.GetNamespace()), short(orDash(p.GetNodeId())), kindName(p.GetKind()), visible(p.GetProblem())}
		if !c.All {
			cells = cells[1:]
		}
		if err := problems.row(cells); err != nil {
			return err
		}
	}
	if r.GetDone() {
		return s.printLine("%s", c.text(r))
	}
	return s.out.Flush()
}
