// Command transcriptd serves transcripts of LLM agents over gRPC. See --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitDamaged = 6
)

func main() { os.Exit(serveUntilSignal()) }

// serveUntilSignal drains on the first SIGINT or SIGTERM; a second one ends the process at once.
func serveUntilSignal() int {
	signalled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, drain := context.WithCancel(context.Background())
	defer drain()
	context.AfterFunc(signalled, func() {
		stop() // from here on a signal has its default effect
		drain()
	})
	return exitCode(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func exitCode(err error) int {
	var usage *usageError
	switch {
	case err == nil, errors.Is(err, errHelpShown):
		return exitOK
	case errors.As(err, &usage):
		if usage.command == "" {
			fmt.Fprintf(os.Stderr, "transcriptd: %v\nRun transcriptd --help for all flags.\n", err)
		} else {
			fmt.Fprintf(os.Stderr, "transcriptd: %v\nRun transcriptd %s --help for its flags.\n", err, usage.command)
		}
		return exitUsage
	case errors.Is(err, errProblems):
		fmt.Fprintf(os.Stderr, "transcriptd: %v\n", err)
		return exitDamaged
	default:
		fmt.Fprintf(os.Stderr, "transcriptd: %v\n", err)
		return exitFailed
	}
}
