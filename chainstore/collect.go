package chainstore

import (
	"context"
	"math"
)

// Collector deletes the nodes that nobody refers to.
type Collector interface {
	// Collect deletes the nodes of a namespace that nothing keeps. Kept is a node that an alias points to; that a state points to which
	// AliasHistory tells of; that was put, or put again, within Grace, give or take RenewAfter more; and every ancestor of a node that is kept. A
	// link of a spawned node keeps nothing. What a change names while Collect runs is kept, too: it is deleted by a later Collect at the
	// earliest. Children go before their parents, so that a chain is whole at any time, or not there.
	//
	// With DryRun it counts what it would delete, among it perhaps what is named meanwhile, and changes nothing. It calls report at least every few
	// seconds, and once at the end; an error of report ends it. What was deleted before it ended stays deleted, and another Collect goes on with
	// the rest. It waits for other collections of the store, and deletes nothing while anybody has a Hold. What states of aliases AliasHistory does
	// not tell of any more is deleted, too. Errors: ErrCorrupt, and those of Commit from ErrTooLarge on.
	Collect(ctx context.Context, namespace string, c Collection, report func(Collected) error) error
	// Hold keeps every node that is there from being deleted until release is called, which must be. It waits for a commit of Collect
	// that is under way. Who reads a store in several calls, and is to find in the later what the earlier named, holds it meanwhile.
	Hold(ctx context.Context) (release func(), err error)
}

// RenewAfter is how long after a node was put last, in milliseconds, a store notes that it was put again: what was noted may be so much older
// than the last put.
const RenewAfter = 12 * 60 * 60 * 1000

// Collection is what Collect is to do.
type Collection struct {
	DryRun bool
	// Grace, in milliseconds, is how long what was put is kept whatever refers to it. 0: its time does not keep it.
	Grace int64
	// NodesPerSecond bounds what is deleted, on average; 0: nothing does, but for a pause after each commit.
	NodesPerSecond int64
	// May, if not nil, is asked before each commit that deletes nodes, while nobody has a Hold: its error ends the Collect.
	May func(ctx context.Context) error
}

// Permit asks May.
func (c *Collection) Permit(ctx context.Context) error {
	if c.May == nil {
		return nil
	}
	return c.May(ctx)
}

// Cutoff is the time in milliseconds since the epoch, from which on a noted put keeps a node.
func (c *Collection) Cutoff(now int64) int64 {
	if c.Grace == 0 {
		return math.MaxInt64
	}
	return now - c.Grace - RenewAfter
}

// Collected is how far a Collect has come.
type Collected struct {
	Phase CollectPhase
	// Nodes, Messages and MessageBytes are what was deleted, or with DryRun would have been, so far; States, past states of aliases.
	Nodes, Messages, MessageBytes, States int64
	// Left is how much is to be looked at yet, in a unit that only the engine knows, and All the whole.
	Left, All int64
}

// CollectPhase is what a Collect is at.
type CollectPhase uint8

// What a Collect is at.
const (
	// CollectQueued: it waits for another collection.
	CollectQueued CollectPhase = iota
	// CollectMarking: it finds what is kept.
	CollectMarking
	// CollectHeld: it waits until nobody has a Hold.
	CollectHeld
	// CollectSweeping: it finds and deletes what is not.
	CollectSweeping
	// CollectDone: nothing is left to do.
	CollectDone
)

// Reclaimer gives the space back that what was deleted takes.
type Reclaimer interface {
	// Space is what the store's files take, and how much of that is of what was deleted or written over, about.
	Space(ctx context.Context) (Space, error)
	// Reclaim gives space back, in small steps, between which it rests; others may read and write meanwhile. What a read that is open needs stays.
	// What was given back before it ended stays so. It needs room on the disk, and waits for another one. Errors: those of Commit from ErrTooLarge on, and one
	// that says why this build cannot.
	Reclaim(ctx context.Context) error
}

// Space is how many bytes the files of a store take that hold its rows, and how many of these are Dead; both are 0 where there are no files.
type Space struct{ Files, Dead int64 }
