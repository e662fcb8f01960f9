package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
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
			equal(r, "its ancestors", n.Ancestors, int64(399-2*i))
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
		equal(r, "whether there are more", l.MoreCompactions, want < 5)
		for i, got := range l.Compactions {
			k := 4 - i
			n := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(ids[k])}))
			r.sameReply("a compaction", got, &transcriptv1.CompactionInfo{
				NodeId: ids[k], Ancestors: n.Ancestors, CoversThrough: covered[k], Messages: int64(len(n.Messages)),
				Bytes: n.Info.SizeBytes, Summary: k >= 3,
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

// TestDescribeInheritance: what a spawned chain has of its spawner's.
func TestDescribeInheritance(t *testing.T) {
	const given = `{"task":"count the files of /srv","deep":{"hint":["  start with the newest  "]},"x":"short"}`
	prompt := system("you are an agent")
	spawnerCall := calling("task", "t1", "t2")
	spawnerCall.Parts[0].GetToolCall().Arguments = given
	spawnerCall.Parts[1].GetToolCall().Arguments = " do it all again "
	tests := []struct {
		name  string
		below string // the node that the spawned one is put below: "" or a name of the spawner's path
		first []*Message
		then  []*Message // each a node behind the spawned one
		from  string     // the spawner, by name
		call  *string
		want  transcriptv1.Inheritance
	}{
		{"a chain of its own", "", []*Message{user("hello there")}, nil, "call", proto.String("t1"), inheritsNothing},
		{"the arguments as they were written", "", []*Message{user("Task: " + given)}, nil, "call", proto.String("t1"), inheritsArguments},
		{"a string of them", "", []*Message{user("Please count the files of /srv.")}, nil, "call", proto.String("t1"), inheritsArguments},
		{"a string deep in them", "", []*Message{user("start with the newest")}, nil, "call", proto.String("t1"), inheritsArguments},
		{"a short string of them", "", []*Message{user("short is in anything")}, nil, "call", proto.String("t1"), inheritsNothing},
		{"a name in them", "", []*Message{user("task deep hint")}, nil, "call", proto.String("t1"), inheritsNothing},
		{"arguments that are not JSON", "", []*Message{user("do it all again!")}, nil, "call", proto.String("t2"), inheritsArguments},
		{"those of another call", "", []*Message{user("do it all again!")}, nil, "call", proto.String("t1"), inheritsNothing},
		{"those of a call that is not there", "", []*Message{user("do it all again!")}, nil, "call", proto.String("t3"), inheritsNothing},
		{"those of any call", "", []*Message{user("do it all again!")}, nil, "call", nil, inheritsArguments},
		{"behind a prompt of its own", "", []*Message{system("you count"), user("do it all again!")}, nil, "call", proto.String("t2"), inheritsArguments},
		{"in a later node", "", []*Message{system("you count")}, []*Message{assistant("hi"), user("do it all again!")}, "call", proto.String("t2"), inheritsArguments},
		{"in the second user message", "", []*Message{user("first"), user("do it all again!")}, nil, "call", proto.String("t2"), inheritsNothing},
		{"below the same prompt", "prompt", []*Message{user("do it all again!")}, nil, "call", proto.String("t2"), inheritsArguments},
		{"below the same prompt, otherwise", "prompt", []*Message{user("hello there")}, nil, "call", proto.String("t2"), inheritsNothing},
		{"below the question", "question", []*Message{assistant("a fork")}, nil, "call", proto.String("t1"), inheritsPrefix},
		{"below the call", "call", []*Message{result("t1", "you are the one")}, nil, "call", proto.String("t1"), inheritsPrefix},
		{"behind the call", "result", []*Message{user("do it all again!")}, nil, "call", proto.String("t2"), inheritsPrefix},
		{"of a node without calls", "", []*Message{user("do it all again!")}, nil, "question", proto.String("t2"), inheritsNothing},
		{"of a node that is not there", "", []*Message{user("do it all again!")}, nil, "absent", proto.String("t2"), inheritsNothing},
		{"of a node that is not there, below the question", "question", []*Message{user("x")}, nil, "absent", proto.String("t2"), inheritsNothing},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			ids := r.chain("", prompt, user("what is there?"), spawnerCall, result("t1", "wait"))
			named := map[string]string{"": "", "prompt": ids[0], "question": ids[1], "call": ids[2], "result": ids[3], "absent": absent}
			spawned := r.putWith(named[test.below], &PutNode{
				Messages: test.first, SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: named[test.from], ToolCallId: test.call},
			})
			head := spawned
			for _, m := range test.then {
				head = r.put(head, m)
			}
			head = r.put(head, assistant("done"))
			l := r.lineage(head, 0)
			equal(r, "what it inherits", l.Inheritance, test.want)
			equal(r, "the spawned node", l.SpawnedNodeId, spawned)
			r.sameReply("the link", l.SpawnedFrom, &transcriptv1.SpawnedFromRef{NodeId: named[test.from], ToolCallId: test.call})
		})
	}
}

// TestDescribeInheritanceIsBounded: the first user message is looked for in a few nodes, and a call's texts are too many
// to look for each.
func TestDescribeInheritanceIsBounded(t *testing.T) {
	r := newRig(t)
	call := calling("task", "t1")
	var values []string
	for i := range 200 {
		values = append(values, fmt.Sprintf(`"%s %03d"`, strings.Repeat("x", 10), i))
	}
	call.Parts[0].GetToolCall().Arguments = "[" + strings.Join(values, ",") + `,"the longest of them all"]`
	spawner := r.put("", user("u"), call)
	inherits := func(behind int, s string) transcriptv1.Inheritance {
		t.Helper()
		at := r.putWith("", &PutNode{Messages: []*Message{system("s")}, SpawnedFrom: spawnedBy(spawner, "t1"), Salt: make([]byte, 16)})
		for range behind - 1 {
			at = r.put(at, assistant("not yet"))
		}
		return r.lineage(r.put(at, user(s)), 0).Inheritance
	}
	equal(r, "in the eighth node", inherits(7, "the longest of them all"), inheritsArguments)
	equal(r, "in the ninth node", inherits(8, "the longest of them all"), inheritsNothing)
	equal(r, "the first of equal length", inherits(1, strings.Repeat("x", 10)+" 000"), inheritsArguments)
	equal(r, "the last of 200", inherits(1, strings.Repeat("x", 10)+" 199"), inheritsNothing)
}
