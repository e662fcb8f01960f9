package server_test

import (
	"fmt"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// small puts a chain of so many nodes of a message each, every hundredth of the first and of the last 500 with a fork beside it, and
// gives their ids. A chain costs a seek more for each 64 forks.
func (c *turns) small(alias string, n int) (ids []string) {
	c.Helper()
	for from := 0; from < n; from += 100 {
		var nodes []*transcriptv1.NewNode
		for i := from; i < from+100; i++ {
			one := node(user(fmt.Sprintf("message %07d of %s", i, alias)))
			one.Previous = i > from
			nodes = append(nodes, one)
		}
		fork := node(user("a fork of " + alias))
		if from > 0 {
			nodes[0].Parent, fork.Parent = byID(ids[from-1]), byID(ids[from-1])
		}
		if from > 0 && (from <= 500 || from > n-500) {
			if _, err := c.PutNodes(c.Context(), &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{fork}}); err != nil {
				c.Fatal(err)
			}
		}
		nodes[99].Aliases = []*Update{{Name: alias}}
		reply, err := c.PutNodes(c.Context(), &transcriptv1.PutNodesRequest{Nodes: nodes})
		if err != nil {
			c.Fatal(err)
		}
		for _, r := range reply.Nodes {
			ids = append(ids, r.NodeId)
		}
	}
	return ids
}

func (c *turns) last(req *Assemble) func() []byte {
	return c.unary(transcriptv1.TranscriptService_Assemble_FullMethodName, req)
}

// TestReadsOfLast: the end of a view, and a part of it far in the past and behind forks, ask the database for as much in a long chain
// as in a short one, after 40 compactions as after one, and for no more than twice the rows that are given and some.
func TestReadsOfLast(t *testing.T) {
	c := openTurns(t, t.TempDir(), uncached)
	many := 10_000
	if *long {
		many = 100_000
	}
	sized := map[string][]string{"short": c.small("short", 1_000), "long": c.small("long", many)}
	c.growCompacted("compacted once", 1, tiny)
	c.growCompacted("compacted often", 40, tiny)
	const n = 20
	last := func(alias string, view transcriptv1.View) func() []byte {
		return c.last(&Assemble{Head: byAlias(alias), View: view, LastMessages: n})
	}
	before := func(alias string, at int, view transcriptv1.View) func() []byte {
		return c.last(&Assemble{Head: byAlias(alias), View: view, LastMessages: n, Before: &transcriptv1.MessagePlace{NodeId: sized[alias][at]}})
	}
	for _, view := range []transcriptv1.View{full, effective} {
		for _, x := range []struct {
			name  string
			calls [2]func() []byte
		}{
			{"the end", [2]func() []byte{last("short", view), last("long", view)}},
			{"the past", [2]func() []byte{before("short", 450, view), before("long", 450, view)}},
			{"behind compactions", [2]func() []byte{last("compacted once", view), last("compacted often", view)}},
		} {
			one, other := c.reads(x.calls[0]), c.reads(x.calls[1])
			if one != other || one.sum() > 2*n+60 {
				t.Errorf("%s in view %v costs %+v, and %+v in a longer chain", x.name, view, one, other)
			}
		}
	}
}
