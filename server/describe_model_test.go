package server_test

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// walked is a node of a random tree as the model has it: its parent, its place, and what it brought.
type walked struct {
	id        string
	parent    *walked
	ancestors int32
	children  int
	fork      bool
	messages  []*Message
	set       map[string]string
	spawner   *walked
	inherits  transcriptv1.Inheritance
}

// path is the nodes from the root through a node.
func (w *walked) path() (path []*walked) {
	for ; w != nil; w = w.parent {
		path = append(path, w)
	}
	slices.Reverse(path)
	return path
}

// grow puts a node with random messages and variables under a random node of the tree, or as a root.
func grow(rt *rapid.T, r *rig, tree []*walked) *walked {
	w := &walked{set: map[string]string{}}
	if len(tree) > 0 && rapid.IntRange(0, 9).Draw(rt, "root") > 0 {
		w.parent = tree[max(0, len(tree)-1-rapid.IntRange(0, 3).Draw(rt, "back"))]
		w.ancestors = w.parent.ancestors + 1
	}
	drawID := func() string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "call id") }
	for range rapid.IntRange(1, 3).Draw(rt, "messages") {
		text := rapid.SampledFrom([]string{"", " ", "one", "two\nlines"}).Draw(rt, "text")
		switch rapid.IntRange(0, 5).Draw(rt, "kind") {
		case 0:
			w.messages = append(w.messages, system(text))
		case 1:
			w.messages = append(w.messages, user(text))
		case 2:
			w.messages = append(w.messages, assistant(text))
		case 3, 4:
			w.messages = append(w.messages, calling(rapid.SampledFrom([]string{"f", "g", "h"}).Draw(rt, "tool"), drawID()))
		default:
			w.messages = append(w.messages, result(drawID(), text))
		}
	}
	for _, name := range []string{"x", "y", "z"} {
		if rapid.IntRange(0, 4).Draw(rt, "sets") == 0 {
			w.set[name] = fmt.Sprint(rapid.IntRange(0, 99).Draw(rt, "value"))
		}
	}
	req := &PutNode{Messages: w.messages, Salt: fmt.Appendf(nil, "%016d", len(tree))}
	for name, value := range w.set {
		req.Metadata = append(req.Metadata, variables(name, value)...)
	}
	if len(tree) > 0 && rapid.IntRange(0, 3).Draw(rt, "spawned") == 0 {
		w.spawner = rapid.SampledFrom(tree).Draw(rt, "by")
		req.SpawnedFrom = spawnedBy(w.spawner.id, "a")
		said := rapid.SampledFrom([]string{"", "none", "arguments", "prefix"}).Draw(rt, "inherits")
		if w.inherits = map[string]transcriptv1.Inheritance{"none": 1, "arguments": 2, "prefix": 3}[said]; said != "" {
			req.Metadata = append(req.Metadata, inherits(said)...)
		}
	}
	if w.parent != nil {
		req.Parent = byID(w.parent.id)
		w.fork = w.parent.children > 0
		w.parent.children++
	}
	w.id = must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	return w
}

// depth is how many spawns lie above a node: one more than above the spawner of the nearest on its path that has one.
func (w *walked) depth() int32 {
	for ; w != nil; w = w.parent {
		if w.spawner != nil {
			return w.spawner.depth() + 1
		}
	}
	return 0
}

// want is what the model, which walks the whole path, has of a description.
func (w *walked) want() *DescribeResponse {
	d := &DescribeResponse{HeadId: w.id, Lineage: &transcriptv1.Lineage{Ancestors: w.ancestors}}
	path := w.path()
	for _, n := range path {
		if n.spawner != nil {
			d.Lineage.SpawnedFrom, d.Lineage.SpawnedNodeId = spawnedBy(n.spawner.id, "a"), n.id
			d.Lineage.Inheritance, d.Lineage.SpawnDepth = n.inherits, n.spawner.depth()+1
		}
		if n.fork {
			d.Lineage.Forks++
			d.Lineage.ForkNodes = slices.Insert(d.Lineage.ForkNodes, 0, &transcriptv1.PathNode{NodeId: n.id, Ancestors: n.ancestors})
		}
		for _, m := range n.messages {
			for _, p := range m.Parts {
				if c := p.GetToolCall(); c != nil {
					d.Tools = called(d.Tools, c.GetName())
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, n := range slices.Backward(path) {
		for _, name := range []string{"x", "y", "z"} {
			if value, ok := n.set[name]; ok && !seen[name] {
				seen[name] = true
				d.Variables = append(d.Variables, &transcriptv1.VariableInfo{
					Name: name, Type: "number", SizeBytes: int64(len(value)), Preview: value,
					SetBy: &transcriptv1.PathNode{NodeId: n.id, Ancestors: n.ancestors}, SetAt: timestamppb.New(begun),
				})
			}
		}
	}
	return d
}

// spawned is what the model has of what a path spawned, in a tree in the order in which it was put.
func (w *walked) spawned(tree []*walked, items int) (list []*transcriptv1.SpawnedChain, more bool) {
	path := w.path()
	var latest []*walked
	for _, spawner := range slices.Backward(path) {
		for _, n := range tree {
			if n.spawner == spawner && !slices.Contains(path, n) {
				latest = append(latest, n)
			}
		}
	}
	chosen := latest[:min(items, len(latest))]
	for _, n := range tree {
		if slices.Contains(chosen, n) {
			list = append(list, &transcriptv1.SpawnedChain{NodeId: n.id, SpawnedFrom: spawnedBy(n.spawner.id, "a")})
		}
	}
	return list, len(latest) > items
}

func called(tools []*transcriptv1.ToolUse, name string) []*transcriptv1.ToolUse {
	for _, t := range tools {
		if t.GetName() == name {
			t.Calls++
			return tools
		}
	}
	return append(tools, &transcriptv1.ToolUse{Name: &name, Calls: 1})
}

// TestDescribeAgreesWithAWalk: on random trees a description says of the path what a walk over all of it does, and of its
// last loop what ListRunLoops does.
func TestDescribeAgreesWithAWalk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r, _, _ := newClocked(t)
		var tree []*walked
		for range rapid.IntRange(1, 12).Draw(rt, "nodes") {
			tree = append(tree, grow(rt, r, tree))
		}
		for _, w := range tree[len(tree)/2:] {
			got := r.describe(&Describe{Head: byID(w.id), Mode: modePreview})
			loops := must[*transcriptv1.ListRunLoopsResponse](r)(r.ListRunLoops(r.ctx(), &transcriptv1.ListRunLoopsRequest{Head: byID(w.id), PageSize: 1}))
			agrees(rt, got.Loop, loops.RunLoops)
			want := w.want()
			want.Lineage.Spawned, want.Lineage.HasMoreSpawned = w.spawned(tree, 16)
			want.HeadFirstPutAt, want.Age, want.Counters, want.Loop, want.Text = got.HeadFirstPutAt, got.Age, got.Counters, got.Loop, got.Text
			if !proto.Equal(got, want) {
				rt.Fatalf("described as\n%s\nwant\n%s", protojson.Format(got), protojson.Format(want))
			}
			few := r.describe(&Describe{Head: byID(w.id), MaxItems: 2}).Lineage
			want.Lineage.Spawned, want.Lineage.HasMoreSpawned = w.spawned(tree, 2)
			if !slices.EqualFunc(few.Spawned, want.Lineage.Spawned, equalChains) || few.HasMoreSpawned != want.Lineage.HasMoreSpawned {
				rt.Fatalf("of two things spawned it tells\n%s\nwant\n%s", protojson.Format(few), protojson.Format(want.Lineage))
			}
		}
	})
}

func equalChains(a, b *transcriptv1.SpawnedChain) bool { return proto.Equal(a, b) }

// agrees compares the last loop of a description with the newest of a listing. Calls that an ended group left are no
// longer pending, but unanswered; those of a loop closed in between are none of the last loop's.
func agrees(rt *rapid.T, got *transcriptv1.LoopStatus, loops []*transcriptv1.RunLoop) {
	if len(loops) == 0 {
		if got.State != stateNone || got.First != nil || len(got.Pending) > 0 {
			rt.Fatalf("there is no loop, and it is described as %v", got)
		}
		return
	}
	l := loops[0]
	if got.State != l.State || got.LeadIn != l.LeadIn || !proto.Equal(got.First, l.First) || !proto.Equal(got.StartedAt, l.StartedAt) {
		rt.Fatalf("the last loop is %v, and described as %v", l, got)
	}
	if int32(len(got.Pending)) > l.UnansweredCalls || (got.State == stateClosed && len(got.Pending) > 0) {
		rt.Fatalf("%d calls are pending, of %d unanswered", len(got.Pending), l.UnansweredCalls)
	}
}
