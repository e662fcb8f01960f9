package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/client"
)

// staleFlags make loops a guard: it lists runs of many chains that nobody works on any more, and ends them.
type staleFlags struct {
	Stale *time.Duration `placeholder:"DURATION" help:"List the aliases whose run is open, and behind which nothing was put for longer, such as 1h, in all chains or, with a PREFIX in place of REF, in those of the aliases that begin with it."`
	End   string         `default:"" enum:"replied,stopped,failed,cancelled," placeholder:"OUTCOME" help:"With --stale: end these runs, as replied, stopped, failed or cancelled. Who works on meanwhile wins."`
}

// check refuses flags that do not go together.
func (c *loopsCommand) check() error {
	switch {
	case c.Stale == nil && c.End != "":
		return usagef("--end needs --stale DURATION")
	case c.Stale == nil && c.Ref == "":
		return usagef("name a REF, or give --stale DURATION")
	case c.Stale != nil && *c.Stale < 0:
		return usagef("--stale must not be negative, is %s", *c.Stale)
	case c.Stale != nil && (c.Redact || c.Chars != 0):
		return usagef("--redact and --argument-chars are for the run loops of a REF, not for --stale")
	}
	return nil
}

// staleLine is a stale run as json has it.
type staleLine struct {
	Alias       string  `json:"alias"`
	NodeID      string  `json:"nodeId"`
	StartedAt   string  `json:"startedAt"`
	LastPutAt   string  `json:"lastPutAt"`
	IdleSeconds float64 `json:"idleSeconds"`
	// Fate is "ended" or "movedOn"; empty where nothing is to be ended.
	Fate    string   `json:"fate,omitempty"`
	Outcome string   `json:"outcome,omitempty"`
	EndedBy string   `json:"endedBy,omitempty"`
	Aliases []string `json:"aliases,omitempty"`
}

// guard goes through the stale runs under a prefix.
type guard struct {
	s    *session
	end  string
	line *progress
	// table is what is printed.
	table *table
	// seen are the heads that were ended with all their aliases.
	seen                map[string]bool
	stale, ended, moved int64
}

// stale lists stale runs, and ends them where that is asked for.
func (c *loopsCommand) stale(ctx context.Context, s *session) error {
	prefix, err := plainAlias(c.Ref)
	if err != nil {
		return usagef("PREFIX %w", err)
	}
	g := &guard{s: s, end: c.End, line: newProgress(s.notes), seen: map[string]bool{}}
	defer g.line.clear()
	columns := []column{nodeColumn(), timeColumn("STARTED"), left("IDLE").wide(len("100h00m00s")), left("FATE").wide(len("cancelled")), left("ALIAS")}
	if c.End == "" {
		columns = slices.Delete(columns, 3, 4)
	}
	g.table = s.table(columns...)
	limit := uint(0)
	if c.Limit != nil {
		limit = *c.Limit
	}
	runs := func(yield func(*client.AliasRun, error) bool) {
		for run, err := range s.StaleRuns(ctx, client.AliasesWithPrefix(prefix), *c.Stale) {
			if err == nil && (g.seen[run.NodeId] || !c.has(run.Loop.GetLastPutAt())) {
				continue // ended with the alias before, or idle since longer than is asked for
			}
			if !yield(run, err) {
				return
			}
		}
	}
	n, err := printSome(s, runs, limit, func(run *client.AliasRun) error { return g.run(ctx, run) })
	g.line.clear()
	switch {
	case err != nil:
		return err
	case n == 0:
		return s.remarkNone(ctx, aliasPrefix(prefix))
	case g.end == "":
		s.remark("%d listed; --end OUTCOME ends their runs", g.stale)
	default:
		s.remark("%s ended, %d moved on", count(g.ended, "run"), g.moved)
	}
	return nil
}

// run prints a stale run, and ends it where that is asked for.
func (g *guard) run(ctx context.Context, run *client.AliasRun) error {
	g.stale++
	l := &staleLine{
		Alias: run.Name, NodeID: run.NodeId, StartedAt: exact(run.Loop.GetStartedAt()), LastPutAt: exact(run.Loop.GetLastPutAt()),
		IdleSeconds: run.Idle().Seconds(),
	}
	cells := []string{short(run.NodeId), clock(run.Loop.GetStartedAt()), run.Idle().Round(time.Second).String()}
	names := name(run.Name)
	if g.end != "" {
		ended, err := g.s.EndRun(ctx, run, client.Outcome(g.end))
		switch {
		case errors.Is(err, client.ErrAliasMoved):
			g.moved++
			l.Fate = "movedOn"
			cells = append(cells, "moved on")
		case err != nil:
			return fmt.Errorf("%s: %w", name(run.Name), err)
		default:
			g.ended++
			g.seen[run.NodeId] = !ended.MoreAliases
			l.Fate, l.Outcome, l.EndedBy, l.Aliases = "ended", "RUN_OUTCOME_"+strings.ToUpper(g.end), ended.NodeID, ended.Aliases
			names = joined(ended)
			cells = append(cells, g.end)
		}
	}
	g.line.clear()
	defer g.line.show(fmt.Sprintf("%d stale, %d ended", g.stale, g.ended))
	return g.table.print(l, append(cells, names)...)
}

// joined are the aliases of a run that was ended.
func joined(e *client.EndedRun) string {
	names := make([]string, len(e.Aliases))
	for i, alias := range e.Aliases {
		names[i] = name(alias)
	}
	if e.MoreAliases {
		names = append(names, "and perhaps more that stay")
	}
	return strings.Join(names, ", ")
}

// exact is a time to the millisecond, as json has it.
func exact(t *timestamppb.Timestamp) string {
	return t.AsTime().UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
