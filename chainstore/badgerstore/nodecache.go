package badgerstore

import (
	"sync/atomic"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// known is what the committer keeps of a node to continue its chain, or to name it. It never changes; a node of which
// more becomes known gets a new one.
type known struct {
	ns       uint32
	at       chainstore.Place
	id       chainstore.ID
	firstPut int64
	state    runloop.State
	forks    uint32

	tools, variables, compaction, spawned chainstore.Link
	// covers is a compaction node's own.
	covers chainstore.Link

	// lineage is that of the chain that ends here; shared by the nodes of a segment but for its head. It and what follows is known of
	// ends alone.
	lineage *chainstore.Lineage
	// toolTable and variableTable are the tables at tools and variables, where there are any.
	toolTable     *toolTable
	variableTable []chainstore.Variable
	// end says that all of that is known, and continued: whether the place behind this one was used.
	end, continued bool
}

// size is roughly the memory that n takes.
func (n *known) size() int64 {
	size := 640 + n.state.Group.Size() + 48*len(n.state.Group.Calls)
	if n.lineage != nil {
		size += 16 * len(n.lineage.Forks)
	}
	if n.toolTable != nil {
		size += n.toolTable.size()
	}
	for _, v := range n.variableTable {
		size += 24 + len(v.Name)
	}
	return int64(size)
}

func knownOf(ns uint32, at chainstore.Place, h *chainstore.Header) *known {
	return &known{
		ns: ns, at: at, id: h.ID, firstPut: h.FirstPut, state: h.State, forks: h.Forks,
		tools: h.Tools, variables: h.Variables, compaction: h.Compaction, spawned: h.Spawned,
		covers: h.Covers,
	}
}

// childless tells whether it is known that the node has no children. The first child takes the place behind it.
func (n *known) childless() bool { return n.end && !n.continued }

type nodeKey struct {
	ns uint32
	id chainstore.ID
}

type nodePlace struct {
	ns uint32
	at chainstore.Place
}

func (n *known) key() nodeKey     { return nodeKey{n.ns, n.id} }
func (n *known) where() nodePlace { return nodePlace{n.ns, n.at} }

// nodeCache keeps the nodes that were put or used last, bounded by their size. Nearly all of it is for the ends of chains,
// which the next put of a conversation needs; a node that was continued is used again by who forks there, repeats a put
// or gives it a name, and has little room with others of its kind. It is the committer's.
type nodeCache struct {
	ends, continued *lru[nodeKey, *known]
	places          map[nodePlace]nodeKey

	hits, misses atomic.Uint64 // may be read by anyone at any time
}

// continuedShare is the share of the cache that is for nodes that were continued: one over this.
const continuedShare = 8

func newNodeCache(limit int64) *nodeCache {
	continued := limit / continuedShare
	c := &nodeCache{
		ends: newLRU[nodeKey, *known](limit - continued), continued: newLRU[nodeKey, *known](continued),
		places: map[nodePlace]nodeKey{},
	}
	for _, l := range []*lru[nodeKey, *known]{c.ends, c.continued} {
		l.dropped = func(n *known) { delete(c.places, n.where()) }
	}
	return c
}

// get returns what is known of a node; nil where it is not kept.
func (c *nodeCache) get(key nodeKey) *known {
	n := c.ends.get(key)
	if n == nil {
		n = c.continued.get(key)
	}
	if n != nil {
		c.hits.Add(1)
	}
	return n
}

// at is get by place.
func (c *nodeCache) at(where nodePlace) *known {
	key, ok := c.places[where]
	if !ok {
		return nil
	}
	return c.get(key)
}

// put keeps n in place of what was known of the node before.
func (c *nodeCache) put(n *known) {
	in, other := c.ends, c.continued
	if n.continued {
		in, other = other, in
	}
	other.drop(n.key())
	c.places[n.where()] = n.key()
	in.put(n.key(), n, n.size())
}

// size and limit are those of what is kept, in bytes. They may be read by anyone at any time.
func (c *nodeCache) size() int64  { return c.ends.size.Load() + c.continued.size.Load() }
func (c *nodeCache) limit() int64 { return c.ends.limit + c.continued.limit }
