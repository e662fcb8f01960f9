package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type verifyCommand struct{}

func (c *verifyCommand) Help() string {
	return `Problems go to standard output, a line each; progress to standard error where that is a terminal. Exit code 6 where there are problems. Examples:

    transcriptctl verify
    transcriptctl verify --namespace team-a --output json`
}

// Run checks a namespace.
func (c *verifyCommand) Run(ctx context.Context, s *session) error {
	line := newProgress(s.notes)
	defer line.clear()
	for reply, err := range s.Verify(ctx) {
		if err != nil {
			return err
		}
		line.clear()
		if err := s.printVerify(reply); err != nil {
			return err
		}
		if reply.GetDone() {
			return verdict(reply)
		}
		line.show(verifyText(reply))
	}
	return client.ErrBadReply
}

func verdict(last *transcriptv1.VerifyResponse) error {
	if last.GetProblemsFound() > 0 {
		return errProblems
	}
	return nil
}

func verifyText(r *transcriptv1.VerifyResponse) string {
	return fmt.Sprintf("%s and %s checked, %s", count(r.GetNodesChecked(), "node"),
		entries(r.GetEntriesChecked()), count(r.GetProblemsFound(), "problem"))
}

func entries(n int64) string {
	if n == 1 {
		return "1 index entry"
	}
	return fmt.Sprintf("%d index entries", n)
}

// printVerify prints the problems of a report, and the sums where it is the last.
func (s *session) printVerify(r *transcriptv1.VerifyResponse) error {
	if s.json {
		if len(r.GetProblems()) == 0 && !r.GetDone() {
			return nil
		}
		return errors.Join(s.printReply(r), s.out.Flush())
	}
	for _, p := range r.GetProblems() {
		if err := s.printLine("%-*s  %s", shortDigits, short(orDash(p.GetNodeId())), visible(p.GetProblem())); err != nil {
			return err
		}
	}
	if r.GetDone() {
		return s.printLine("%s", verifyText(r))
	}
	return s.out.Flush()
}
