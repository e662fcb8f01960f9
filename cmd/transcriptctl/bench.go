package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/internal/load"
)

type benchCommand struct {
	Mode     string        `default:"mixed" enum:"put,assemble,stream,mixed" help:"What callers ask for: put, assemble, stream or mixed; see below. Default: ${default}."`
	Callers  int           `default:"16" placeholder:"N" help:"How many requests are under way at once, 1 to 10000. Default: ${default}."`
	Turns    int           `default:"100" placeholder:"N" help:"How many turns of four messages, 3.5 KB of text, a chain has, 1 to 100000. Default: ${default}."`
	Duration time.Duration `default:"10s" placeholder:"DURATION" help:"How long requests are begun for. Default: ${default}."`
	Progress bool          `help:"Print a line of progress each second. Without, one that is written over and over, where standard error is a terminal."`
}

func (c *benchCommand) Help() string {
	return `Puts a running transcriptd under load, and tells how many requests it served a second, how long they took, and what became of the others. Each caller waits for its reply before it begins the next request. Modes:

    put        PutNode: each caller appends turn after turn to a chain of its own, and begins another after --turns
    assemble   Assemble of whole chains of --turns, in one reply; at most 1000 turns
    stream     StreamAssemble of whole chains of --turns
    mixed      what an agent does: a PutNode, then a StreamAssemble of the chain so far

What is read is put first, in up to 16 chains, and is then read again and again. Replies are not decoded. A request that fails is not repeated: its caller waits for 100 ms. --timeout is that of each request, a whole stream too. Requests that are under way when the duration is over are waited for; on Ctrl-C they are given up, and the figures so far are printed.

Without --namespace it takes a new one, named bench-… . What it puts stays there until 'transcriptctl namespace delete'. So as not to disturb others, measure a transcriptd on a store of its own, and remove that folder:

    transcriptd --store badger:///tmp/bench &
    transcriptctl bench
    transcriptctl bench --mode put --callers 64 --duration 1m
    transcriptctl bench --mode stream --turns 1000 -o json | jq .rpcs[0].latencyMs.p99`
}

// The most that may be asked for: a caller takes some memory here, a turn 3.5 KB there.
const (
	maxCallers = 10_000
	maxTurns   = 100_000
)

func (c *benchCommand) check() error {
	switch {
	case c.Callers < 1 || c.Callers > maxCallers:
		return usagef("--callers must be from 1 to %d, is %d", maxCallers, c.Callers)
	case c.Turns < 1 || c.Turns > maxTurns:
		return usagef("--turns must be from 1 to %d, is %d", maxTurns, c.Turns)
	case c.Mode == load.Assemble && c.Turns > load.AssembledTurns:
		return usagef("--turns must be at most %d with --mode assemble, whose replies have 4 MiB at most, is %d; see --mode stream",
			load.AssembledTurns, c.Turns)
	case c.Duration <= 0:
		return usagef("--duration must be more than 0, is %s", c.Duration)
	}
	return nil
}

// Run puts the server under load and prints figures, also those of a load that was interrupted.
func (c *benchCommand) Run(ctx context.Context, s *session) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	info, err := s.ServerInfo(ctx)
	if err != nil {
		return err
	}
	if s.namespaceGiven { // which may be none
		if _, err := s.Stats(ctx); err != nil && !errors.Is(err, client.ErrPermissionDenied) {
			return err
		}
	}
	own, err := s.within(fmt.Sprintf("bench-%08x", rand.Uint32()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	l, err := load.New(load.Options{
		Mode: c.Mode, Callers: c.Callers, Turns: c.Turns, Duration: c.Duration, Timeout: s.flags.Timeout,
		Namespace: own.flags.Namespace, Dial: s.connect,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	defer own.remarkLeft(l)
	if err := c.under(ctx, own, l); err != nil {
		return err
	}
	result := benchResult{l.Report(), info.GetServerVersion(), own.flags.Namespace, ctx.Err() != nil}
	return errors.Join(result.print(s), ctx.Err(), l.Fault())
}

// remarkLeft tells what a load leaves behind, if it does.
func (s *session) remarkLeft(l *load.Load) {
	if n := l.Report().Nodes; n > 0 {
		s.remark("%s stay in namespace %s: 'transcriptctl namespace delete %[2]s --confirm %[2]s' deletes it", count(n, "node"), s.flags.Namespace)
	}
}

// under puts the server under load and tells how far it is.
func (c *benchCommand) under(ctx context.Context, s *session, l *load.Load) error {
	line := newProgress(s.notes)
	defer line.clear()
	if err := l.Prepare(ctx, s.Client, func(done, all int) { line.show(fmt.Sprintf("%d of %d turns put", done, all)) }); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Run(ctx)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for before := l.Report(); ; {
		select {
		case <-done:
			return nil
		case <-tick.C:
		}
		now := l.Report()
		if text := progressText(before, now); c.Progress {
			fmt.Fprintln(s.notes, text)
		} else {
			line.show(text)
		}
		before = now
	}
}

// progressText tells of the time since the report before.
func progressText(before, now load.Report) string {
	var served, failed int64
	for i, rpc := range now.RPCs {
		served += rpc.Requests - rpc.Failed - before.RPCs[i].Requests + before.RPCs[i].Failed
		failed += rpc.Failed
	}
	return fmt.Sprintf("progress: %.1f s, %.1f requests/sec, %d failed", now.Seconds, float64(served)/(now.Seconds-before.Seconds), failed)
}

// benchResult is what is printed.
type benchResult struct {
	load.Report
	ServerVersion string `json:"serverVersion"`
	Namespace     string `json:"namespace"`
	Interrupted   bool   `json:"interrupted"`
}

func (r *benchResult) print(s *session) error {
	if s.json {
		return s.printJSON(r)
	}
	rows := [][2]string{
		{"mode", fmt.Sprintf("%s, %s, chains of %s", r.Mode, count(int64(r.Callers), "caller"), count(int64(r.Turns), "turn"))},
		{"server", r.ServerVersion + " at " + s.flags.Addr},
		{"namespace", r.Namespace},
		{"duration", fmt.Sprintf("%.1f s", r.Seconds)},
	}
	err := s.printRows(rows)
	for i := range r.RPCs {
		err = errors.Join(err, s.printLine("\n%s", r.RPCs[i].Name), s.printRows(rpcRows(&r.RPCs[i])))
	}
	return err
}

// rpcRows are the figures of one kind of request, in the words of pgbench and ghz.
func rpcRows(rpc *load.RPC) [][2]string {
	in := func(ms float64) string { return fmt.Sprintf("%.3g ms", ms) }
	rows := [][2]string{
		{"  requests", fmt.Sprint(rpc.Requests)},
		{"  failed", fmt.Sprint(rpc.Failed)},
		{"  requests/sec", fmt.Sprintf("%.1f", rpc.RequestsPerSecond)},
		{"  bytes/sec", size(int64(rpc.BytesPerSecond))},
		{"  latency average", in(rpc.Latency.Average)},
		{"  latency p50", in(rpc.Latency.P50)},
		{"  latency p90", in(rpc.Latency.P90)},
		{"  latency p99", in(rpc.Latency.P99)},
		{"  latency max", in(rpc.Latency.Max)},
	}
	for _, e := range rpc.Errors {
		rows = append(rows, [2]string{"  error " + e.Reason, fmt.Sprint(e.Requests)})
	}
	return rows
}
