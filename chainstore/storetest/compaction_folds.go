package storetest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// compactionGroups: the group that a chain ends in is that of the tail where the tail has one or ends one, else that of
// the node's own messages: so a further result of a call is left out, for another reason.
func compactionGroups(f *fixture) {
	ids := f.talk()
	for _, c := range []struct {
		parent, covers int
		kept           []Message
		calls          int
		why            runloop.LeftOut
	}{
		{8, 8, []Message{summary("so far"), user("question 2")}, 0, runloop.Late},
		{8, 8, []Message{user("question 2"), calling("write", "c3"), result("c3", "written")}, 1, runloop.Duplicate},
		{8, 5, []Message{user("question 1"), assistant("answer 1")}, 1, runloop.Duplicate},
		{8, 5, []Message{calling("read", "c1", "c2"), result("c1", "1"), result("c2", "2")}, 1, runloop.Duplicate},
		{9, 5, []Message{calling("read", "c1", "c2"), result("c1", "1"), result("c2", "2")}, 0, runloop.Late},
		{9, 9, []Message{calling("read", "c3", "c2"), result("c3", "1"), result("c2", "2")}, 2, runloop.Duplicate},
	} {
		id := f.put(compacted(ids[c.parent], ids[c.covers], c.kept...))
		equal(f, "the calls of the group", len(f.header(id).State.Group.Calls), c.calls)
		next := f.header(f.put(under(byID(id), result("c3", "again"), result("c3", "and again"))))
		equal(f, "why the result is left out", next.Messages[0].Mark.LeftOut, c.why)
		equal(f, "the repairs", next.State.Repairs, 2)
		equal(f, "the full messages", next.State.Full.Messages, int64(c.parent)+3)
	}
	f.clean()
}

// compactionRepairs: results that are left out and stubs are counted where they are still shown: in the preamble, in the
// node's messages and in the tail.
func compactionRepairs(f *fixture) {
	told := []Message{
		system("s"), user("q"), calling("t", "1", "2"), user("stop"), result("1", "late"), calling("t", "3"), result("4", "orphan"),
		result("3", "ok"), result("3", "again"), user("on"), result("2", "late"), calling("t", "5"), assistant("a"),
	}
	ids := f.chain(chainstore.Parent{}, told...)
	equal(f, "the repairs", f.header(ids[12]).State.Repairs, 7)
	kept := []Message{user("q"), calling("t", "1"), user("stop"), result("1", "late")}
	for _, c := range []struct {
		parent, covers int
		repairs        int64
	}{{3, 3, 2}, {4, 3, 3}, {8, 3, 5}, {8, 4, 4}, {8, 7, 3}, {12, 7, 5}, {12, 8, 4}, {12, 12, 2}, {11, 3, 6}} {
		id := f.put(compacted(ids[c.parent], ids[c.covers], kept...))
		f.shows(id, append([][]Message{told[:1], kept}, each(told[c.covers+1:c.parent+1]...)...)...)
		equal(f, fmt.Sprint("the repairs of ", c), f.header(id).State.Repairs, c.repairs)
		f.keepsFull(id, ids[c.parent])
		next := f.put(under(byID(id), calling("t", "6"), user("done")))
		equal(f, "the repairs behind", f.header(next).State.Repairs, c.repairs+1+int64(f.header(id).State.Group.Unanswered()))
	}
	f.clean()
}

// compactionMarks: a compaction node's messages are marked by folding them alone, behind the preamble. A line that could
// replace a result names the place where it was put first, so the index there counts for its length; what the server
// made has no line, and no id is repeated or late but for the node's own.
func compactionMarks(f *fixture) {
	ids := f.talk()
	long := strings.Repeat("output ", 60)
	made := result("c2", long)
	made.Made = true
	n := compacted(ids[9], ids[9], summary("so far"), user("q"), calling("t", "c1", "c2", "c1", "c1"), result("c1", long), made, result("c1", long),
		result("c1", long), result("c1", "one more"), user("on"), result("c2", "late"), result("c3", "not here"), calling("t", "c8"),
		result("c8", long))
	places := map[int]uint32{3: 9, 5: 10, 6: 12345}
	for i, index := range places {
		n.Compaction.Provenance[i] = chainstore.Provenance{Present: true, Place: runloop.Place{Seq: 3, Index: index}}
	}
	n.Compaction.Provenance[12].Present = false // its own index counts then
	id := f.put(n)
	h := f.header(id)
	facts := f.cfg.Encoding.Make(n)
	node := runloop.Node{Seq: 10, Prefix: id.Prefix(), Times: h.Times(), Messages: facts.Messages}
	for i, p := range n.Compaction.Provenance {
		node.PutAt = append(node.PutAt, uint32(i))
		if p.Present {
			node.PutAt[i] = p.Place.Index
		}
	}
	var s runloop.State
	want, _, err := s.Fold(node, func(runloop.Optional) bool { return false })
	f.ok(err)
	for i := range want {
		want[i].Interrupts = false // findings are told where messages were put
		if !reflect.DeepEqual(h.Messages[i].Mark, want[i]) {
			f.Fatalf("message %d is marked %+v, want %+v", i, h.Messages[i].Mark, want[i])
		}
	}
	line := h.Messages[3].Mark.LineLength
	equal(f, "the line of a larger index", h.Messages[5].Mark.LineLength, line+1)
	equal(f, "the line of the largest index", h.Messages[6].Mark.LineLength, line+4)
	equal(f, "the line without provenance", h.Messages[12].Mark.LineLength, line+1)
	equal(f, "the line of what was made", h.Messages[4].Mark.LineLength, 0)
	equal(f, "the ids that repeat", h.Messages[2].Mark.RepeatedIDs, 2)
	for i, why := range map[int]runloop.LeftOut{7: runloop.Duplicate, 9: runloop.Late, 10: runloop.Orphan} {
		equal(f, "why it is left out", h.Messages[i].Mark.LeftOut, why)
	}
	f.clean()
}

// compactionLeftOutLine: a left-out line is in no run loop and of no user, like a summary, and the header keeps what it says.
func compactionLeftOutLine(f *fixture) {
	ids := f.talk()
	kept := []Message{summary("so far"), leftOut(7), user("question 2"), assistant("answer 2")}
	h := f.header(f.put(compacted(ids[9], ids[9], kept...)))
	for i := range kept {
		m := &h.Messages[i]
		equal(f, "which message is the line", m.LeftOutLine, i == 1)
		equal(f, "what it says", m.LeftOutLoops, kept[i].LeftOut)
		equal(f, "where a loop begins", m.Mark.BeginsLoop, i == 2)
	}
	equal(f, "the loops", h.State.Effective.Loops, 1)
	equal(f, "the messages", h.State.Effective.Messages, 5)
	equal(f, "the depth", h.State.Effective.Depth, 4)
	alone := f.header(f.put(compacted(ids[9], ids[9], leftOut(1<<31-1))))
	equal(f, "the largest", alone.Messages[0].LeftOutLoops, 1<<31-1)
	equal(f, "that a user was heard", alone.State.Effective.HasLatestUser, false)
	equal(f, "the phase", alone.State.Effective.Loop.Phase, runloop.None)
	f.clean()
}

// compactionLatestUser: the latest user time is found anew in what is shown.
func compactionLatestUser(f *fixture) {
	at := func(m Message, t int64) Message {
		m.Note = runloop.Note{HasSentAt: true, SentAt: t}
		return m
	}
	ids := f.chain(chainstore.Parent{}, system("s"), at(user("1"), 5000), assistant("a"), at(user("2"), 300), assistant("b"))
	view := func(n Node) runloop.View { return f.header(f.put(n)).State.Effective }
	equal(f, "the latest user", f.header(ids[4]).State.Effective.LatestUser, 5000)
	equal(f, "that of the tail", view(compacted(ids[4], ids[2], summary("s"))).LatestUser, 300)
	equal(f, "none", view(compacted(ids[4], ids[4], summary("s"))).HasLatestUser, false)
	equal(f, "that of the copies", view(compacted(ids[4], ids[2], at(user("1"), 5000))).LatestUser, 5000)
	f.clock.Advance(1e9)
	equal(f, "that of a copy without one", view(compacted(ids[4], ids[4], user("2"))).LatestUser, millis(f.clock.Now()))
	id := f.put(compacted(ids[4], ids[4], summary("s"), at(user("2"), 300)))
	equal(f, "that of the full view", f.header(id).State.Full.LatestUser, 5000)
	next := f.header(f.put(under(byID(id), at(user("3"), 400))))
	equal(f, "that behind", next.State.Effective.LatestUser, 400)
	equal(f, "that behind in full", next.State.Full.LatestUser, 5000)
	ahead := millis(f.clock.Now()) + 1_000_000
	wrong := f.put(under(byID(next.ID), at(user("4"), ahead)))
	equal(f, "one sent later than put", f.header(wrong).State.Effective.LatestUser, millis(f.clock.Now()))
	equal(f, "a copy that says so", view(compacted(wrong, wrong, at(user("4"), ahead))).LatestUser, ahead)
	f.clean()
}
