package storetest

import (
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
)

// compactionOfCompactions: a chain that is compacted two and three times; what is covered is a compaction node, or lies
// behind one, at the same node as before too.
func compactionOfCompactions(f *fixture) {
	ids, all := f.talk(), talkMessages()
	first := f.put(compacted(ids[9], ids[5], summary("one")))
	f.shows(first, append([][]Message{all[:1], {summary("one")}}, each(all[6:]...)...)...)
	again := f.put(compacted(first, ids[5], summary("two")))
	f.shows(again, append([][]Message{all[:1], {summary("two")}}, each(all[6:]...)...)...)
	f.keepsFull(again, first)
	of := f.put(compacted(first, first, summary("two"), user("question 2")))
	f.shows(of, all[:1], []Message{summary("two"), user("question 2")})
	equal(f, "what is covered", f.header(of).Covers, chainstore.Link{Present: true, Seq: 10})
	twice := f.put(compacted(again, first, summary("three")))
	f.shows(twice, all[:1], []Message{summary("three")})

	on := f.chain(byID(of), user("question 3"), calling("t", "c4"))
	f.shows(on[1], all[:1], []Message{summary("two"), user("question 2")}, []Message{user("question 3")}, []Message{calling("t", "c4")})
	third := f.put(compacted(on[1], on[0], summary("three"), user("question 2"), user("question 3")))
	f.shows(third, all[:1], []Message{summary("three"), user("question 2"), user("question 3")}, []Message{calling("t", "c4")})
	last := f.put(under(byID(third), result("c4", "r"), assistant("answer 3")))
	h := f.header(last)
	equal(f, "the full nodes", h.State.Full.Nodes, 13)
	equal(f, "the full messages", h.State.Full.Messages, 14)
	equal(f, "the full loops", h.State.Full.Loops, 3)
	equal(f, "the compaction", h.Compaction, chainstore.Link{Present: true, Seq: 14})
	equal(f, "the depth", h.State.Effective.Depth, 5)
	f.clean()
}

// compactionBeforeCompaction: what is covered lies before the compaction node before, but not before what that covers:
// the tail has nodes of both sides of it, and not its messages.
func compactionBeforeCompaction(f *fixture) {
	ids, all := f.talk(), talkMessages()
	first := f.put(compacted(ids[8], ids[1], user("question 1"), calling("x", "y"), result("y", "z")))
	on := f.chain(byID(first), assistant("answer 2"), user("question 3"))
	for _, covers := range []int{1, 4, 5, 6, 8} {
		id := f.put(compacted(on[1], ids[covers], summary("so far"), user("kept")))
		f.keepsFull(id, on[1])
		view := append([][]Message{all[:1], {summary("so far"), user("kept")}}, each(all[covers+1:9]...)...)
		view = append(view, []Message{assistant("answer 2")}, []Message{user("question 3")})
		f.shows(id, view...)
		f.shows(f.put(under(byID(id), assistant("a"))), append(view, []Message{assistant("a")})...)
	}
	f.clean()
}

// compactionForks: branches that leave below a compaction share it; those that leave above do not see it; several
// compactions of one head do not see each other.
func compactionForks(f *fixture) {
	ids, all := f.talk(), talkMessages()
	kept := []Message{summary("so far")}
	first := f.put(compacted(ids[9], ids[5], kept...))
	other := f.put(compacted(ids[9], ids[9], kept...))
	above := f.put(under(byID(ids[9]), user("another way")))
	f.shows(above, append(each(all...), []Message{user("another way")})...)
	equal(f, "the compaction above", f.header(above).Compaction.Present, false)
	tail := each(all[6:]...)
	for i := range 3 {
		below := f.put(under(byID(first), user(fmt.Sprint("branch ", i))))
		f.shows(below, append(append([][]Message{all[:1], kept}, tail...), []Message{user(fmt.Sprint("branch ", i))})...)
		h := f.header(below)
		equal(f, "the compaction below", h.Compaction, chainstore.Link{Present: true, Seq: 10})
		equal(f, "the forks", h.Forks, uint32(min(i, 1)))
		own := f.put(compacted(below, ids[6], summary(fmt.Sprint("own ", i))))
		f.shows(own, append(append([][]Message{all[:1], {summary(fmt.Sprint("own ", i))}}, tail[1:]...), []Message{user(fmt.Sprint("branch ", i))})...)
	}
	f.shows(other, all[:1], kept)
	equal(f, "the forks of the second", f.header(other).Forks, 1)
	equal(f, "the forks of the third", f.header(above).Forks, 1)
	middle := f.put(compacted(ids[6], ids[5], kept...))
	f.shows(middle, all[:1], kept, all[6:7])
	c := f.head(idRef(f.put(under(byID(middle), assistant("a")))), &middle)
	equal(f, "the place of the compaction", c.After(), 7)
	f.clean()
}

// compactionRetry: the same compaction again is the same node, whatever came since.
func compactionRetry(f *fixture) {
	ids := f.talk()
	n := compacted(ids[9], ids[5], summary("so far"))
	id := f.put(n, set("chat", 0, anything()))
	f.put(under(byID(id), user("on")))
	out := f.commit([]Node{n}, set("chat", 0, extending(ids[9])))
	equal(f, "the id", out.Nodes[0].ID, id)
	equal(f, "created", out.Nodes[0].Created, false)
	equal(f, "changed", out.Aliases[0].Changed, false)
	equal(f, "the totals", out.Nodes[0].Effective, f.header(id).State.Effective.Totals)
	equal(f, "the full totals", out.Nodes[0].Full, f.header(id).State.Full.Totals)
	other := n
	other.Compaction = &chainstore.Compaction{Covers: ids[6], Provenance: n.Compaction.Provenance}
	if f.put(other) == id {
		f.Fatal("what is covered is not in the id")
	}
	plain := under(byID(ids[9]), n.Messages...)
	if f.put(plain) == id {
		f.Fatal("a plain node has the id of a compaction node")
	}
	moved := n
	moved.Compaction = &chainstore.Compaction{Covers: ids[5], Provenance: []chainstore.Provenance{{Present: true}}}
	equal(f, "the id with another provenance", f.put(moved), id)
	equalSlices(f, "the provenance that stays", f.header(id).Provenance, n.Compaction.Provenance)
	f.clean()
}

// compactionOneChange: a compaction node may stand behind and before others in a change, and cover one of them.
func compactionOneChange(f *fixture) {
	chain := []Node{root(system("s"), user("q")), under(previous(), assistant("a")), under(previous(), user("r"))}
	covers := f.idOf(chain[1], ptr(f.idOf(chain[0], nil)))
	c := compacted(chainstore.ID{}, covers, summary("so far"))
	c.Parent = previous()
	nodes := append(chain, c, under(previous(), assistant("b")))
	out := f.commit(nodes, set("chat", 4, mustNotExist()), set("c", 3, mustNotExist()))
	for i, p := range out.Nodes {
		equal(f, "created", p.Created, true)
		equal(f, "the totals", p.Effective, f.header(p.ID).State.Effective.Totals)
		equal(f, "the place", f.header(p.ID).Seq, uint32(i))
	}
	f.shows(out.Nodes[4].ID, []Message{system("s")}, []Message{summary("so far")}, []Message{user("r")}, []Message{assistant("b")})
	a, err := f.store.Alias(f.ctx(), f.ns, "c")
	f.ok(err)
	equal(f, "the alias's totals", a.Effective, out.Nodes[3].Effective)
	equal(f, "the alias's full totals", a.Full, out.Nodes[2].Full)
	again := f.commit(nodes, set("chat", 4, mustNotExist()))
	equal(f, "created again", again.Nodes[3].Created, false)
	byName := compacted(chainstore.ID{}, out.Nodes[4].ID, summary("all"))
	byName.Parent = byAlias("chat")
	id := f.put(byName, set("chat", 0, extending(out.Nodes[3].ID)))
	f.points("chat", id)
	f.shows(id, []Message{system("s")}, []Message{summary("all")})
	f.clean()
}

func ptr(id chainstore.ID) *chainstore.ID { return &id }

// compactionLongChain: compactions far behind what they cover and far from the root, over forks.
func compactionLongChain(f *fixture) {
	trunk := f.long(chainstore.Parent{}, 300)
	side := f.long(byID(trunk[100]), 150)
	for _, c := range []struct {
		parent, covers chainstore.ID
		tail           int64
	}{
		{trunk[299], trunk[0], 299}, {trunk[299], trunk[299], 0}, {trunk[299], trunk[150], 149},
		{side[149], trunk[50], 200}, {side[149], trunk[100], 150}, {side[149], side[0], 149},
	} {
		id := f.put(compacted(c.parent, c.covers, summary("so far")))
		h := f.header(id)
		equal(f, "the nodes", h.State.Effective.Nodes, c.tail+1)
		equal(f, "the messages", h.State.Effective.Messages, c.tail+1)
		next := f.header(f.long(byID(id), 40)[39])
		equal(f, "the nodes behind", next.State.Effective.Nodes, c.tail+41)
		equal(f, "the full nodes behind", next.State.Full.Nodes, f.header(c.parent).State.Full.Nodes+40)
		second := f.header(f.put(compacted(next.ID, id, summary("all"))))
		equal(f, "the nodes of the second", second.State.Effective.Nodes, 41)
	}
	f.clean()
}
