package badgerstore

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// TestLRU: what is kept is what was put or used last of what fits, never more than the limit, and all else was dropped.
func TestLRU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 100
		kept := map[int]bool{} // values that were neither replaced nor dropped
		c := newLRU[int, int](limit)
		c.dropped = func(value int) { delete(kept, value) }
		sizes := map[int]int64{} // by value
		var latest []int         // the keys that fit, the last one first
		values := map[int]int{}
		without := func(key int) {
			for i, k := range latest {
				if k == key {
					latest = append(latest[:i:i], latest[i+1:]...)
				}
			}
		}
		for value := range rapid.IntRange(1, 40).Draw(t, "steps") {
			key := rapid.IntRange(0, 5).Draw(t, "key")
			if rapid.Bool().Draw(t, "get") {
				if c.get(key); c.has(key) {
					without(key)
					latest = append([]int{key}, latest...)
				}
			} else {
				size := int64(rapid.SampledFrom([]int{1, 40, limit, limit + 1, 1000}).Draw(t, "size"))
				if c.has(key) && size <= limit {
					delete(kept, values[key])
				}
				kept[value], sizes[value], values[key] = true, size, value
				c.put(key, value, size)
				if without(key); size <= limit {
					latest = append([]int{key}, latest...)
				}
			}
			sum, fit := int64(0), 0
			for ; fit < len(latest) && sum+sizes[values[latest[fit]]] <= limit; fit++ {
				sum += sizes[values[latest[fit]]]
			}
			latest = latest[:fit]
			if got := c.size.Load(); got != sum || c.latest.Len() != fit || len(kept) != fit {
				t.Fatalf("%d values of %d bytes are kept, and %d were not dropped; %d of %d bytes fit", c.latest.Len(), got, len(kept), fit, sum)
			}
			for _, key := range latest {
				if !c.has(key) || !kept[values[key]] {
					t.Fatalf("%d is not kept", key)
				}
			}
		}
	})
}

// TestLargeHeads: a head that is larger than the cache of heads is not kept, nor where it lies, and it pushes nothing out.
func TestLargeHeads(t *testing.T) {
	c := newHeadCache(8 << 10)
	keep := func(segment uint64, messages int) chainstore.ID {
		h := &chainstore.Header{ID: chainstore.ID{byte(segment)}, Messages: make([]runloop.Brief, messages)}
		c.put(1, &head{h, &chainstore.Lineage{Head: chainstore.Place{Segment: segment}}}, 1)
		return h.ID
	}
	small, large := keep(1, 1), keep(2, 1000)
	if _, known := c.place(1, small, 1); !known || c.at(1, chainstore.Place{Segment: 1}) == nil {
		t.Error("a small head was pushed out")
	}
	if _, known := c.place(1, large, 1); known || c.at(1, chainstore.Place{Segment: 2}) != nil {
		t.Error("a large head is kept, or where it lies")
	}
	if m := c.metrics(); m.Bytes == 0 || m.Bytes > m.LimitBytes {
		t.Errorf("%+v", m)
	}
}

// TestLargeNodes: a node that has become larger than the committer's cache is not kept as it was before either.
func TestLargeNodes(t *testing.T) {
	c := newNodeCache(8 << 10)
	n := &known{ns: 1, at: chainstore.Place{Segment: 1}, id: chainstore.ID{1}}
	c.put(n)
	if c.at(n.where()) != n {
		t.Fatal("it is not kept")
	}
	large := *n
	large.lineage = &chainstore.Lineage{Forks: make([]chainstore.Place, 1000)}
	c.put(&large)
	if c.get(n.key()) != nil || c.at(n.where()) != nil || len(c.places) != 0 || c.size() != 0 {
		t.Errorf("it is kept, with %d bytes and %d places", c.size(), len(c.places))
	}
}
