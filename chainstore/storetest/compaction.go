package storetest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func compactionChecks() []check {
	return []check{
		{Compaction, "Header", compactionHeader},
		{Compaction, "Totals", compactionTotals},
		{Compaction, "AskedAgain", compactionAskedAgain},
		{Compaction, "PreambleInsideNode", compactionPreambleInsideNode},
		{Compaction, "OpenCallsBehind", compactionOpenCallsBehind},
		{Compaction, "Groups", compactionGroups},
		{Compaction, "Repairs", compactionRepairs},
		{Compaction, "Marks", compactionMarks},
		{Compaction, "LatestUser", compactionLatestUser},
		{Compaction, "LoopsOfCopies", compactionLoops},
		{Compaction, "CallFacts", callFacts},
		{Compaction, "OutcomesBehind", compactionOutcomes},
		{Compaction, "LoopsOfAliases", compactionAliasLoops},
		{Compaction, "LoopsReach", compactionLoopsReach},
		{Compaction, "OfCompactions", compactionOfCompactions},
		{Compaction, "BeforeCompaction", compactionBeforeCompaction},
		{Compaction, "Forks", compactionForks},
		{Compaction, "Retry", compactionRetry},
		{Compaction, "OneChange", compactionOneChange},
		{Compaction, "RecallAndTables", compactionRecall},
		{Compaction, "RepeatedIDs", compactionRepeatedIDs},
		{Compaction, "LeftOutLine", compactionLeftOutLine},
		{Compaction, "AnsweredAgain", compactionAnsweredAgain},
		{Compaction, "LongChain", compactionLongChain},
		{Compaction, "NotCovered", notCovered},
		{Compaction, "OrderOfErrors", compactionOrderOfErrors},
		{Compaction, "Extends", extends},
		{Compaction, "ExtendsAmongOthers", extendsAmongOthers},
		{Compaction, "ExtendsFromBehind", extendsFromBehind},
		{Compaction, "ConflictTellsCompaction", conflictTellsCompaction},
		{Judging, "Compactions", func(f *fixture) { f.compacting(compactionJudged) }},
		{Reopening, "Compactions", func(f *fixture) { f.compacting(compactionReopening) }},
		{Concurrency, "Compactions", func(f *fixture) { f.compacting(compactionsAtOnce) }},
		{Concurrency, "BadCompactionsAmongGood", func(f *fixture) { f.compacting(badCompactionsAtOnce) }},
	}
}

// summary is a message that only a compaction node has.
func summary(text string) Message {
	return Message{Role: runloop.User, Text: text, Summary: true}
}

// leftOut is a left-out line, which only a compaction node has.
func leftOut(loops int64) Message {
	return Message{Role: runloop.User, Text: runloop.LeftOutText(loops), LeftOut: loops}
}

// compacted is a compaction node under parent that covers a node. Its summaries and left-out lines come from nowhere, its other messages
// from the root, where they had the index that they have here.
func compacted(parent, covers chainstore.ID, messages ...Message) Node {
	n := under(byID(parent), messages...)
	n.Compaction = &chainstore.Compaction{Covers: covers}
	for i := range messages {
		p := chainstore.Provenance{Present: !messages[i].Summary && messages[i].LeftOut == 0}
		if p.Present {
			p.Place.Index = uint32(i)
		}
		n.Compaction.Provenance = append(n.Compaction.Provenance, p)
	}
	return n
}

// talk is a preamble and two closed loops, each message in a node of its own: s, q1 [1], call c1 c2 [2], results [3]
// [4], a1 [5], q2 [6], call c3 [7], result [8], a2 [9].
func (f *fixture) talk() []chainstore.ID {
	f.Helper()
	return f.chain(chainstore.Parent{}, talkMessages()...)
}

func talkMessages() []Message {
	return []Message{
		system("be kind"), user("question 1"), calling("read", "c1", "c2"), result("c1", "output 1"), result("c2", "output 2"),
		assistant("answer 1"), user("question 2"), calling("write", "c3"), result("c3", "written"), assistant("answer 2"),
	}
}

// compacting runs a check of another category that needs compaction nodes.
func (f *fixture) compacting(run func(*fixture)) {
	f.Helper()
	if reason, skip := f.cfg.Skip[Compaction]; skip {
		f.TB.(*testing.T).Skipf("%s does not apply: %s", Compaction, reason)
	}
	run(f)
}

func (f *fixture) header(id chainstore.ID) *chainstore.Header {
	f.Helper()
	return f.head(idRef(id), nil).Head()
}

// shows asserts what the effective view of a head is: the fold ends as that of a plain chain does whose nodes have the
// given messages. It is put in another namespace.
func (f *fixture) shows(head chainstore.ID, nodes ...[]Message) {
	f.Helper()
	plain := f.in(f.ns + "-plain")
	var chain []Node
	for i, messages := range nodes {
		chain = append(chain, under(previous(), messages...))
		if i == 0 {
			chain[0].Parent = chainstore.Parent{}
		}
	}
	put := plain.commit(chain).Nodes
	got, want := f.header(head).State, plain.header(put[len(put)-1].ID).State
	for _, l := range []*runloop.Loop{&got.Effective.Loop, &want.Effective.Loop} { // what a reply closes, the full fold tells
		*l = runloop.Loop{Phase: l.Phase, LeadIn: l.LeadIn}
	}
	equal(f, "the effective fold", got.Effective, want.Effective)
	equal(f, "the repairs", got.Repairs, want.Repairs)
	if !reflect.DeepEqual(got.Group, want.Group) {
		f.Fatalf("the group is %+v, want %+v", got.Group, want.Group)
	}
}

// each puts every message into a node of its own.
func each(messages ...Message) [][]Message {
	var out [][]Message
	for _, m := range messages {
		out = append(out, []Message{m})
	}
	return out
}

// keepsFull asserts that the full fold, the preamble and the links of a compaction node are its parent's.
func (f *fixture) keepsFull(id, parent chainstore.ID) {
	f.Helper()
	h, up := f.header(id), f.header(parent)
	equal(f, "the full fold", h.State.Full, up.State.Full)
	equal(f, "that the preamble is closed", h.State.PreambleClosed, up.State.PreambleClosed)
	equal(f, "the preamble's end", h.State.PreambleEnd, up.State.PreambleEnd)
	equal(f, "the tools", h.Tools, up.Tools)
	equal(f, "the variables", h.Variables, up.Variables)
	equal(f, "the spawned", h.Spawned, up.Spawned)
	equal(f, "the place", h.Seq, up.Seq+1)
	equal(f, "the compaction", h.Compaction, chainstore.Link{Present: true, Seq: h.Seq})
}

// compactionHeader: what was put comes back, the links are as they must be, and a node behind has them too.
func compactionHeader(f *fixture) {
	nodes := everyKind()
	put := f.commit(nodes).Nodes
	through, parent := put[6].ID, put[7].ID // nothing is open behind "and now?"
	n := compacted(parent, through, summary("they talked"), user("and now?"), calling("read", "k"), result("k", "again"))
	n.Salt = []byte("sixteen bytes...")
	n.Messages[1].Note = runloop.Note{HasSentAt: true, SentAt: 12, HasTokens: true, Tokens: 3}
	n.Compaction.Provenance[1] = chainstore.Provenance{Present: true, Place: runloop.Place{Seq: 6, Index: 0}}
	n.Compaction.Provenance[2] = chainstore.Provenance{Present: true, Place: runloop.Place{Seq: 6, Index: 300}}
	f.clock.Advance(5e6)
	id := f.put(n)
	f.keepsFull(id, parent)
	rows := f.all(idRef(id))
	made := f.cfg.Encoding.Make(n)
	f.matches(rows[8], &made)
	h := rows[8].header
	equal(f, "the id", h.ID, id)
	equal(f, "the first put", h.FirstPut, millis(f.clock.Now()))
	equal(f, "what is covered", h.Covers, chainstore.Link{Present: true, Seq: 6})
	equalSlices(f, "the provenance", h.Provenance, n.Compaction.Provenance)
	equal(f, "that it is a compaction node", rows[8].raw.IsCompaction(), true)
	equal(f, "that its parent is one", rows[7].raw.IsCompaction(), false)
	equal(f, "the parent's compaction", rows[7].header.Compaction.Present, false)

	below := f.put(under(byID(id), user("on"), calling("read", "n")))
	h = f.header(below)
	equal(f, "the nearest compaction", h.Compaction, chainstore.Link{Present: true, Seq: 8})
	equal(f, "what a plain node covers", h.Covers.Present, false)
	equal(f, "its provenance", len(h.Provenance), 0)
	equal(f, "its tools", h.Tools, chainstore.Link{Present: true, Seq: 9})
	equal(f, "its variables", h.Variables, f.header(parent).Variables)
	f.clean()
}

// compactionTotals: a compaction at the head and one that leaves a tail, and the chain that goes on.
func compactionTotals(f *fixture) {
	ids, all := f.talk(), talkMessages()
	kept := []Message{user("question 1"), assistant("answer 1")}
	atHead := f.put(compacted(ids[9], ids[9], append(slices.Clone(kept), user("question 2"), assistant("answer 2"))...))
	f.keepsFull(atHead, ids[9])
	f.shows(atHead, all[:1], append(slices.Clone(kept), user("question 2"), assistant("answer 2")))
	equal(f, "where the last loop starts", f.header(atHead).State.Effective.Loop.Start, runloop.Place{Seq: 10, Index: 2})
	equal(f, "where the full one starts", f.header(atHead).State.Full.Loop.Start, runloop.Place{Seq: 6})

	inside := f.put(compacted(ids[9], ids[5], kept...))
	f.keepsFull(inside, ids[9])
	view := append([][]Message{all[:1], kept}, each(all[6:]...)...)
	f.shows(inside, view...)
	equal(f, "where the last loop starts", f.header(inside).State.Effective.Loop.Start, runloop.Place{Seq: 6})
	equal(f, "the full nodes", f.header(inside).State.Full.Nodes, 10)

	next := f.put(under(byID(inside), user("question 3")))
	view = append(view, []Message{user("question 3")})
	f.shows(next, view...)
	h := f.header(next)
	equal(f, "the full nodes", h.State.Full.Nodes, 11)
	equal(f, "the full messages", h.State.Full.Messages, 11)
	equal(f, "the full loops", h.State.Full.Loops, 3)
	equal(f, "where the last loop starts", h.State.Effective.Loop.Start, runloop.Place{Seq: 11})

	nothing := f.put(compacted(ids[9], ids[5]))
	f.shows(nothing, append([][]Message{all[:1], nil}, each(all[6:]...)...)...)
	f.clean()
}

// compactionAskedAgain: where a compaction keeps the question alone of a loop that is open, and does not say that it is worked on, the
// loop is asked again, and a further question joins it; in the full view it begins another.
func compactionAskedAgain(f *fixture) {
	ids := f.talk()
	kept := []Message{summary("they talked"), user("question 2")}
	id := f.put(compacted(ids[8], ids[8], kept...))
	f.shows(id, []Message{system("be kind")}, kept)
	loop := f.header(id).State.Effective.Loop
	equal(f, "the loop", loop, runloop.Loop{Phase: runloop.Asked, Start: runloop.Place{Seq: 9, Index: 1}})
	equal(f, "the loop of the full view", f.header(id).State.Full.Loop.Phase, runloop.Working)

	more := f.put(under(byID(id), user("and hurry")))
	h := f.header(more)
	equal(f, "the loops", h.State.Effective.Loops, 1)
	equal(f, "the full loops", h.State.Full.Loops, 3)
	equal(f, "that it begins no loop", h.Messages[0].Mark.BeginsLoop, false)
	equal(f, "the loop's start", h.State.Effective.Loop.Start, runloop.Place{Seq: 9, Index: 1})

	working := compacted(ids[8], ids[8], kept...)
	working.Salt = []byte("sixteen bytes...")
	working.Compaction.Loops = &runloop.Loops{Begins: []bool{false, true}, Phase: runloop.Working}
	h = f.header(f.put(working))
	equal(f, "how the loop stands", h.Stands, runloop.Working)
	equal(f, "the loop that is worked on", h.State.Effective.Loop, runloop.Loop{Phase: runloop.Working, Start: runloop.Place{Seq: 9, Index: 1}})
	h = f.header(f.put(under(byID(h.ID), user("and hurry"))))
	equal(f, "the loops", h.State.Effective.Loops, 2)
	equal(f, "that it begins a loop", h.Messages[0].Mark.BeginsLoop, true)

	answered := f.put(under(byID(id), assistant("answer 2")))
	f.shows(answered, []Message{system("be kind")}, kept, []Message{assistant("answer 2")})
	loop = f.header(answered).State.Effective.Loop
	equal(f, "that it is closed", loop.Closed(), true)
	f.clean()
}

// compactionPreambleInsideNode: a preamble that ends inside a node, which is then shown in part, before and behind what
// is covered, and with a result that answers nothing in it.
func compactionPreambleInsideNode(f *fixture) {
	orphan := result("nobody", "?")
	out := f.commit([]Node{
		root(system("s")), under(previous(), system("t"), orphan, Message{Role: runloop.Developer, Text: "d"}, user("q"), system("late")),
		under(previous(), assistant("a")), under(previous(), user("q2")),
	}).Nodes
	begun := []Message{system("t"), orphan, {Role: runloop.Developer, Text: "d"}}
	for covers, tail := range map[int][][]Message{
		1: {{assistant("a")}, {user("q2")}}, 2: {{user("q2")}}, 3: nil,
	} {
		id := f.put(compacted(out[3].ID, out[covers].ID, summary("so far"), user("q")))
		f.keepsFull(id, out[3].ID)
		f.shows(id, append([][]Message{{system("s")}, begun, {summary("so far"), user("q")}}, tail...)...)
	}
	whole := f.commit([]Node{root(system("s"), user("q"), assistant("a")), under(previous(), user("q2"))}).Nodes
	id := f.put(compacted(whole[1].ID, whole[0].ID, user("q")))
	f.shows(id, []Message{system("s")}, []Message{user("q")}, []Message{user("q2")})
	bare := f.chain(chainstore.Parent{}, user("q"), assistant("a"), user("q2"))
	id = f.put(compacted(bare[2], bare[1], user("q")))
	f.shows(id, []Message{user("q")}, []Message{user("q2")})
	f.clean()
}

// compactionOpenCallsBehind: calls that are open behind what is covered stay so, and are answered behind the node.
func compactionOpenCallsBehind(f *fixture) {
	ids, all := f.talk(), talkMessages()
	kept := []Message{user("question 1"), assistant("answer 1")}
	id := f.put(compacted(ids[7], ids[5], kept...))
	view := append([][]Message{all[:1], kept}, each(all[6:8]...)...)
	f.shows(id, view...)
	equal(f, "the open calls", f.header(id).State.Group.Unanswered(), 1)
	answered := f.put(under(byID(id), result("c3", "written")))
	f.shows(answered, append(view, []Message{result("c3", "written")})...)
	equal(f, "the open calls", f.header(answered).State.Group.Unanswered(), 0)
	equal(f, "why the result is left out", f.header(answered).Messages[0].Mark.LeftOut, runloop.Shown)
	ended := f.put(under(byID(id), user("stop")))
	f.shows(ended, append(view, []Message{user("stop")})...)
	equal(f, "the stubs", len(f.header(ended).Messages[0].Mark.Stubs), 1)
	equal(f, "the repairs", f.header(ended).State.Repairs, 1)
	f.clean()
}
