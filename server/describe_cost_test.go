package server_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// disk is a server over a store on disk, with which costs are counted.
type disk struct {
	testing.TB
	transcriptv1.TranscriptServiceClient
	store *badgerstore.Store
}

func newDisk(tb testing.TB) *disk {
	tb.Helper()
	store, err := badgerstore.Open(tb.TempDir(), uncached)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &disk{tb, transcriptv1.NewTranscriptServiceClient(testserver.Start(tb, store)), store}
}

// put puts nodes behind each other and an alias, which it moves or makes.
func (d *disk) put(alias string, nodes ...*transcriptv1.NewNode) (ids []string) {
	d.Helper()
	for len(nodes) > 0 {
		n := min(500, len(nodes))
		for i, node := range nodes[:n] {
			node.Previous = i > 0
		}
		if _, err := d.ResolveAlias(d.Context(), &transcriptv1.ResolveAliasRequest{Name: alias}); err == nil {
			nodes[0].Parent = byAlias(alias)
		}
		nodes[n-1].Aliases = []*Update{{Name: alias}}
		reply, err := d.PutNodes(d.Context(), &transcriptv1.PutNodesRequest{Nodes: nodes[:n]})
		if err != nil {
			d.Fatal(err)
		}
		for _, r := range reply.Nodes {
			ids = append(ids, r.NodeId)
		}
		nodes = nodes[n:]
	}
	return ids
}

func node(messages ...*Message) *transcriptv1.NewNode {
	return &transcriptv1.NewNode{Messages: messages}
}

// describable makes a chain of turns, then the same end whatever came before: two compactions, a fork, tools, variables,
// an open loop with calls, one of which spawned a chain, and aliases.
func (d *disk) describable(alias string, turns int) {
	d.Helper()
	nodes := []*transcriptv1.NewNode{node(system("chain " + alias))}
	for i := range turns {
		nodes = append(nodes, node(user(fmt.Sprint("question ", i))), node(assistant(fmt.Sprint("answer ", i))))
	}
	d.put(alias, nodes...)
	for i := range 2 {
		id := fmt.Sprint("c", i)
		turn := []*transcriptv1.NewNode{node(user("look")), node(calling("look", id)), node(result(id, "a long result that goes")), node(assistant("seen"))}
		turn[0].Metadata = variables("turn", fmt.Sprint(i), id, "true")
		put := d.put(alias, turn...)
		if _, err := d.Compact(d.Context(), &Compact{Head: byAlias(alias), ThroughId: put[len(put)-1], SummaryOnly: true, Summary: "short"}); err != nil {
			d.Fatal(err)
		}
	}
	left := d.put(alias, node(user("and now?")))[0]
	d.put(alias, node(assistant("left")))
	fork := node(calling("task", "t1", "t2"))
	fork.Parent, fork.Metadata = byID(left), variables("fork", "true")
	fork.Aliases = []*Update{{Name: alias}, {Name: alias + "/too"}}
	reply, err := d.PutNodes(d.Context(), &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{fork}})
	if err != nil {
		d.Fatal(err)
	}
	sub := node(user("go"))
	sub.SpawnedFrom = spawnedBy(reply.Nodes[0].NodeId, "t1")
	d.put(alias+"/sub", sub)
}

// cost is what a description takes of the engine, counted.
type cost struct{ gets, seeks, nexts uint64 }

func (d *disk) cost(req *Describe) (cost, *DescribeResponse) {
	d.Helper()
	g, s, n := d.store.Reads()
	reply, err := d.Describe(d.Context(), req)
	if err != nil {
		d.Fatal(err)
	}
	g2, s2, n2 := d.store.Reads()
	return cost{g2 - g, s2 - s, n2 - n}, reply
}

// TestDescribeCostsNoDepth: at the end of a chain of thousands of nodes a description reads what it does at that of one of
// ten.
func TestDescribeCostsNoDepth(t *testing.T) {
	d := newDisk(t)
	d.describable("short", 5)
	d.describable("long", 5000)
	for _, mode := range []transcriptv1.DescribeMode{modeOff, modeMetadata, modePreview} {
		short, _ := d.cost(&Describe{Head: byAlias("short"), Mode: mode})
		long, reply := d.cost(&Describe{Head: byAlias("long"), Mode: mode})
		t.Logf("%v: %+v at either depth", mode, long)
		if short != long {
			t.Errorf("%v costs %+v at the end of a short chain, and %+v at that of a long one", mode, short, long)
		}
		if mode == modeOff {
			continue
		}
		l := reply.Lineage
		if l.Ancestors < 10_000 || l.Forks != 1 || len(l.ForkNodes) != 1 || len(l.Compactions) != 2 || len(l.Spawned) != 1 ||
			len(reply.Tools) != 2 || len(reply.Variables) != 4 || len(reply.Aliases) != 2 || len(reply.Loop.Pending) != 2 {
			t.Errorf("the long chain is not as it should be: %v", reply)
		}
	}
}

// TestDescribeCostsNoLoop: of a loop of thousands of calls, each of which spawned a chain, a description reads a bounded
// number of variables and spawned chains.
func TestDescribeCostsNoLoop(t *testing.T) {
	d := newDisk(t)
	for _, turns := range []int{100, 2000} {
		nodes := []*transcriptv1.NewNode{node(user(fmt.Sprint("a loop of ", turns)))}
		for i := range turns {
			id := fmt.Sprint("c", i)
			called := node(calling("look", id))
			called.Metadata = variables(id, "1")
			nodes = append(nodes, called, node(result(id, "r")))
		}
		ids := d.put(fmt.Sprint(turns), nodes...)
		var subs []*transcriptv1.NewNode
		for i := range turns {
			sub := node(user(fmt.Sprint("sub ", i)))
			sub.SpawnedFrom = spawnedBy(ids[1+2*i], fmt.Sprint("c", i))
			subs = append(subs, sub)
		}
		d.put(fmt.Sprint(turns, "/subs"), subs...)
	}
	for _, items := range []int32{1, 16, 64} {
		short, _ := d.cost(&Describe{Head: byAlias("100"), Mode: modePreview, MaxItems: items})
		long, reply := d.cost(&Describe{Head: byAlias("2000"), Mode: modePreview, MaxItems: items})
		t.Logf("lists of %d: %+v", items, long)
		if short != long {
			t.Errorf("lists of %d cost %+v in a loop of 100 calls, and %+v in one of 2,000", items, short, long)
		}
		if reads := long.gets + long.seeks + long.nexts; reads > 20+uint64(items)*3 {
			t.Errorf("lists of %d cost %d reads", items, reads)
		}
		if n := len(reply.Lineage.Spawned); n != int(items) || !reply.Lineage.HasMoreSpawned {
			t.Errorf("of 2,000 chains spawned %d are told", n)
		}
	}
}

// TestDescribeCostsNoForks: over more forks than are looked behind for what they spawned, a description reads no more but a seek
// for each 64 of them, which finding the head takes.
func TestDescribeCostsNoForks(t *testing.T) {
	d := newDisk(t)
	of := map[int]cost{}
	for _, forks := range []int{300, 620} {
		alias := fmt.Sprint(forks)
		at := d.put(alias, node(user(alias)))[0]
		for range forks {
			left, right := node(user("left")), node(user("right"))
			left.Parent, right.Parent, right.Aliases = byID(at), byID(at), []*Update{{Name: alias}}
			reply, err := d.PutNodes(d.Context(), &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{left, right}})
			if err != nil {
				t.Fatal(err)
			}
			at = reply.Nodes[1].NodeId
		}
		got, reply := d.cost(&Describe{Head: byAlias(alias)})
		t.Logf("%d forks: %+v", forks, got)
		if of[forks] = got; !reply.Lineage.HasMoreSpawned || int(reply.Lineage.Forks) != forks {
			t.Errorf("of a path of %d forks it tells %v", forks, reply.Lineage)
		}
	}
	few, many := of[300], of[620]
	if few.seeks += (620 - 300) / 64; few != many {
		t.Errorf("it costs %+v over 620 forks, and %+v over 300 and what finds the head", many, few)
	}
}

// TestDescribeCostsNoRecursion: each spawn above the head costs as much as the next, up to the 64 that are counted, and what lies above
// these costs nothing.
func TestDescribeCostsNoRecursion(t *testing.T) {
	d := newDisk(t)
	at := d.put("deep/0", node(user("u")))[0]
	for i := 1; i <= 100; i++ {
		spawned := node(user(fmt.Sprint("sub ", i)))
		spawned.SpawnedFrom = spawnedBy(at, "c")
		at = d.put(fmt.Sprint("deep/", i), spawned, node(assistant("done")))[1]
	}
	at1, _ := d.cost(&Describe{Head: byAlias("deep/1")})
	at64, _ := d.cost(&Describe{Head: byAlias("deep/64")})
	at65, _ := d.cost(&Describe{Head: byAlias("deep/65")})
	at99, reply := d.cost(&Describe{Head: byAlias("deep/99")})
	t.Logf("at depth 1 %+v, at 64 %+v, beyond it %+v", at1, at64, at99)
	if at65 != at99 || reply.Lineage.SpawnDepth != 64 || !reply.Lineage.SpawnDepthAtLeast {
		t.Errorf("it costs %+v at depth 65 and %+v at depth 99: %v", at65, at99, reply.Lineage)
	}
	if more := at64.gets + at64.seeks + at64.nexts - at1.gets - at1.seeks - at1.nexts; more > 3*63 {
		t.Errorf("63 spawns more cost %d reads more", more)
	}
}

// BenchmarkDescribe describes the end of a short chain and of a long one, over the wire.
func BenchmarkDescribe(b *testing.B) {
	d := newDisk(b)
	for _, depth := range []int{10, 10_000} {
		alias := fmt.Sprint(depth)
		d.describable(alias, depth/2)
		for _, mode := range []transcriptv1.DescribeMode{modeMetadata, modePreview} {
			b.Run(fmt.Sprintf("depth=%d/%v", depth, mode), func(b *testing.B) {
				b.ReportAllocs()
				req := &Describe{Head: byAlias(alias), Mode: mode, Now: timestamppb.New(begun)}
				for b.Loop() {
					if _, err := d.Describe(context.Background(), req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
