package storetest

import (
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// ending is a node below the one before that ends the run.
func ending(outcome string, messages ...Message) Node {
	n := under(previous(), messages...)
	n.Metadata = []Entry{{"run/end", outcome}}
	return n
}

// ended is s, q1, a call that nobody answered [2], stopped [3], q2, its answer by a tool [5], replied with its result [6].
func (f *fixture) ended() []chainstore.ID {
	f.Helper()
	out := f.commit([]Node{
		root(system("s")), under(previous(), user("q1")), under(previous(), calling("read", "c1")), ending("stopped"),
		under(previous(), user("q2")), under(previous(), calling("reply", "c2")), ending("replied", result("c2", "sent")),
	})
	var ids []chainstore.ID
	for _, n := range out.Nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// compactionLoops: the loops of a compaction node are those that it says, and what comes behind goes on from where the last of them
// stands; of copies without loops said, those that are found in them. The full fold knows of neither.
func compactionLoops(f *fixture) {
	ids := f.ended()
	for _, c := range []struct {
		what   string
		loops  *runloop.Loops
		next   Message
		copies int64 // loops of the copies
		behind int64 // and with what comes next
	}{
		{"ended, a question", &runloop.Loops{Begins: []bool{true, true}, Phase: runloop.Ended}, user("q3"), 2, 3},
		{"asked, a question", &runloop.Loops{Begins: []bool{true, true}, Phase: runloop.Asked}, user("q3"), 2, 2},
		{"ended, more work", &runloop.Loops{Begins: []bool{true, true}, Phase: runloop.Ended}, assistant("a"), 2, 2},
		{"one of two", &runloop.Loops{Begins: []bool{true, false}, Phase: runloop.Working}, user("q3"), 1, 2},
		{"not said", nil, user("q3"), 1, 1},
	} {
		n := compacted(ids[6], ids[6], user("q1"), user("q2"))
		n.Salt = []byte(c.what) // the loops are not hashed
		n.Compaction.Loops = c.loops
		id := f.put(n)
		h := f.header(id)
		equal(f, c.what+": the loops of the copies", h.State.Effective.Loops, c.copies)
		if c.loops != nil {
			equal(f, c.what+": where the last stands", h.Stands, c.loops.Phase)
			equal(f, c.what+": so does the fold", h.State.Effective.Loop.Phase, c.loops.Phase)
			for i, begins := range c.loops.Begins {
				equal(f, c.what+": that a loop begins", h.Messages[i].Mark.BeginsLoop, begins)
			}
		}
		f.keepsFull(id, ids[6])
		next := f.header(f.put(under(byID(id), c.next)))
		equal(f, c.what+": the loops behind", next.State.Effective.Loops, c.behind)
		full := int64(2)
		if c.next.Role == runloop.User {
			full++
		}
		equal(f, c.what+": the loops of the full fold", next.State.Full.Loops, full)
	}
	f.clean()
}

// compactionOutcomes: an outcome behind what is covered ends the loop, and the group with its stubs, as if nothing had been compacted.
func compactionOutcomes(f *fixture) {
	ids := f.ended()
	for covers, repairs := range map[int]int64{1: 1, 3: 0, 4: 0, 6: 0} {
		n := compacted(ids[6], ids[covers], user("kept"))
		n.Compaction.Loops = &runloop.Loops{Begins: []bool{true}, Phase: runloop.Ended}
		h := f.header(f.put(n))
		equal(f, "where the loop stands", h.State.Effective.Loop.Phase, runloop.Ended)
		equal(f, "the repairs", h.State.Repairs, repairs)
		equal(f, "the outcome of the full fold", h.State.Full.Loop.Outcome, runloop.Replied)
		want := runloop.Replied
		if covers == 6 {
			want = runloop.NoOutcome // that of copies is not told
		}
		equal(f, "the outcome of the view", h.State.Effective.Loop.Outcome, want)
		equal(f, "the calls of the group", len(h.State.Group.Calls), 0)
		late := f.header(f.put(under(byID(h.ID), result("c2", "again"))))
		equal(f, "a result behind the outcome", late.Messages[0].Mark.LeftOut, runloop.Late)
		equal(f, "it changes nothing", late.State.Effective.Loop, h.State.Effective.Loop)
	}
	stopped := f.header(ids[3])
	equal(f, "the stubs at the end", len(stopped.Stubs), 1)
	equal(f, "the outcome", stopped.Outcome, runloop.Stopped)
	again := f.header(f.put(under(byID(ids[3]), assistant("on"))))
	equal(f, "more work takes it back", again.State.Full.Loop.Outcome, runloop.NoOutcome)
	equal(f, "what was unanswered before it", again.State.Full.Loop.Unanswered, false)
	f.clean()
}
