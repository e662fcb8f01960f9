package client

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func text(n int) []byte { return []byte(strings.Repeat("x", n)) }

func TestCacheSharesBases(t *testing.T) {
	c := newCache(1 << 20)
	a := &view{head: "a", payload: text(1000)}
	b := &view{head: "b", base: a, payload: text(10)}
	d := &view{head: "d", base: a, payload: text(20)}
	c.put(a)
	c.put(b)
	c.put(d)
	if want := int64(1030 + 3*viewOverhead); c.used != want {
		t.Errorf("%d bytes used, want %d", c.used, want)
	}
	for _, v := range []*view{a, b, d} {
		if c.get(v.head) != v {
			t.Errorf("%s is not kept", v.head)
		}
	}
	if c.get("e") != nil {
		t.Error("a view that was never put is kept")
	}
}

func TestCacheDropsWhatWasUsedLeastRecently(t *testing.T) {
	c := newCache(3*(viewOverhead+100) + 50)
	for _, head := range []string{"a", "b", "c"} {
		c.put(&view{head: head, payload: text(100)})
	}
	c.get("a")
	c.put(&view{head: "b", payload: text(100)})
	c.put(&view{head: "d", payload: text(100)})
	if c.get("c") != nil || c.get("a") == nil || c.get("b") == nil || c.get("d") == nil {
		t.Error("not c was dropped")
	}
}

func TestCacheTakesNothingThatIsTooLarge(t *testing.T) {
	for _, limit := range []int64{0, 1000} {
		c := newCache(limit)
		c.put(&view{head: "a", payload: text(1001)})
		if c.get("a") != nil || c.used != 0 {
			t.Errorf("limit %d: it is kept", limit)
		}
	}
}

func TestCacheGivesAViewWhoseBaseWentItsOwnBytes(t *testing.T) {
	c := newCache(3000)
	base := &view{head: "a", payload: []byte("base ")}
	c.put(base)
	c.put(&view{head: "x", payload: text(2400)}) // a goes
	c.put(&view{head: "b", base: base, payload: []byte("more")})
	if got := c.get("b"); got == nil || got.base != nil || string(got.payload) != "base more" {
		t.Errorf("got %+v", got)
	}
}

func TestCacheNames(t *testing.T) {
	c := newCache(2000)
	c.name("m", "a")
	if c.headOf("m") != "" {
		t.Error("a name for what is not kept")
	}
	c.put(&view{head: "a"})
	c.put(&view{head: "b"})
	c.name("m", "a")
	c.name("n", "a")
	c.name("m", "b")
	c.name("m", "b")
	if c.headOf("m") != "b" || c.headOf("n") != "a" {
		t.Errorf("m is %q, n is %q", c.headOf("m"), c.headOf("n"))
	}
	if want := int64(2*viewOverhead + 2*nameOverhead + 2); c.used != want {
		t.Errorf("%d bytes used, want %d", c.used, want)
	}
	c.put(&view{head: "c", payload: text(1400)})
	if c.headOf("m") != "" || c.headOf("n") != "" || len(c.named) != 0 {
		t.Error("names outlive their views")
	}
	c.put(&view{head: "d"})
	for i := range 100 {
		c.name(fmt.Sprint("name", i), "d")
	}
	if c.used > c.max {
		t.Errorf("names take %d bytes of %d", c.used, c.max)
	}
}

// Whatever is put, used and named, the cache is within its bound, its sums are right, and a view that is kept has all
// its bases kept.
func TestCacheHoldsItsPromises(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c := newCache(20_000)
	for step := range 20_000 {
		base := c.get(fmt.Sprint(random.IntN(60)))
		head := fmt.Sprint(random.IntN(60))
		switch random.IntN(3) {
		case 0:
			c.put(&view{head: head, payload: text(random.IntN(3000))})
		case 1:
			if base == nil || base.head != head {
				c.put(&view{head: head, base: base, payload: text(random.IntN(1000))})
			}
		case 2:
			c.name(fmt.Sprint("name", random.IntN(20)), head)
		}
		checkCache(t, c)
		if t.Failed() {
			t.Fatalf("at step %d", step)
		}
	}
}

func checkCache(t *testing.T, c *cache) {
	t.Helper()
	var sum int64
	names := 0
	for e := c.order.Front(); e != nil; e = e.Next() {
		v := e.Value.(*view)
		sum += v.cost()
		names += len(v.names)
		for _, name := range v.names {
			if c.named[name] != v {
				t.Errorf("%s does not lead to its view", name)
			}
		}
		for base := v.base; base != nil; base = base.base {
			if !c.keeps(base) {
				t.Errorf("a base of %s is not kept", v.head)
			}
		}
	}
	if sum != c.used || c.used > c.max || names != len(c.named) || c.order.Len() != len(c.views) {
		t.Errorf("used %d of %d, really %d; %d names, really %d", c.used, c.max, sum, len(c.named), names)
	}
}

// A view that the cache has no room for, by itself or with its bases, takes nothing's place; nor does its name.
func TestCacheDropsNothingForWhatIsTooLarge(t *testing.T) {
	c := newCache(4000)
	a, b := &view{head: "a", payload: text(1000)}, &view{head: "b", payload: text(1000)}
	if !c.put(a) || !c.put(b) {
		t.Fatal("they are not kept")
	}
	c.name("m", "a")
	for _, large := range []*view{{head: "c", payload: text(3500)}, {head: "d", base: a, payload: text(2000)}} {
		if c.put(large) || c.get(large.head) != nil {
			t.Errorf("%s is kept", large.head)
		}
		c.name("n", large.head)
	}
	if c.get("a") == nil || c.get("b") == nil || c.headOf("m") != "a" {
		t.Error("what was kept is gone")
	}
	full := newCache(viewOverhead + 1000)
	full.put(&view{head: "a", payload: text(1000)})
	full.name("m", "a")
	if full.get("a") == nil || full.headOf("m") != "" {
		t.Error("a name took the place of its view")
	}
	checkCache(t, c)
	checkCache(t, full)
}
