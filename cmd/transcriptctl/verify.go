package main

import (
	"context"
	"errors"
	"fmt"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type verifyCommand struct {
	All bool `help:"Check the whole store: every namespace, the files, and rows that no namespace has."`
}

func (c *verifyCommand) Help() string {
	return `Problems go to standard output, a line each: the namespace with --all, the node, and what is wrong; - is for none. Progress goes to standard error where that is a terminal. Exit code 6 where there are problems. Examples:

    transcriptctl verify
    transcriptctl verify --namespace team-a --output json
    transcriptctl verify --all`
}

// Run checks a namespace, or the whole store.
func (c *verifyCommand) Run(ctx context.Context, s *session) error {
	reports := s.Verify(ctx)
	if c.All {
		if s.flags.Namespace != "" {
			return usagef("--all checks every namespace: leave out --namespace, and TRANSCRIPTCTL_NAMESPACE in the environment")
		}
		reports = s.VerifyStore(ctx)
	}
	line := newProgress(s.notes)
	defer line.clear()
	for reply, err := range reports {
		if err != nil {
			return err
		}
		line.clear()
		if err := c.print(s, reply); err != nil {
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

// print prints the problems of a report, and the sums where it is the last.
func (c *verifyCommand) print(s *session, r *transcriptv1.VerifyResponse) error {
	if s.json {
		if len(r.GetProblems()) == 0 && !r.GetDone() {
			return nil
		}
		return errors.Join(s.printReply(r), s.out.Flush())
	}
	for _, p := range r.GetProblems() {
		where := ""
		if c.All {
			where = orDash(p.GetNamespace()) + "  "
		}
		if err := s.printLine("%s%-*s  %s", where, shortDigits, short(orDash(p.GetNodeId())), visible(p.GetProblem())); err != nil {
			return err
		}
	}
	if r.GetDone() {
		return s.printLine("%s", c.text(r))
	}
	return s.out.Flush()
}
