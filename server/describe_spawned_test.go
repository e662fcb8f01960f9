package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
)

// spawn puts a chain of one node that a call spawned.
func (r *rig) spawn(node, call string) string {
	r.Helper()
	return r.putWith("", &PutNode{Messages: []*Message{user("sub " + call)}, SpawnedFrom: spawnedBy(node, call)})
}

// spawned asserts what a chain is described to have spawned.
func (r *rig) spawned(what, head string, items int32, more bool, want ...string) {
	r.Helper()
	l := r.lineage(head, items)
	var got []string
	for _, s := range l.Spawned {
		got = append(got, s.NodeId)
	}
	equal(r, what, fmt.Sprint(got), fmt.Sprint(want))
	equal(r, what+": more", l.HasMoreSpawned, more)
}

// TestDescribeSpawned: what the whole path spawned, that of the latest nodes first chosen, shown as put.
func TestDescribeSpawned(t *testing.T) {
	r := newRig(t)
	first := r.put("", user("an earlier loop"), calling("task", "t"))
	at := r.put(first, result("t", "r"), assistant("done"))
	at = r.put(at, user("the last loop"))
	var nodes []string
	for i := range 20 {
		at = r.put(at, calling("task", fmt.Sprint("a", i), fmt.Sprint("b", i)))
		nodes = append(nodes, at)
		at = r.put(at, result(fmt.Sprint("a", i), "r"), result(fmt.Sprint("b", i), "r"))
	}
	r.spawned("nothing", at, 0, false)
	late := r.spawn(nodes[19], "a19")
	early := r.spawn(nodes[2], "b2")
	latest := r.spawn(nodes[19], "b19")
	earliest := r.spawn(first, "t")
	r.spawned("all", at, 0, false, late, early, latest, earliest)
	r.spawned("just as many", at, 4, false, late, early, latest, earliest)
	r.spawned("three", at, 3, true, late, early, latest)
	r.spawned("two", at, 2, true, late, latest)
	r.spawned("one", at, 1, true, late)
	r.spawned("up to an earlier node", nodes[18], 64, false, early, earliest)
	r.spawned("up to the first", first, 64, false, earliest)
	r.spawned("what was spawned itself", late, 64, false)
	next := r.put(at, assistant("done"), user("next"), assistant("done, too"))
	r.spawned("loops later", next, 64, false, late, early, latest, earliest)
	r.sameReply("the link", r.lineage(next, 64).Spawned[1].SpawnedFrom, spawnedBy(nodes[2], "b2"))
}

// TestDescribeSpawnedBesideThePath: what other branches spawned is not told, and no chain spawned itself.
func TestDescribeSpawnedBesideThePath(t *testing.T) {
	r := newRig(t)
	called := r.put("", user("u"), calling("task", "t1", "t2"))
	apart := r.spawn(called, "t1")
	goesOn := r.putWith(called, &PutNode{Messages: []*Message{user("go on")}, SpawnedFrom: spawnedBy(called, "t2"), Metadata: inherits("prefix")})
	answered := r.put(called, result("t1", "r"), result("t2", "r"), calling("task", "t3"))
	later := r.spawn(answered, "t3")
	child := r.put(goesOn, calling("task", "t4"))
	grandchild := r.spawn(child, "t4")
	r.spawned("the chain", answered, 0, false, apart, goesOn, later)
	r.spawned("the one that goes on from it", child, 0, false, apart, grandchild)
	equal(r, "what it inherits", r.lineage(child, 0).Inheritance, inheritsPrefix)
	r.spawned("the call", called, 0, false, apart, goesOn)
}

// TestDescribeSpawnedThroughCompactions: calls that were condensed lie on the path, and so does what they spawned.
func TestDescribeSpawnedThroughCompactions(t *testing.T) {
	r := newRig(t)
	r.chain("chat", concat([]*Message{system("s")}, work("0"))...)
	called := r.append("chat", user("question 1"), calling("task", "t1"))[1]
	first := r.spawn(called, "t1")
	r.append("chat", result("t1", strings.Repeat("bulk ", 50)), assistant("reply 1"))
	once := r.compact(&Compact{Head: byAlias("chat"), SummaryOnly: true, Summary: "before"}).NodeId
	r.spawned("behind a compaction", once, 0, false, first)
	ofCopy := r.spawn(once, "t1")
	open := r.append("chat", user("question 2"), calling("task", "t2"))[1]
	second := r.spawn(open, "t2")
	goesOn := r.putWith(once, &PutNode{Messages: []*Message{user("go on")}, SpawnedFrom: spawnedBy(once, "t1"), Metadata: inherits("prefix")})
	equal(r, "what is inherited of a compacted chain", r.lineage(goesOn, 0).Inheritance, inheritsPrefix)
	r.append("chat", result("t2", strings.Repeat("bulk ", 50)))
	twice := r.compact(&Compact{Head: byAlias("chat"), Summary: "before, and the work under way"}).NodeId
	r.spawned("behind two", twice, 0, false, first, ofCopy, second, goesOn)
	r.spawned("that of the latest two", twice, 2, true, ofCopy, second)
	head := r.append("chat", assistant("reply 2"), user("question 3"), assistant("reply 3"))[2]
	r.spawned("loops later", head, 0, false, first, ofCopy, second, goesOn)
	r.spawned("what left before", r.put(called, result("t1", "other")), 0, false, first)
}

// TestDescribeSubagentThroughCompactions: a subagent's chain tells what started it when its own beginning was condensed.
func TestDescribeSubagentThroughCompactions(t *testing.T) {
	r := newRig(t)
	call := calling("task", "t1")
	call.Parts[0].GetToolCall().Arguments = `{"prompt":"count the files"}`
	called := r.chain("chat", system("s"), user("u"), call)[2]
	sub := r.putWith("", &PutNode{
		Messages: []*Message{system("you count"), user("count the files")}, SpawnedFrom: spawnedBy(called, "t1"), Aliases: []*Update{{Name: "sub"}},
		Metadata: inherits("arguments"),
	})
	r.append("sub", concat(work("0")[1:], work("1"))...)
	for i := range 2 {
		head := r.compact(&Compact{Head: byAlias("sub"), SummaryOnly: true, Summary: fmt.Sprint("it counted ", i)}).NodeId
		l := r.lineage(head, 0)
		r.sameReply("the link", l.SpawnedFrom, spawnedBy(called, "t1"))
		equal(r, "the spawned node", l.SpawnedNodeId, sub)
		equal(r, "what it inherits", l.Inheritance, inheritsArguments)
		r.append("sub", work(fmt.Sprint(i+2))...)
	}
	r.append("chat", result("t1", "42"), assistant("there are 42"))
	r.compact(&Compact{Head: byAlias("chat"), SummaryOnly: true, Summary: "42 files"})
	r.spawned("the parent", r.describe(&Describe{Head: byAlias("chat")}).HeadId, 0, false, sub)
}

// TestDescribeSpawnedOverManyForks: over more forks than are looked behind, it is said that there may be more.
func TestDescribeSpawnedOverManyForks(t *testing.T) {
	r := newRig(t)
	first := r.put("", user("u"), calling("task", "t"))
	sub := r.spawn(first, "t")
	at := first
	fork := func(n int) {
		t.Helper()
		for range n {
			r.put(at, user("left"))
			at = r.put(at, user("right"))
		}
	}
	text := func() string { return r.describe(&Describe{Head: byID(at)}).Text }
	fork(chainstore.SpawnedReach - 1)
	r.spawned("within reach", at, 0, false, sub)
	fork(1)
	r.spawned("out of reach", at, 0, true)
	if !strings.Contains(text(), "\nspawned: none near the head; what lies farther back was not looked at\n") {
		t.Errorf("that there may be more is not told by\n%s", text())
	}
	near := r.spawn(at, "near")
	r.spawned("out of reach, but for one", at, 0, true, near)
	if !strings.Contains(text(), fmt.Sprintf("\nspawned: %s by near of %s and more\n", near[:12], at[:12])) {
		t.Errorf("that there may be more is not told by\n%s", text())
	}
}
