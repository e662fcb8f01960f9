package badgerstore

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/transcriptd/transcriptd/chainstore"
)

// aliasCache keeps where aliases point that chains were read by lately. What it keeps is right for a view that is no
// older than the one it was read in, or than the commit that told of it, until another commit writes the alias: the cache is told of
// that before any view sees it.
type aliasCache struct {
	mu     sync.Mutex
	byName *lru[aliasName, cachedAlias]
	// told is the timestamp of the last commit that the cache was told of.
	told uint64

	hits, misses atomic.Uint64
}

type aliasName struct {
	ns   uint32
	name string
}

// cachedAlias is where an alias points since a timestamp, or longer.
type cachedAlias struct {
	at    chainstore.Place
	since uint64
}

// newAliasCache returns nil, a cache that keeps nothing, for a limit that is not positive.
func newAliasCache(limit int64) *aliasCache {
	if limit <= 0 {
		return nil
	}
	return &aliasCache{byName: newLRU[aliasName, cachedAlias](limit)}
}

// get tells where an alias points in a view of a timestamp; ok is false where that is not kept.
func (c *aliasCache) get(ns uint32, name string, ts uint64) (at chainstore.Place, ok bool) {
	if c == nil {
		return chainstore.Place{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.byName.get(aliasName{ns, name})
	if a.since == 0 || a.since > ts {
		c.misses.Add(1)
		return chainstore.Place{}, false
	}
	c.hits.Add(1)
	return a.at, true
}

// put keeps where an alias points in a view of a timestamp, unless a later commit, which may have written it, is there.
func (c *aliasCache) put(ns uint32, name string, ts uint64, at chainstore.Place) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ts >= c.told {
		c.keep(aliasName{ns, name}, cachedAlias{at, ts})
	}
}

// tell notes where the aliases that are kept point now that a commit wrote, and forgets those that it deleted. It is called once that
// is durable, before any view sees it.
func (c *aliasCache) tell(writes map[string]write, ts uint64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = ts
	for key, w := range writes {
		if key[keyPrefix-1] != tableAliases {
			continue
		}
		name := aliasName{binary.BigEndian.Uint32([]byte(key[:4])), key[keyPrefix:]}
		if !c.byName.has(name) {
			continue
		}
		if row, err := parseAlias(w.value); w.deleted || err != nil || row.deleted {
			c.byName.drop(name)
		} else {
			c.keep(name, cachedAlias{row.at, ts})
		}
	}
}

// keep keeps where an alias points; mu is held.
func (c *aliasCache) keep(name aliasName, a cachedAlias) {
	c.byName.put(name, a, int64(160+len(name.name)))
}

func (c *aliasCache) metrics() CacheMetrics {
	if c == nil {
		return CacheMetrics{}
	}
	return CacheMetrics{Bytes: c.byName.size.Load(), LimitBytes: c.byName.limit, Hits: c.hits.Load(), Misses: c.misses.Load()}
}
