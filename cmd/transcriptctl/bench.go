package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/transcriptd/transcriptd/internal/bench"
)

type benchCommand struct {
	Rows        rowNumbers `placeholder:"N,..." help:"Measure these rows of the table only."`
	Quick       bool       `help:"Fewer and shorter rounds, smaller stores: a look, in under ten minutes; rows that it has not begun after eight are void."`
	Restless    bool       `help:"Row 25: no rest between its loads, which last 8 seconds instead of 3, as of a server that is under load for minutes; its figures are void, since what the table says is not of that."`
	JSON        bool       `name:"json" help:"Print a list of {row, what, target, figure, met, void} and what went into each figure."`
	Dir         string     `placeholder:"DIR" type:"existingdir" help:"Put stores here, on the disk that is to be measured. Default: the system's folder for temporary files."`
	Transcriptd string     `placeholder:"FILE" help:"The program to measure. Default: the one beside transcriptctl, else built from the module in the current folder, else the one on PATH."`
	Transcripts string     `placeholder:"DIR" env:"TRANSCRIPTS_DIR" help:"Import the conversations (*.jsonl.gz) in this folder for row 22. Default: row 22 is void."`
	Profile     string     `placeholder:"DIR" help:"Write profiles of server and client here, for all rows but 16 to 19, 21 and 24, which count bytes; see below."`
}

// overloadRow is the row that --restless is of.
const overloadRow = 25

// rowNumbers are rows of the table.
type rowNumbers []int

// UnmarshalText adds numbers with commas between. Each must be of a row, and there must be one: who names none wants none.
func (r *rowNumbers) UnmarshalText(text []byte) error {
	all := bench.Numbers()
	for word := range strings.SplitSeq(string(text), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || !slices.Contains(all, n) {
			return fmt.Errorf("there is no row %q: rows are %d to %d, with commas between", word, all[0], all[len(all)-1])
		}
		*r = append(*r, n)
	}
	return nil
}

func (c *benchCommand) Help() string {
	return `Holds a transcriptd, in a process of its own on a fresh store, against what the machine allows: a gRPC server that answers the same bytes from memory, a gRPC echo, bare Badger, a bare log. Each figure is the median of ratios of sides that were measured in turns in this run, or a count of bytes. docs/performance.md tells what each means.

It takes the whole machine; nothing else should be at work. What depends on the disk is void where the disk does not sync: fsync is measured before each such row.

A row that fails is void, and says why; the others are measured all the same, and the exit code tells of the first that failed. A transcriptd that ends by itself, or a server elsewhere that is gone or silent, ends the run. Calls have no deadline, which would be measured with them; a row in which nothing is answered for --timeout ends. Calls on row 23's connections have a minute and row 25's puts a second, whatever --timeout says.

With --addr, or TRANSCRIPTCTL_ADDR, it measures the server there, in namespaces named bench-…, which stay. What needs a limit beside it, the server's process or its files is void then. Where sides have a process each, one that puts is measured once its process is at rest, which is waited for for a minute; a figure's "busy" is how often that was in vain. A server elsewhere is not waited for.

--profile takes profiles of each side that was measured in turns with others when its rounds are over, with nothing else at work but the puts of row 15, so those figures stay what they are; of the put behind 10,000 turns (13) too; and of 60 starts, a file for each, before the first read (3). Of the end of the load (20), the active streams (23) and each flood (25) it takes them while they are measured: do not trust these figures then. The client of an import (22) is another process, and the server beside putting callers (15) is no transcriptd: neither is profiled. docs/performance.md tells how to read the files.

    transcriptctl bench
    transcriptctl bench --quick --rows 1,4,9
    transcriptctl bench --json > figures.json`
}

// Run measures and prints a table, or a list.
func (c *benchCommand) Run(ctx context.Context, s *session) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if c.Transcriptd != "" && !s.addrGiven {
		if _, err := bench.Program(ctx, c.Transcriptd, ""); err != nil {
			return usagef("--transcriptd %s: %w", c.Transcriptd, err)
		}
	}
	if c.Restless && len(c.Rows) > 0 && !slices.Contains(c.Rows, overloadRow) {
		return usagef("--restless is of row %d, which --rows leaves out", overloadRow)
	}
	o := bench.Options{
		Timeout: s.flags.Timeout, Rows: c.Rows, Quick: c.Quick, Restless: c.Restless, Transcriptd: c.Transcriptd, Dir: c.Dir, Profile: c.Profile, Transcripts: c.Transcripts,
		Limit: []string{self, "bench-limit"}, Import: []string{self, "import", "--timeout=" + s.flags.Timeout.String()}, Notes: s.notes,
	}
	if s.addrGiven {
		o.Remote = s.flags.Addr
	}
	if c.JSON || s.json {
		return c.list(ctx, s, o)
	}
	return c.table(ctx, s, o)
}

func (c *benchCommand) list(ctx context.Context, s *session, o bench.Options) error {
	figures := []bench.Figure{}
	err := bench.Run(ctx, o, func(m bench.Machine) {
		fmt.Fprintln(s.notes, machineLines(m, o.Remote))
	}, func(f bench.Figure) { figures = append(figures, f) })
	return errors.Join(err, s.printJSON(figures))
}

// table prints each figure as soon as it is there, then how many were met. Where it cannot print, it ends the run.
func (c *benchCommand) table(ctx context.Context, s *session, o bench.Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	count := map[string]int{}
	var fault error
	print := func(format string, args ...any) {
		if fault == nil {
			fault = errors.Join(s.printLine(format, args...), s.out.Flush())
		}
		if fault != nil {
			cancel()
		}
	}
	err := bench.Run(ctx, o, func(m bench.Machine) {
		print("%s\n\n%3s  %-72s  %-16s  %9s  %s", machineLines(m, o.Remote), "row", "what", "target", "figure", "met")
	}, func(f bench.Figure) {
		count[benchVerdict(f)]++
		print("%3d  %-72s  %-16s  %9s  %s", f.Row, f.What, f.Target, figureText(f), benchVerdict(f))
		for _, line := range measuredLines(f) {
			print("       %s", line)
		}
	})
	if fault != nil {
		return fault
	}
	if len(count) == 0 {
		return err
	}
	return errors.Join(err, s.printLine("\n%d met, %d not, %d void", count["yes"], count["NO"], count["void"]))
}

// machineLines tell of this machine, and of a server elsewhere that it runs there; and what is measured.
func machineLines(m bench.Machine, remote string) string {
	line := fmt.Sprintf("fsync %.0f us (median, %s), %s, %d processors, %s", m.Fsync, m.Dir, m.OS, m.CPUs, m.GoVersion)
	if remote != "" {
		line += "; all of that here, and not where " + remote + " runs"
	}
	return line + "\n" + m.Transcriptd
}

func benchVerdict(f bench.Figure) string {
	switch {
	case f.Void:
		return "void"
	case f.Met:
		return "yes"
	default:
		return "NO"
	}
}

func figureText(f bench.Figure) string {
	if f.Void && f.Figure == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4g", f.Figure)
}

// measuredLines tell what went into a figure.
func measuredLines(f bench.Figure) (lines []string) {
	if f.Low != 0 || f.High != 0 {
		lines = append(lines, fmt.Sprintf("half of the rounds: %.3g to %.3g", f.Low, f.High))
	}
	if f.Busy > 0 {
		lines = append(lines, fmt.Sprintf("%d times a process was still at work when the next thing was measured", f.Busy))
	}
	for _, m := range f.Measured {
		var parts []string
		if m.Callers > 0 {
			parts = append(parts, fmt.Sprintf("%d at once, p50 %.3g ms, p99 %.3g ms, %.4g/s", m.Callers, m.P50, m.P99, m.PerSecond))
		}
		if m.Unit != "" {
			parts = append(parts, fmt.Sprintf("%.5g %s", m.Value, m.Unit))
		}
		lines = append(lines, m.Name+": "+strings.Join(parts, ", "))
	}
	if f.Why != "" {
		lines = append(lines, f.Why)
	}
	return lines
}

// benchLimitCommand is what bench runs in processes of their own.
type benchLimitCommand struct {
	Args []string `arg:"" passthrough:""`
}

// Run serves a limit until it is interrupted.
func (c *benchLimitCommand) Run(ctx context.Context, s *session) error {
	return bench.ServeLimit(ctx, c.Args, s.notes)
}
