package derive

import (
	"bytes"
	"slices"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Calls answers, for the folds of one node, whether an ancestor has a call of an id. The first question looks all
// of the node's ids up at once, so that a node with many calls below many forks costs a walk over the forks and not
// one for each call.
type Calls struct {
	parent Node
	node   []runloop.Facts
	find   Finder
	// called has the answers, once there was a question. It does not change then.
	called map[CallKey]bool
	failed error
}

// Finder looks for calls on the path to a node that has some on it. It notes those of the ids, which are in order, that an ancestor
// or the node itself has a call of, and may change the slice.
type Finder interface {
	FindCalls(through Node, ids []CallKey, called map[CallKey]bool) error
}

// CallsBefore are the calls before a node of these messages under a parent, no node for a root.
func CallsBefore(parent Node, node []runloop.Facts, find Finder) *Calls {
	return &Calls{parent: parent, node: node, find: find}
}

// has is a runloop.Earlier; after a failure it says no.
func (c *Calls) has(id runloop.Optional) bool {
	if c.parent.Header == nil || !c.parent.Header.Tools.Present || c.failed != nil {
		return false
	}
	if c.called == nil {
		if c.search(); c.failed != nil {
			return false
		}
	}
	return c.called[KeyOf(id)]
}

// search finds the answers, unless it fails: of the group that the parent ends in it is known that ancestors have its calls.
func (c *Calls) search() {
	called := map[CallKey]bool{}
	if !c.copied() {
		for _, call := range c.parent.Header.State.Group.Calls {
			called[KeyOf(call.ID)] = true
		}
	}
	open := slices.DeleteFunc(callKeys(c.node), func(key CallKey) bool { return called[key] })
	if c.failed = c.find.FindCalls(c.parent, open, called); c.failed == nil {
		c.called = called
	}
}

// answered tells whether the call that a result of the node answers, or would if it were not left out, lies in an ancestor or in
// the node. It does, unless it is a copy: of what was put elsewhere there may be no original on the path.
func (c *Calls) answered(id runloop.Optional) bool { return !c.copied() || c.has(id) }

// copied tells whether the group that the parent ends in may be a compaction node's, of copies. Behind a node with calls the
// group is that node's, since a compaction node ends with no call unanswered (chainstore.Compaction).
func (c *Calls) copied() bool {
	if c.parent.Header == nil {
		return false
	}
	h := c.parent.Header
	return h.Compaction.Present && !(h.Tools.Present && h.Tools.Seq > h.Compaction.Seq)
}

// callKeys are the keys of the ids of calls and results, each once, in order.
func callKeys(messages []runloop.Facts) []CallKey {
	var keys []CallKey
	for i := range messages {
		for _, c := range messages[i].Calls {
			keys = append(keys, KeyOf(c.ID))
		}
		if messages[i].Role == runloop.Tool {
			keys = append(keys, KeyOf(messages[i].CallID))
		}
	}
	slices.SortFunc(keys, CompareKeys)
	return slices.Compact(keys)
}

// CompareKeys orders keys by their bytes.
func CompareKeys(a, b CallKey) int { return bytes.Compare(a[:], b[:]) }
