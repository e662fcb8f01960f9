package cache

import (
	"sync"
	"sync/atomic"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Node is what is known of a node. It never changes: one of which more becomes known gets a new one.
type Node struct {
	Namespace uint32
	At        chainstore.Place
	Header    *chainstore.Header
	// Lineage is that of the chain that ends here; shared by the nodes of a segment but for its head. nil: it is not known.
	Lineage *chainstore.Lineage
	// IsTip says that all is known that it takes to append: the lineage, Tables (nil: the path has none), and HasChild: whether the
	// place behind this one was used.
	IsTip, HasChild bool
	Tables          *chainstore.Tables
}

// NodeKey names a node by its id, NodePlace by where it lies.
type (
	NodeKey struct {
		Namespace uint32
		ID        chainstore.ID
	}
	NodePlace struct {
		Namespace uint32
		At        chainstore.Place
	}
)

// Key and Place name the node.
func (n *Node) Key() NodeKey     { return NodeKey{n.Namespace, n.Header.ID} }
func (n *Node) Place() NodePlace { return NodePlace{n.Namespace, n.At} }

// Size is roughly the memory that n takes.
func (n *Node) Size() int64 {
	h := n.Header
	size := 1024 + 208*len(h.Messages) + 24*len(h.Provenance) + h.State.Group.Size() + 48*len(h.State.Group.Calls)
	for i := range h.Messages {
		for _, call := range h.Messages[i].Mark.Stubs {
			size += 48 + len(call.ID.Value) + len(call.Name.Value)
		}
		for _, name := range h.Messages[i].Names {
			size += 24 + len(name.Value)
		}
	}
	if n.Lineage != nil {
		size += 16 * len(n.Lineage.Forks)
	}
	if t := n.Tables; t != nil {
		for i := range t.Tools {
			size += 48 + len(t.Tools[i].Name.Value)
		}
		for i := range t.Variables {
			size += 24 + len(t.Variables[i].Name)
		}
	}
	return int64(size)
}

// Nodes keeps the nodes that were put, or that chains were read from or grew from, lately, bounded by their size. Most of it is for
// tips, which the next put of a conversation needs; a node that has a child, or that was only read, is used again by who forks
// there, repeats a put, gives it a name or reads it, and has the rest with others of its kind: so an export pushes out no tip.
//
// What it keeps of a place stays right until it is forgotten. Where a node lies is right for a snapshot that is no older than one that
// found it: an older one must not find it. nil keeps nothing.
type Nodes struct {
	mu           sync.Mutex
	tips, others *lru[NodePlace, *Node]
	places       map[NodeKey]foundPlace
	// forgotten is the last commit that forgot something.
	forgotten uint64

	hits, misses atomic.Uint64
}

// foundPlace is where a node lies, as snapshots that see a commit find it.
type foundPlace struct {
	at    chainstore.Place
	since uint64
}

func newNodes(tips, others int64) *Nodes {
	if tips <= 0 {
		return nil
	}
	c := &Nodes{tips: newLRU[NodePlace, *Node](tips), others: newLRU[NodePlace, *Node](others), places: map[NodeKey]foundPlace{}}
	for _, l := range []*lru[NodePlace, *Node]{c.tips, c.others} {
		l.dropped = func(n *Node) { delete(c.places, n.Key()) }
	}
	return c
}

// Find returns what is known of a node to a snapshot that sees a commit; nil where it is not kept. It counts no miss: there may be no
// such node.
func (c *Nodes) Find(key NodeKey, seen uint64) *Node {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.places[key]
	if !ok || found.since > seen {
		return nil
	}
	return c.used(NodePlace{key.Namespace, found.at})
}

// At returns what is known of the node at a place; nil where it is not kept.
func (c *Nodes) At(where NodePlace) *Node {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used(where)
}

// used is At, with mu held.
func (c *Nodes) used(where NodePlace) *Node {
	n := c.tips.get(where)
	if n == nil {
		n = c.others.get(where)
	}
	if n != nil {
		c.hits.Add(1)
	}
	return n
}

// PlaceOf is where a node lies in a snapshot that sees a commit; ok is false where that is not kept.
func (c *Nodes) PlaceOf(key NodeKey, seen uint64) (at chainstore.Place, ok bool) {
	if c == nil {
		return at, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.places[key]
	return found.at, ok && found.since <= seen
}

// Offer keeps a node that a snapshot that sees a commit has read, unless as much is known of it by now.
func (c *Nodes) Offer(n *Node, seen uint64) {
	if c == nil {
		return
	}
	c.misses.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	there := c.tips.peek(n.Place())
	if there == nil {
		there = c.others.peek(n.Place())
	}
	if seen < c.forgotten || there != nil && (there.Lineage != nil || n.Lineage == nil) {
		return
	}
	c.keep(n, seen)
}

// Put keeps what who commits knows of a node, as of a commit, in place of what was known before.
func (c *Nodes) Put(n *Node, commit uint64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(n, commit)
}

// keep is Put, with mu held.
func (c *Nodes) keep(n *Node, since uint64) {
	if found, ok := c.places[n.Key()]; ok {
		since = min(since, found.since)
	}
	in, other := c.tips, c.others
	if !n.IsTip || n.HasChild {
		in, other = other, in
	}
	other.drop(n.Place())
	c.places[n.Key()] = foundPlace{n.At, since} // first: it goes again if the node is too large to be kept
	in.put(n.Place(), n, n.Size())
}

func (c *Nodes) forget(commit uint64, f *Forgotten) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten = max(c.forgotten, commit)
	for _, l := range []*lru[NodePlace, *Node]{c.tips, c.others} {
		l.dropWhere(func(where NodePlace) bool { return f.holds(where.Namespace, where.At) })
		for _, at := range f.Rewritten {
			l.drop(NodePlace{f.Namespace, at})
		}
	}
}

// Metrics are those of nodes.
func (c *Nodes) Metrics() Metrics {
	if c == nil {
		return Metrics{}
	}
	return Metrics{
		Bytes: c.tips.size.Load() + c.others.size.Load(), LimitBytes: c.tips.limit + c.others.limit, Hits: c.hits.Load(), Misses: c.misses.Load(),
	}
}
