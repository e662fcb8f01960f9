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
	at       place
	id       chainstore.ID
	firstPut int64
	state    runloop.State
	forks    uint32

	tools, variables, compaction, spawned chainstore.Link
	// covers is a compaction node's own.
	covers chainstore.Link

	// end says that what follows is known.
	end bool
	// lineage is that of the chain that ends here; shared by the nodes of a segment but for its head.
	lineage *lineage
	// continued says that the place behind this one was used.
	continued bool
	// toolTable and variableTable are the tables at tools and variables, where there are any.
	toolTable     *toolTable
	variableTable []chainstore.Variable
}

// size is roughly the memory that n takes.
func (n *known) size() int64 {
	size := 640 + n.state.Group.Size() + 48*len(n.state.Group.Calls)
	if n.lineage != nil {
		size += 16 * len(n.lineage.forks)
	}
	if n.toolTable != nil {
		size += n.toolTable.size()
	}
	for _, v := range n.variableTable {
		size += 24 + len(v.Name)
	}
	return int64(size)
}

func knownOf(ns uint32, at place, h *chainstore.Header) *known {
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
	at place
}

func (n *known) key() nodeKey     { return nodeKey{n.ns, n.id} }
func (n *known) where() nodePlace { return nodePlace{n.ns, n.at} }

// nodeCache keeps the nodes that were put or used last, bounded by their size, and of these rather the ends of chains: a
// node that was continued is used again by who forks there, or repeats a put.
type nodeCache struct {
	byID   *lru[nodeKey, *known]
	places map[nodePlace]nodeKey

	hits, misses atomic.Uint64 // may be read by anyone at any time
}

func newNodeCache(limit int64) *nodeCache {
	c := &nodeCache{byID: newLRU[nodeKey, *known](limit), places: map[nodePlace]nodeKey{}}
	c.byID.dropped = func(n *known) { delete(c.places, n.where()) }
	return c
}

// get returns what is known of a node; nil where it is not kept.
func (c *nodeCache) get(key nodeKey) *known {
	n := c.byID.get(key)
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
	c.places[n.where()] = n.key()
	c.byID.put(n.key(), n, n.size())
	if n.continued {
		c.byID.next(n.key())
	}
}
