package badgerstore

import (
	"sync"
	"sync/atomic"

	"github.com/transcriptd/transcriptd/chainstore"
)

// head is a node that a chain was read from: its header and where its path lies. It never changes.
type head struct {
	header  *chainstore.Header
	lineage *chainstore.Lineage
}

// headCache keeps the heads that were read lately. What it keeps of a place stays right, as in rowCache. Where a node lies is right
// for a view that is no older than one that found it: an older one must not find it.
type headCache struct {
	mu      sync.Mutex
	byPlace *lru[nodePlace, *cachedHead]
	places  map[nodeKey]foundPlace

	hits, misses atomic.Uint64
}

// foundPlace is where a node lies, as views of a timestamp and later find it.
type foundPlace struct {
	at    chainstore.Place
	since uint64
}

type cachedHead struct {
	ns uint32
	head
}

func newHeadCache(limit int64) *headCache {
	if limit <= 0 {
		return nil
	}
	c := &headCache{byPlace: newLRU[nodePlace, *cachedHead](limit), places: map[nodeKey]foundPlace{}}
	c.byPlace.dropped = func(h *cachedHead) { delete(c.places, nodeKey{h.ns, h.header.ID}) }
	return c
}

// at returns the head at a place; nil where it is not kept.
func (c *headCache) at(ns uint32, at chainstore.Place) *head {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.byPlace.get(nodePlace{ns, at})
	if h == nil {
		c.misses.Add(1)
		return nil
	}
	c.hits.Add(1)
	return &h.head
}

// place returns where a node lies in a view of a timestamp; ok is false where that is not kept.
func (c *headCache) place(ns uint32, id chainstore.ID, ts uint64) (p chainstore.Place, ok bool) {
	if c == nil {
		return chainstore.Place{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.places[nodeKey{ns, id}]
	return found.at, ok && found.since <= ts
}

// put keeps a head that a view of a timestamp found, unless it is larger than the cache.
func (c *headCache) put(ns uint32, h *head, ts uint64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := nodeKey{ns, h.header.ID}
	if found, ok := c.places[key]; ok { // by another view, side by side
		ts = min(ts, found.since)
	}
	c.places[key] = foundPlace{h.lineage.Head, ts} // first: it goes again if the head is too large to be kept
	c.byPlace.put(nodePlace{ns, h.lineage.Head}, &cachedHead{ns, *h}, h.size())
}

// size is roughly the memory that h takes.
func (h *head) size() int64 {
	size := 1024 + 160*len(h.header.Messages) + 24*len(h.header.Provenance) + 16*len(h.lineage.Forks)
	size += h.header.State.Group.Size() + 48*len(h.header.State.Group.Calls)
	for i := range h.header.Messages {
		for _, call := range h.header.Messages[i].Mark.Stubs {
			size += 48 + len(call.ID.Value) + len(call.Name.Value)
		}
	}
	return int64(size)
}

func (c *headCache) metrics() CacheMetrics {
	if c == nil {
		return CacheMetrics{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheMetrics{
		Bytes: c.byPlace.size.Load(), LimitBytes: c.byPlace.limit, Hits: c.hits.Load(), Misses: c.misses.Load(),
	}
}
