// Command sdks measures what calls cost in each SDK, on one transcriptd with a fresh store and default flags, and prints the table of
// docs/performance.md. Each SDK has a process of its own, in turns; a figure is the median of the rounds. It needs Linux, the machine for itself,
// and what the SDKs' run.sh need.
//
//	GOWORK=off go -C tools/limits run ./sdks
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/transcriptd/transcriptd/tools/limits/internal/process"
)

// measureCommand is the argument with which this program measures the SDK in Go.
const measureCommand = "measure"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "sdks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, notes io.Writer) error {
	if len(args) == 3 && args[0] == measureCommand {
		f, err := measure(ctx, args[1], args[2])
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(f)
	}
	flags := flag.NewFlagSet("sdks", flag.ContinueOnError)
	flags.SetOutput(notes)
	rounds := flags.Int("rounds", 3, "how often each SDK is measured")
	deep := flags.Int("deep", 100_000, "the nodes of the chain that is streamed")
	all, err := sdks()
	if err != nil {
		return err
	}
	flags.Func("only", "measure the SDKs `NAME,...` only, beside Go", func(names string) error {
		only := strings.Split(names, ",")
		all = slices.DeleteFunc(all, func(s *sdk) bool { return s != all[0] && !slices.Contains(only, s.name) })
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *rounds < 1 || *deep < early || flags.NArg() > 0 {
		return fmt.Errorf("-rounds is 1 or more, -deep %d or more, and there are no other arguments", early)
	}
	return measureAll(ctx, all, *rounds, *deep, out, notes)
}

// sdk is one that is measured.
type sdk struct {
	name    string
	command []string
	rounds  []figures
}

// sdks are all of them; Go's is what the others are held against.
func sdks() ([]*sdk, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/transcriptd/transcriptd").Output()
	if err != nil {
		return nil, fmt.Errorf("run it with GOWORK=off go -C tools/limits run ./sdks : the module of transcriptd is not found from here: %w", err)
	}
	script := func(language string) string {
		return filepath.Join(strings.TrimSpace(string(root)), "sdk", language, "run.sh")
	}
	return []*sdk{
		{name: "Go", command: []string{self, measureCommand}},
		{name: "Python", command: []string{"bash", script("python"), "bench", "sync"}},
		{name: "Python asyncio", command: []string{"bash", script("python"), "bench", "async"}},
		{name: "TypeScript", command: []string{"bash", script("typescript"), "bench"}},
	}, nil
}

// measureAll starts transcriptd, puts the chains, and measures.
func measureAll(ctx context.Context, all []*sdk, rounds, deep int, out, notes io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "transcriptd-sdks-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := process.Build(ctx, dir, "transcriptd")
	if err != nil {
		return err
	}
	server, err := process.Start(program, "--listen=127.0.0.1:0", "--admin-listen=off", "--store=badger://"+filepath.Join(dir, "store"), "--log-level=error")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	chains, err := put(ctx, server.Addr, deep)
	if err != nil {
		return err
	}
	for round := range rounds {
		for i := range all {
			s := all[(i+round)%len(all)]
			fmt.Fprintf(notes, "round %d: %s\n", round+1, s.name)
			if err := s.measure(ctx, server.Addr, fmt.Sprintf("%s-%d", strings.ReplaceAll(s.name, " ", "-"), round), deep, notes); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	sync, err := process.Fsync(dir)
	if err != nil {
		return err
	}
	return report(out, all, chains, sync)
}

// measure runs the SDK's process once.
func (s *sdk) measure(ctx context.Context, address, name string, deep int, notes io.Writer) error {
	command := exec.CommandContext(ctx, s.command[0], append(slices.Clone(s.command[1:]), address, name)...)
	command.Stderr = notes
	said, err := command.Output()
	if err != nil {
		return err
	}
	var f figures
	if err := json.Unmarshal(said, &f); err != nil {
		return err
	}
	if f.Messages != deep || f.Early == 0 {
		return fmt.Errorf("%d messages came of %d", f.Messages, deep)
	}
	s.rounds = append(s.rounds, f)
	return nil
}
