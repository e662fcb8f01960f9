// Command transcriptctl writes, reads, draws, imports, exports and checks transcripts in a transcriptd. See --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(runUntilSignal()) }

// runUntilSignal ends calls that run on the first SIGINT, SIGTERM or, but under nohup, SIGHUP; a second one ends the process
// at once. A reader that went away (SIGPIPE) is seen as an error of the write.
func runUntilSignal() int {
	signal.Ignore(syscall.SIGPIPE)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return report(os.Stderr, run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
