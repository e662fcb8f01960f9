package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// StaleRuns lists the aliases whose last run loop is open, and that are idle for longer than stale (AliasRun.Idle). What nobody asked for
// (a lead-in) is not among them: no outcome ends it. An error ends the list.
func (c *Client) StaleRuns(ctx context.Context, scope AliasScope, stale time.Duration) iter.Seq2[*AliasRun, error] {
	return func(yield func(*AliasRun, error) bool) {
		for run, err := range c.AliasRuns(ctx, scope, true) {
			if err == nil && (run.Loop.LeadIn || run.Idle() <= stale) {
				continue
			}
			if !yield(run, err) {
				return
			}
		}
	}
}

// EndedRun is a run that was ended.
type EndedRun struct {
	// NodeID is the node with the outcome.
	NodeID string
	// Aliases are those that point to it now, and pointed to the head of the run before.
	Aliases []string
	// MoreAliases says that more point to the head, or may: one of them moved meanwhile, or they are too many to be found.
	MoreAliases bool
}

// EndRun ends a run that nobody works on any more: it puts a node without messages and with an outcome behind the
// head, and moves to it, in one commit, run's alias and 100 others that point to the head, whatever their names: a thread's own and
// that of its chat are two of them. Where more point there, further commits move those. It does so on condition that each points
// there still, so it loses to whoever works on: ErrAliasMoved, and nothing was written. May be repeated.
func (c *Client) EndRun(ctx context.Context, run *AliasRun, outcome Outcome) (*EndedRun, error) {
	out, err := c.endSome(ctx, run, outcome)
	for err == nil && out.MoreAliases {
		var next *EndedRun
		next, err = c.endSome(ctx, run, outcome)
		if errors.Is(err, ErrAliasMoved) || err == nil && len(next.Aliases) == 1 { // what was ended stays so
			return out, nil
		}
		if err == nil {
			others := slices.DeleteFunc(next.Aliases, func(name string) bool { return name == run.Name })
			out.Aliases, out.MoreAliases = append(out.Aliases, others...), next.MoreAliases
		}
	}
	return out, err
}

// endSome makes one commit of EndRun: it moves run's alias, unless it was moved before, with those others that are told of the head.
func (c *Client) endSome(ctx context.Context, run *AliasRun, outcome Outcome) (*EndedRun, error) {
	head, err := c.NodeInfo(ctx, ByID(run.NodeId))
	if err != nil {
		return nil, err
	}
	out := &EndedRun{Aliases: head.Aliases, MoreAliases: head.HasMoreAliases}
	if !slices.Contains(out.Aliases, run.Name) { // one of more than are told, or it moved and is refused
		out.Aliases = append([]string{run.Name}, out.Aliases...)
	}
	node := ended(outcome, nil)
	node.Parent = ByID(run.NodeId)
	for _, name := range out.Aliases {
		node.Aliases = append(node.Aliases, AliasUpdate{Name: name, If: HeadIs(run.NodeId)})
	}
	res, err := c.Put(ctx, node)
	if err != nil {
		return nil, err
	}
	out.NodeID = res.NodeId
	return out, nil
}
