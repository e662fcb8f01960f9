// Command transcriptctl writes, reads, draws, imports, exports and checks transcripts in a transcriptd. See --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(runUntilSignal()) }

// runUntilSignal ends calls that run on the first SIGINT or SIGTERM; a second one ends the process at once. A reader
// that went away (SIGPIPE) is seen as an error of the write.
func runUntilSignal() int {
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return report(os.Stderr, run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
