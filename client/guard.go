package client

import (
	"context"
	"iter"
	"slices"
	"time"
)

// StaleRuns lists the aliases whose last run loop is open, and that are idle for longer than stale (AliasRun.Idle). What nobody asked for (a lead-in) is not among them: no outcome ends it. An error ends the list.
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
	// MoreAliases says that more pointed to the head, or may have: they stay there.
	MoreAliases bool
}

// EndRun ends a run that nobody works on any more: it puts a node without messages and with an outcome behind the
// head, and moves to it, in one commit, all aliases that point to the head, run's and at most 100 others, whatever their names: a
// thread's own and that of its chat are two of them. It does so on condition that each points there still, so it loses to whoever
// works on: ErrAliasMoved, and nothing was written. May be repeated.
func (c *Client) EndRun(ctx context.Context, run *AliasRun, outcome Outcome) (*EndedRun, error) {
	head, err := c.NodeInfo(ctx, ByID(run.NodeId))
	if err != nil {
		return nil, err
	}
	out := &EndedRun{Aliases: head.Aliases, MoreAliases: head.MoreAliases}
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
