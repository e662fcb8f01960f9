package badgerstore

import (
	"container/list"
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

// nodeCache keeps the nodes that were put or used last, bounded by their size.
type nodeCache struct {
	limit   int64
	latest  list.List
	byID    map[nodeKey]*list.Element
	byPlace map[nodePlace]*list.Element
	// What follows may be read by anyone at any time.

	size         atomic.Int64
	hits, misses atomic.Uint64
}

func newNodeCache(limit int64) *nodeCache {
	return &nodeCache{limit: limit, byID: map[nodeKey]*list.Element{}, byPlace: map[nodePlace]*list.Element{}}
}

func (c *nodeCache) get(e *list.Element) *known {
	if e == nil {
		return nil
	}
	c.hits.Add(1)
	c.latest.MoveToFront(e)
	return e.Value.(*known)
}

// put keeps n in place of what was known of the node before.
func (c *nodeCache) put(n *known) {
	if e := c.byID[n.key()]; e != nil {
		c.size.Add(n.size() - e.Value.(*known).size())
		e.Value = n
		c.latest.MoveToFront(e)
	} else {
		e := c.latest.PushFront(n)
		c.byID[n.key()], c.byPlace[n.where()] = e, e
		c.size.Add(n.size())
	}
	for c.size.Load() > c.limit && c.latest.Len() > 1 {
		c.remove(c.latest.Back())
	}
}

func (c *nodeCache) remove(e *list.Element) {
	n := c.latest.Remove(e).(*known)
	delete(c.byID, n.key())
	delete(c.byPlace, n.where())
	c.size.Add(-n.size())
}
