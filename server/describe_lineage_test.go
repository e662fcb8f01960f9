package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	inheritsUnsaid    = transcriptv1.Inheritance_INHERITANCE_UNSPECIFIED
	inheritsNothing   = transcriptv1.Inheritance_INHERITANCE_NONE
	inheritsArguments = transcriptv1.Inheritance_INHERITANCE_ARGUMENTS
	inheritsPrefix    = transcriptv1.Inheritance_INHERITANCE_PREFIX
)

func (r *rig) lineage(head string, items int32) *transcriptv1.Lineage {
	r.Helper()
	return r.describe(&Describe{Head: byID(head), MaxItems: items}).Lineage
}

// TestDescribeForks: the forks of a path are counted, and the nearest listed.
func TestDescribeForks(t *testing.T) {
	r := newRig(t)
	at := r.put("", system("s"))
	var forks []string
	for i := range 200 {
		r.put(at, user("left"))
		at = r.put(at, user("right"))
		forks = append(forks, at)
		at = r.put(at, assistant(fmt.Sprint(i)))
	}
	for _, items := range []int32{0, 1, 64} {
		l := r.lineage(at, items)
		equal(r, "forks", l.Forks, 200)
		equal(r, "ancestors", l.Ancestors, 400)
		want := int(items)
		if items == 0 {
			want = 16
		}
		equal(r, "forks listed", len(l.ForkNodes), want)
		for i, n := range l.ForkNodes {
			equal(r, "a fork", n.NodeId, forks[199-i])
			equal(r, "its ancestors", n.Ancestors, int32(399-2*i))
		}
	}
	straight := r.lineage(r.chain("", system("s"), user("a"), assistant("b"))[0], 0)
	if straight.Forks != 0 || len(straight.ForkNodes) != 0 {
		t.Errorf("a root has forks: %v", straight)
	}
}

// TestDescribeCompactions: the compaction nodes of the path, nearest first, and the loop where it lies in one.
func TestDescribeCompactions(t *testing.T) {
	r, c, _ := newClocked(t)
	r.chain("chat", concat([]*Message{system("s")}, work("0"))...)
	var ids, covered []string
	for i := range 5 {
		c.pass(time.Minute)
		req := &Compact{Head: byAlias("chat")}
		if i == 3 {
			req.Summary = "what was said"
		}
		res := r.compact(req)
		ids, covered = append(ids, res.NodeId), append(covered, res.ThroughId)
		r.append("chat", work(fmt.Sprint(i+1))...)
	}
	for _, items := range []int32{2, 5, 0} {
		l := r.describe(&Describe{Head: byAlias("chat"), MaxItems: items}).Lineage
		want := min(5, int(items))
		if items == 0 {
			want = 5
		}
		equal(r, "compactions listed", len(l.Compactions), want)
		equal(r, "whether there are more", l.HasMoreCompactions, want < 5)
		for i, got := range l.Compactions {
			k := 4 - i
			n := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(ids[k])}))
			r.sameReply("a compaction", got, &transcriptv1.CompactionInfo{
				NodeId: ids[k], Ancestors: n.Ancestors, CoversThroughId: covered[k], MessageCount: int32(len(n.Messages)),
				SizeBytes: n.Info.SizeBytes, HasSummary: k >= 3,
			})
		}
	}
}

// append puts each message as a node behind the node of an alias, which it moves.
func (r *rig) append(alias string, messages ...*Message) (ids []string) {
	r.Helper()
	for _, m := range messages {
		put := &PutNode{Parent: byAlias(alias), Messages: []*Message{m}, Aliases: []*Update{{Name: alias}}}
		ids = append(ids, must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), put)).NodeId)
	}
	return ids
}

// TestDescribeLoopBehindACompaction: a loop that was open when it was compacted is told of where it was put, with the time of then, and
// what its calls spawned is found.
func TestDescribeLoopBehindACompaction(t *testing.T) {
	r, c, _ := newClocked(t)
	r.chain("chat", concat([]*Message{system("s")}, work("0"))...)
	c.pass(time.Minute)
	asked := r.append("chat", user("the open question"))[0]
	called := r.append("chat", calling("task", "t1"))[0]
	c.pass(time.Second)
	spawned := r.putWith("", &PutNode{Messages: []*Message{user("sub")}, SpawnedFrom: spawnedBy(called, "t1")})
	r.append("chat", result("t1", "done"))
	c.pass(time.Minute)
	node := r.compact(&Compact{Head: byAlias("chat"), Summary: "before: question 0"}).NodeId
	c.pass(time.Minute)
	got := r.describe(&Describe{Head: byAlias("chat"), Mode: modePreview, Now: c.at()})
	equal(r, "the state", got.Loop.State, stateOpen)
	equal(r, "the node", got.Loop.First.GetNodeId(), asked)
	equal(r, "started", got.Loop.StartedAt.AsTime(), begun.Add(time.Minute))
	equal(r, "open for", got.Loop.OpenFor.AsDuration(), 2*time.Minute+time.Second)
	equal(r, "the user", got.Loop.UserPreview, "the open question")
	equal(r, "spawned", len(got.Lineage.Spawned), 1)
	if len(got.Lineage.Spawned) == 1 {
		equal(r, "the spawned node", got.Lineage.Spawned[0].NodeId, spawned)
	}
	if asked == node {
		t.Error("nothing was compacted")
	}
}

// inherits is the metadata that says what a spawned chain inherits.
func inherits(what string) []*transcriptv1.MetadataEntry {
	return []*transcriptv1.MetadataEntry{{Key: "spawn/inherits", Value: what}}
}

// TestDescribeInheritance: what a spawned chain has of its spawner's is what its first node says, whatever its texts are.
func TestDescribeInheritance(t *testing.T) {
	call := calling("task", "t1")
	call.Parts[0].GetToolCall().Arguments = `{"task":"count the files of /srv"}`
	tests := []struct {
		name  string
		below string // the node that the spawned one is put below: "" or a name of the spawner's path
		from  string // the spawner, by name
		said  []*transcriptv1.MetadataEntry
		want  transcriptv1.Inheritance
	}{
		{"nothing is said", "", "call", nil, inheritsUnsaid},
		{"nothing is said below the call", "call", "call", nil, inheritsUnsaid},
		{"none", "", "call", inherits("none"), inheritsNothing},
		{"none, below the prompt", "prompt", "call", inherits("none"), inheritsNothing},
		{"arguments", "", "call", inherits("arguments"), inheritsArguments},
		{"arguments, of a node that is not there", "", "absent", inherits("arguments"), inheritsArguments},
		{"prefix", "call", "call", inherits("prefix"), inheritsPrefix},
		{"prefix, beside other metadata", "call", "call", append(variables("a", "1", "z", "2"), inherits("prefix")...), inheritsPrefix},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			ids := r.chain("", system("you are an agent"), user("what is there?"), call, result("t1", "wait"))
			named := map[string]string{"": "", "prompt": ids[0], "call": ids[2], "absent": absent}
			spawned := r.putWith(named[test.below], &PutNode{
				Messages: []*Message{user("count the files of /srv")}, SpawnedFrom: spawnedBy(named[test.from], "t1"), Metadata: test.said,
			})
			// Only the node that was spawned says it.
			later := r.putWith(spawned, &PutNode{Messages: []*Message{assistant("done")}, Metadata: inherits("none")})
			for _, head := range []string{spawned, later} {
				l := r.lineage(head, 0)
				equal(r, "what it inherits", l.Inheritance, test.want)
				equal(r, "the spawned node", l.SpawnedNodeId, spawned)
				r.sameReply("the link", l.SpawnedFrom, spawnedBy(named[test.from], "t1"))
			}
			equal(r, "what the spawner inherits", r.lineage(ids[3], 0).Inheritance, inheritsUnsaid)
		})
	}
}

// TestDescribeSpawnDepth: a chain of subagents tells how many spawns lie above, up to 64, each subagent in its own way.
func TestDescribeSpawnDepth(t *testing.T) {
	r := newRig(t)
	at := r.put("", user("u"), calling("task", "0"))
	equal(r, "the depth of the first", r.lineage(at, 0).SpawnDepth, 0)
	for i := 1; i <= 66; i++ {
		parent := ""
		if i%2 == 0 {
			parent = at
		}
		at = r.putWith(parent, &PutNode{
			Messages: []*Message{user("sub"), calling("task", fmt.Sprint(i))}, SpawnedFrom: spawnedBy(at, fmt.Sprint(i-1)),
		})
		l := r.lineage(at, 0)
		equal(r, "the depth", int(l.SpawnDepth), min(i, 64))
		equal(r, "whether it is more", l.SpawnDepthAtLeast, i > 64)
	}
	text := r.describe(&Describe{Head: byID(at)}).Text
	if !strings.Contains(text, ", 64 or more spawns above\n") {
		t.Errorf("the depth is not told by\n%s", text)
	}
	equal(r, "the depth below what is not there", r.lineage(r.spawn(absent, "c"), 0).SpawnDepth, 1)
}
