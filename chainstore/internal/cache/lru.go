package cache

import (
	"container/list"
	"sync/atomic"
)

// lru keeps what was put or used last, bounded by its size: nothing of a value that is larger than all that may be kept. Not
// for use by several goroutines at once.
type lru[K comparable, V any] struct {
	// limit >= size but within put.
	limit  int64
	latest list.List
	byKey  map[K]*list.Element
	// dropped is called with what is kept no more and was not replaced, and with what is too large to be kept; nil: nothing is.
	dropped func(V)
	// size may be read by anyone at any time.
	size atomic.Int64
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

func newLRU[K comparable, V any](limit int64) *lru[K, V] {
	return &lru[K, V]{limit: limit, byKey: map[K]*list.Element{}}
}

// get returns a value and makes it the one used last; the zero value where it is not kept.
func (c *lru[K, V]) get(key K) (value V) {
	if e := c.byKey[key]; e != nil {
		c.latest.MoveToFront(e)
		return e.Value.(*lruEntry[K, V]).value
	}
	return value
}

// peek is get without use.
func (c *lru[K, V]) peek(key K) (value V) {
	if e := c.byKey[key]; e != nil {
		return e.Value.(*lruEntry[K, V]).value
	}
	return value
}

// oldest is the value that was not put or used for longest; the zero value where none is kept.
func (c *lru[K, V]) oldest() (value V) {
	if e := c.latest.Back(); e != nil {
		return e.Value.(*lruEntry[K, V]).value
	}
	return value
}

// has tells whether a value is kept.
func (c *lru[K, V]) has(key K) bool { return c.byKey[key] != nil }

// put keeps a value in place of the one before; of one that is too large to be kept, neither.
func (c *lru[K, V]) put(key K, value V, size int64) {
	if size > c.limit {
		c.drop(key)
		if c.dropped != nil {
			c.dropped(value)
		}
		return
	}
	if e := c.byKey[key]; e != nil {
		entry := e.Value.(*lruEntry[K, V])
		c.size.Add(size - entry.size)
		entry.value, entry.size = value, size
		c.latest.MoveToFront(e)
	} else {
		c.byKey[key] = c.latest.PushFront(&lruEntry[K, V]{key, value, size})
		c.size.Add(size)
	}
	for c.size.Load() > c.limit {
		c.remove(c.latest.Back())
	}
}

// dropWhere keeps no more what a key tells. It looks at all keys.
func (c *lru[K, V]) dropWhere(is func(K) bool) {
	for key, e := range c.byKey {
		if is(key) {
			c.remove(e)
		}
	}
}

// drop keeps a value no more.
func (c *lru[K, V]) drop(key K) {
	if e := c.byKey[key]; e != nil {
		c.remove(e)
	}
}

func (c *lru[K, V]) remove(e *list.Element) {
	entry := c.latest.Remove(e).(*lruEntry[K, V])
	delete(c.byKey, entry.key)
	c.size.Add(-entry.size)
	if c.dropped != nil {
		c.dropped(entry.value)
	}
}
