// Package cache keeps what an engine has read or written lately: rows, nodes, aliases and the calls of segments, each by namespace,
// segment and seq, or by id or name. It knows no engine. A snapshot of the engine sees all commits through one, which it names.
package cache

import (
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Sizes bound the caches, in bytes. 0: that cache keeps nothing, but for Calls.
type Sizes struct {
	Rows, Aliases, Calls int64
	// Tips is for nodes that grow, Nodes for others.
	Tips, Nodes int64
}

// Caches are the caches of an engine. They are for use by several goroutines at once, but for Calls.
type Caches struct {
	Rows    *Rows
	Nodes   *Nodes
	Aliases *Aliases
	Calls   *Calls
}

// New is caches of nothing yet, which tell the time by now.
func New(s Sizes, now func() time.Time) *Caches {
	return &Caches{Rows: newRows(s.Rows, now), Nodes: newNodes(s.Tips, s.Nodes), Aliases: newAliases(s.Aliases), Calls: newCalls(s.Calls)}
}

// Forgotten is nodes of a namespace which are no more, or are others: by segment, those from a seq on. Rewritten are nodes whose rows were written
// anew, and that else are as they were.
type Forgotten struct {
	Namespace uint32
	// All says that it is every node of the namespace.
	All       bool
	From      map[uint64]uint32
	Rewritten []chainstore.Place
}

// holds tells whether the node at a place is among them.
func (f *Forgotten) holds(namespace uint32, at chainstore.Place) bool {
	from, ok := f.From[at.Segment]
	return namespace == f.Namespace && (f.All || ok && at.Seq >= from)
}

// Forget makes every cache forget nodes, with the aliases that point to them and the calls of their segments, but for those that were rewritten. It is called once a commit
// that removed or rewrote them is durable, before any snapshot sees that. What snapshots of before have read is not kept any more from then
// on.
func (c *Caches) Forget(commit uint64, f *Forgotten) {
	c.Rows.forget(commit, f)
	c.Nodes.forget(commit, f)
	c.Aliases.forget(commit, f)
	c.Calls.forget(commit, f)
}

// Metrics are those of a cache. Bytes may exceed LimitBytes for a moment, by what is being put; what is larger than the limit is not
// kept. Misses are questions to the engine.
type Metrics struct {
	Bytes, LimitBytes int64
	Hits, Misses      uint64
}
