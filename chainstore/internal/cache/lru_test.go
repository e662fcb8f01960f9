package cache

import (
	"testing"

	"pgregory.net/rapid"
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
