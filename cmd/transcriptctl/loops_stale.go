package main

import (
	"context"
	"errors"
	"fmt"
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
	NodeID      string  `json:"node_id"`
	StartedAt   string  `json:"started_at"`
	LastPutAt   string  `json:"last_put_at"`
	IdleSeconds float64 `json:"idle_seconds"`
	// Fate is "ended" or "moved_on"; empty where nothing is to be ended.
	Fate    string   `json:"fate,omitempty"`
	Outcome string   `json:"outcome,omitempty"`
	EndedBy string   `json:"ended_by,omitempty"`
	Aliases []string `json:"aliases,omitempty"`
}

// guard goes through the stale runs under a prefix.
type guard struct {
	s    *session
	end  string
	line *progress
	// seen are the heads that were ended with all their aliases.
	seen                map[string]bool
	stale, ended, moved int64
}

// stale lists stale runs, and ends them where that is asked for.
func (c *loopsCommand) stale(ctx context.Context, s *session) error {
	g := &guard{s: s, end: c.End, line: newProgress(s.notes), seen: map[string]bool{}}
	defer g.line.clear()
	limit := uint(0)
	if c.Limit != nil {
		limit = *c.Limit
	}
	runs := func(yield func(*client.AliasRun, error) bool) {
		for run, err := range s.StaleRuns(ctx, client.AliasesWithPrefix(c.Ref), *c.Stale) {
			if err == nil && g.seen[run.NodeId] {
				continue // ended with the alias before
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
		return s.remarkEmpty(ctx)
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
	names, fate := name(run.Name), ""
	if g.end != "" {
		ended, err := g.s.EndRun(ctx, run, client.Outcome(g.end))
		switch {
		case errors.Is(err, client.ErrAliasMoved):
			g.moved++
			l.Fate, fate = "moved_on", "moved on  "
		case err != nil:
			return fmt.Errorf("%s: %w", name(run.Name), err)
		default:
			g.ended++
			g.seen[run.NodeId] = !ended.MoreAliases
			l.Fate, l.Outcome, l.EndedBy, l.Aliases = "ended", g.end, ended.NodeID, ended.Aliases
			names, fate = joined(ended), g.end+"  "
		}
	}
	g.line.clear()
	defer g.line.show(fmt.Sprintf("%d stale, %d ended", g.stale, g.ended))
	return g.s.printJSONOr(l, fmt.Sprintf("%s  %s  idle %s  %s%s", short(run.NodeId), clock(run.Loop.GetStartedAt()),
		run.Idle().Round(time.Second), fate, names))
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
