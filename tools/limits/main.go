// Command limits holds transcriptd against what the machine, gRPC and the disk allow: limits that are measured in the same run, in
// turns with it. It prints the table of docs/performance.md. Every figure is a ratio of two things that were measured side by side,
// or a count of bytes; none is a time. It needs Linux, and the machine for itself.
//
//	GOWORK=off go -C tools/limits run .
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/transcriptd/transcriptd/tools/limits/internal/limit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "limits: interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "limits:", err)
		os.Exit(1)
	}
}

// limitCommand is the argument with which this program runs a limit in a process of its own.
const limitCommand = "serve-limit"

// offerCommand is the argument with which it offers a load, in a process of its own.
const offerCommand = "offer-puts"

// errUsage: flags are wrong, as was said.
var errUsage = errors.New("wrong flags")

func run(ctx context.Context, args []string, out, notes io.Writer) error {
	if len(args) > 0 && args[0] == limitCommand {
		return limit.Serve(ctx, args[1:], notes)
	}
	if len(args) > 0 && args[0] == offerCommand {
		return offer(ctx, args[1:], out)
	}
	flags := flag.NewFlagSet("limits", flag.ContinueOnError)
	flags.SetOutput(notes)
	var numbers []int
	flags.Func("rows", "measure the rows `N,...` only", func(text string) (err error) {
		numbers, err = parseRows(text)
		return err
	})
	quick := flags.Bool("quick", false, "fewer and shorter rounds, smaller stores: a look")
	asJSON := flags.Bool("json", false, "print a list of {row, what, target, figure, met, void, beside}")
	transcripts := flags.String("transcripts", os.Getenv("TRANSCRIPTS_DIR"), "import the conversations (*.jsonl.gz) in `DIR` for row 22")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(notes, "limits: %q is no flag\n", flags.Arg(0))
		return errUsage
	}
	size := full
	if *quick {
		size = brief
	}
	return measureRows(ctx, size, numbers, *transcripts, newReport(out, notes, *asJSON))
}

func parseRows(text string) (numbers []int, err error) {
	known := func(n int) bool { return slices.ContainsFunc(rows(), func(r row) bool { return r.number == n }) }
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || !known(n) {
			return nil, fmt.Errorf("there is no row %q", word)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// measureRows measures rows of some numbers, or all.
func measureRows(ctx context.Context, size scale, numbers []int, transcripts string, report *report) (err error) {
	e, err := newEnv(ctx, size, transcripts, report.note)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, report.end(), os.RemoveAll(e.dir)) }()
	report.begin(e.machine())
	var failed []error
	for _, r := range rows() {
		if len(numbers) > 0 && !slices.Contains(numbers, r.number) {
			continue
		}
		figures, err := e.measure(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("row %d: %w", r.number, err))
		}
		report.figures(figures)
	}
	return errors.Join(failed...)
}
