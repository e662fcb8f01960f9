package cache

import (
	"fmt"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
)

func TestAliasesAreBounded(t *testing.T) {
	c := newAliases(10 << 10)
	for i := range 1000 {
		c.Put(1, strings.Repeat("x", i%200)+fmt.Sprint(i), 1, chainstore.Place{Segment: 1, Seq: uint32(i)})
	}
	if m := c.Metrics(); m.Bytes > m.LimitBytes || m.Bytes < m.LimitBytes/2 {
		t.Errorf("it has %d bytes of %d", m.Bytes, m.LimitBytes)
	}
	var none *Aliases
	none.Put(1, "a", 1, chainstore.Place{Segment: 1, Seq: 1})
	none.Tell(2, nil)
	if _, ok := none.Get(1, "a", 3); ok || none.Metrics() != (Metrics{}) {
		t.Error("a cache of nothing keeps something")
	}
}
