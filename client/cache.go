package client

import (
	"container/list"
	"sync"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// cache keeps the effective views that threads assembled, all together in at most max bytes, those used last. A view is
// kept as the part that it adds to a base that is kept too, so that a growing chain and its branches share what they
// have in common. Safe for concurrent use.
//
//	root..A   <- base -   A..B   <- base -   B..C        views of A, B and C
//	                    \ A..D                           view of D, a branch
//
// Whenever a view is used, so are its bases after it. So a base is always used later than what rests on it, and the
// least recently used view is never a base.
type cache struct {
	mu   sync.Mutex
	max  int64
	used int64
	// erasures is that of all views that are kept.
	erasures int64
	order    *list.List // of *view, the last used first
	views    map[string]*list.Element
	named    map[string]*view // by alias: a view that its chain begins with
}

// view is what the effective view of head adds to that of base, or all of it where base is nil. It is immutable, names
// aside, which belong to the cache.
type view struct {
	head    string
	base    *view
	payload []byte
	names   []string
	// erasures is what the reply told that it came with, and its base.
	erasures int64
}

// viewOverhead is about what a view costs beside its payload, nameOverhead a name beside its bytes.
const (
	viewOverhead = 512
	nameOverhead = 128
)

func newCache(maxBytes int64) *cache {
	return &cache{max: max(0, maxBytes), order: list.New(), views: map[string]*list.Element{}, named: map[string]*view{}}
}

// get gives the view of a head, nil where it is not kept.
func (c *cache) get(head string) *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.views[head]
	if !ok {
		return nil
	}
	v := e.Value.(*view)
	c.use(v)
	return v
}

// put keeps a view, in place of those that were used least recently, and tells whether it is kept. One that with its bases is
// larger than the cache is not, and drops nothing. One with other erasures drops all, since they may have what was erased.
func (c *cache) put(v *view) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.erasures != c.erasures {
		c.dropAll()
		c.erasures = v.erasures
	}
	if e, ok := c.views[v.head]; ok {
		c.use(e.Value.(*view))
		return true
	}
	if !c.fits(v, 0) {
		c.use(v.base)
		return false
	}
	if v.base != nil && !c.keeps(v.base) { // its base went meanwhile: it has to stand alone
		v = &view{head: v.head, payload: v.whole(nil), erasures: v.erasures}
	}
	c.views[v.head] = c.order.PushFront(v)
	c.used += v.cost()
	c.use(v)
	c.shrink()
	return true
}

// fits tells whether there is room for a view with its bases and more bytes, if nothing else is kept.
func (c *cache) fits(v *view, more int64) bool {
	for ; v != nil; v = v.base {
		more += v.cost()
	}
	return more <= c.max
}

// keeps tells whether that very view is kept.
func (c *cache) keeps(v *view) bool {
	e, ok := c.views[v.head]
	return ok && e.Value == v
}

// shrink drops the views used least recently until the rest fits.
func (c *cache) shrink() {
	for c.used > c.max {
		c.drop(c.order.Back())
	}
}

// name remembers that the chain of an alias begins with the view of head, if that is kept.
func (c *cache) name(alias, head string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.views[head]
	if !ok || c.named[alias] == e.Value || !c.fits(e.Value.(*view), nameCost(alias)) {
		return
	}
	c.forget(alias)
	v := e.Value.(*view)
	v.names, c.named[alias] = append(v.names, alias), v
	c.used += nameCost(alias)
	c.shrink()
}

// headOf is the head of the view that an alias's chain was seen to begin with; empty: not known.
func (c *cache) headOf(alias string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.named[alias]; v != nil {
		return v.head
	}
	return ""
}

// use makes a view and its bases the last used.
func (c *cache) use(v *view) {
	for ; v != nil; v = v.base {
		if e, ok := c.views[v.head]; ok {
			c.order.MoveToFront(e)
		}
	}
}

// clear forgets everything.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropAll()
}

// dropAll is clear; c.mu is held.
func (c *cache) dropAll() {
	for c.order.Len() > 0 {
		c.drop(c.order.Back())
	}
}

// drop forgets a view and its names.
func (c *cache) drop(e *list.Element) {
	v := c.order.Remove(e).(*view)
	c.used -= v.cost()
	for _, alias := range v.names {
		delete(c.named, alias)
	}
	v.names = nil
	delete(c.views, v.head)
}

// forget takes an alias from the view that it names.
func (c *cache) forget(alias string) {
	v := c.named[alias]
	if v == nil {
		return
	}
	delete(c.named, alias)
	for i, name := range v.names {
		if name == alias {
			v.names = append(v.names[:i:i], v.names[i+1:]...)
			c.used -= nameCost(alias)
			return
		}
	}
}

// cost is what a view counts as, its bases aside.
func (v *view) cost() int64 {
	cost := int64(len(v.payload)) + viewOverhead
	for _, alias := range v.names {
		cost += nameCost(alias)
	}
	return cost
}

func nameCost(alias string) int64 { return int64(len(alias)) + nameOverhead }

// whole appends the payloads of the view and its bases.
func (v *view) whole(dst []byte) []byte {
	if v.base != nil {
		dst = v.base.whole(dst)
	}
	return append(dst, v.payload...)
}

// messages decodes the whole view.
func (v *view) messages() ([]*transcriptv1.Message, error) {
	var messages []*transcriptv1.Message
	if v.base != nil {
		var err error
		if messages, err = v.base.messages(); err != nil {
			return nil, err
		}
	}
	own, err := decodeMessages(v.payload)
	if err != nil {
		return nil, err
	}
	return append(messages, own...), nil
}
