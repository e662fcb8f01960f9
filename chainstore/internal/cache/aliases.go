package cache

import (
	"sync"
	"sync/atomic"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Aliases keeps where aliases point that chains were read by lately. What it keeps is right for a snapshot that is no older than the
// one it was read in, or than the commit that told of it, until another commit writes the alias: the cache is told of that before any
// snapshot sees it. nil keeps nothing.
type Aliases struct {
	mu     sync.Mutex
	byName *lru[aliasName, keptAlias]
	// told is the last commit that the cache was told of.
	told uint64

	hits, misses atomic.Uint64
}

type aliasName struct {
	namespace uint32
	name      string
}

// keptAlias is where an alias points since a commit, or longer.
type keptAlias struct {
	at    chainstore.Place
	since uint64
}

func newAliases(limit int64) *Aliases {
	if limit <= 0 {
		return nil
	}
	return &Aliases{byName: newLRU[aliasName, keptAlias](limit)}
}

// Get tells where an alias points in a snapshot that sees a commit; ok is false where that is not kept.
func (c *Aliases) Get(namespace uint32, name string, seen uint64) (at chainstore.Place, ok bool) {
	if c == nil {
		return at, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.byName.get(aliasName{namespace, name})
	if a.since == 0 || a.since > seen {
		c.misses.Add(1)
		return at, false
	}
	c.hits.Add(1)
	return a.at, true
}

// Put keeps where an alias points in a snapshot that sees a commit, unless a later one, which may have written it, is there.
func (c *Aliases) Put(namespace uint32, name string, seen uint64, at chainstore.Place) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen >= c.told {
		c.keep(aliasName{namespace, name}, keptAlias{at, seen})
	}
}

// Alias is an alias that a commit wrote. Where it is deleted, it points nowhere.
type Alias struct {
	Namespace uint32
	Name      string
	At        chainstore.Place
	Deleted   bool
}

// Tell notes where the aliases that are kept point now that a commit wrote, and forgets those that it deleted. It is called once that
// is durable, before any snapshot sees it.
func (c *Aliases) Tell(commit uint64, wrote []Alias) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = commit
	for i := range wrote {
		a := &wrote[i]
		name := aliasName{a.Namespace, a.Name}
		switch {
		case !c.byName.has(name):
		case a.Deleted:
			c.byName.drop(name)
		default:
			c.keep(name, keptAlias{a.At, commit})
		}
	}
}

func (c *Aliases) forget(commit uint64, f *Forgotten) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = max(c.told, commit)
	c.byName.dropWhere(func(name aliasName) bool { return f.holds(name.namespace, c.byName.peek(name).at) })
}

// keep keeps where an alias points; mu is held.
func (c *Aliases) keep(name aliasName, a keptAlias) {
	c.byName.put(name, a, int64(160+len(name.name)))
}

// Metrics are those of aliases.
func (c *Aliases) Metrics() Metrics {
	if c == nil {
		return Metrics{}
	}
	return Metrics{Bytes: c.byName.size.Load(), LimitBytes: c.byName.limit, Hits: c.hits.Load(), Misses: c.misses.Load()}
}
