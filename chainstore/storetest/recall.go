package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func recallChecks() []check {
	return []check{
		{Calls, "AcrossForks", callsAcrossForks},
		{Calls, "EveryForm", callsOfEveryForm},
		{Calls, "NodesWithCalls", nodesWithCalls},
		{Tables, "AcrossForks", tablesAcrossForks},
		{Tables, "Limits", tableLimits},
		{Tables, "VariablesUnset", variablesUnset},
		{Tables, "VariablesFreed", variablesFreed},
	}
}

// places writes down where a path has a call id: the place of each node, and its calls (c) and results (r), those left
// out with a minus.
func (f *fixture) places(head chainstore.ID, id runloop.Optional, limit int) string {
	f.Helper()
	c := f.head(idRef(head), nil)
	return f.placesThrough(c, id, c.Head().Seq, limit)
}

func (f *fixture) placesThrough(c chainstore.Chain, id runloop.Optional, through uint32, limit int) string {
	f.Helper()
	got, err := c.Calls(f.ctx(), id, through, limit)
	f.ok(err)
	var b strings.Builder
	for _, p := range got {
		fmt.Fprintf(&b, "%d:", p.Header.Seq)
		for _, m := range p.Messages {
			b.WriteString(map[bool]string{true: "r", false: "c"}[m.Result])
			if m.LeftOut {
				b.WriteString("-")
			}
			fmt.Fprintf(&b, "%d", m.Index)
		}
		b.WriteString(" ")
		seq := p.Header.Seq
		equal(f, "the node at that place", f.rows(c, chainstore.Span{From: seq, Through: seq})[0].header.ID, p.Header.ID)
	}
	return strings.TrimSpace(b.String())
}

func callsAcrossForks(f *fixture) {
	trunk := f.chain(chainstore.Parent{}, user("u"), calling("t", "a"), result("a", "1"), calling("t", "b"), result("b", "2"), user("on"))
	left := f.chain(byID(trunk[3]), result("b", "left"), calling("t", "a"), result("a", "3"))
	right := f.chain(byID(trunk[2]), user("right"), calling("t", "c"), result("c", "4"))
	deep := f.chain(byID(left[0]), user("deep"), calling("t", "a"), result("a", "5"), result("a", "6"))
	for _, c := range []struct {
		head chainstore.ID
		id   string
		want string
	}{
		{trunk[5], "a", "2:r0 1:c0"}, {trunk[5], "b", "4:r0 3:c0"}, {trunk[5], "c", ""}, {trunk[1], "a", "1:c0"}, {trunk[0], "a", ""},
		{left[2], "a", "6:r0 5:c0 2:r0 1:c0"}, {left[2], "b", "4:r0 3:c0"},
		{right[2], "a", "2:r0 1:c0"}, {right[2], "b", ""}, {right[2], "c", "5:r0 4:c0"},
		{deep[3], "a", "8:r-0 7:r0 6:c0 2:r0 1:c0"},
	} {
		equal(f, "the places of "+c.id, f.places(c.head, runloop.Some(c.id), 100), c.want)
	}
	equal(f, "two places", f.places(deep[3], runloop.Some("a"), 2), "8:r-0 7:r0")
	c := f.head(idRef(deep[3]), nil)
	for through, want := range map[uint32]string{
		0: "", 1: "1:c0", 2: "2:r0 1:c0", 5: "2:r0 1:c0", 6: "6:c0 2:r0 1:c0", 7: "7:r0 6:c0 2:r0 1:c0", 8: "8:r-0 7:r0 6:c0 2:r0 1:c0",
		1 << 31: "8:r-0 7:r0 6:c0 2:r0 1:c0",
	} {
		equal(f, fmt.Sprint("the places through ", through), f.placesThrough(c, runloop.Some("a"), through, 100), want)
	}
	equal(f, "the places through 7, the first of them", f.placesThrough(c, runloop.Some("a"), 7, 1), "7:r0")
	f.clean()
}

// callsOfEveryForm: ids that are absent, empty, long, repeated in a message, and results of each kind.
func callsOfEveryForm(f *fixture) {
	long := strings.Repeat("x", 1024)
	two := calling("t", "a", "a", long, "")
	two.Calls = append(two.Calls, runloop.Call{})
	absent := Message{Role: runloop.Tool, Text: "?"}
	out := f.commit([]Node{
		root(user("u"), two, result("a", "1"), result(long, "2"), result("", "3"), absent, result("a", "4"), result("a", "5")),
		under(previous(), user("on"), assistant("no call"), result("a", "late"), absent, result("z", "orphan")),
	})
	head := out.Nodes[1].ID
	for _, c := range []struct {
		id   runloop.Optional
		want string
	}{
		{runloop.Some("a"), "1:r-2 0:c1r2r6r-7"}, {runloop.Some(long), "0:c1r3"}, {runloop.Some(""), "0:c1r4"},
		{runloop.Optional{}, "1:r-3 0:c1r5"}, {runloop.Some("z"), "1:r-4"}, {runloop.Some(long[1:]), ""},
	} {
		equal(f, "the places of a call", f.places(head, c.id, 100), c.want)
	}
	f.clean()
}

// hasCalls asserts which nodes of a path have calls, latest first, through any node and with any limit, and what lies before each.
func (f *fixture) hasCalls(head chainstore.ID, want ...uint32) {
	f.Helper()
	path := f.all(idRef(head))
	c := f.head(idRef(head), nil)
	for through := range len(path) + 2 {
		before := slices.DeleteFunc(slices.Clone(want), func(seq uint32) bool { return int(seq) > through })
		for _, limit := range []int{0, 1, 2, 100} {
			nodes, err := c.WithCalls(f.ctx(), uint32(through), limit)
			f.ok(err)
			var got []uint32
			for _, n := range nodes {
				seq := n.Header.Seq
				got = append(got, seq)
				equal(f, "the node with calls", n.Header.ID, path[seq].header.ID)
				equal(f, "that a node lies before", n.Before != nil, seq > 0)
				if seq > 0 {
					equal(f, "the node before", n.Before.ID, path[seq-1].header.ID)
				}
			}
			equalSlices(f, fmt.Sprintf("the nodes with calls through %d, at most %d", through, limit), got, before[:min(limit, len(before))])
		}
	}
}

func nodesWithCalls(f *fixture) {
	trunk := f.chain(chainstore.Parent{}, user("u"), calling("t", "a"), calling("t", "b"), result("a", "1"), result("b", "2"), calling("t", "c"), user("on"))
	f.hasCalls(trunk[6], 5, 2, 1)
	f.hasCalls(trunk[0])
	fork := f.chain(byID(trunk[2]), calling("t", "left"), result("left", "3"))
	f.hasCalls(fork[1], 3, 2, 1)
	deep := f.chain(byID(fork[0]), user("deep"), calling("t", "deep"))
	f.hasCalls(deep[1], 5, 3, 2, 1)
	first := f.put(root(calling("t", "a"), result("a", "1"), calling("t", "b")))
	f.hasCalls(first, 0)
	if !f.skips(Compaction) {
		copied := f.put(compacted(trunk[6], trunk[4], summary("so far"), calling("t", "a"), result("a", "1")))
		f.hasCalls(f.chain(byID(copied), calling("t", "d"))[0], 8, 5, 2, 1)
	}
	f.clean()
}

func (f *fixture) tables(ref chainstore.Ref) chainstore.Tables {
	f.Helper()
	t, err := f.head(ref, nil).Tables(f.ctx())
	f.ok(err)
	return t
}

func tool(name string, n int64) chainstore.ToolCount {
	return chainstore.ToolCount{Name: runloop.Some(name), Calls: n}
}

func variable(name string, seq uint32) chainstore.Variable {
	return chainstore.Variable{Name: name, Seq: seq}
}

func tablesAcrossForks(f *fixture) {
	vars := func(n Node, names ...string) Node {
		for _, name := range names {
			n.Metadata = append(n.Metadata, Entry{"var/" + name, "1"})
		}
		return n
	}
	nameless := Message{Role: runloop.Assistant, Calls: []runloop.Call{{}, {Name: runloop.Some("")}, {Name: runloop.Some("read")}}}
	out := f.commit([]Node{
		root(user("u")),
		vars(under(previous(), calling("write", "1"), calling("read", "2", "3")), "a", "b"),
		under(previous(), nameless),
		vars(under(previous(), user("x")), "c", "a"),
	}, set("head", 3, anything()))
	fork := f.put(vars(under(byID(out.Nodes[1].ID), calling("exec", "4")), "d"))
	check := func(ref chainstore.Ref, tools []chainstore.ToolCount, variables []chainstore.Variable) {
		f.Helper()
		t := f.tables(ref)
		equalSlices(f, "the tools", t.Tools, tools)
		equalSlices(f, "the variables", t.Variables, variables)
		equal(f, "the other calls", t.OtherCalls, 0)
	}
	check(idRef(out.Nodes[0].ID), nil, nil)
	base := []chainstore.ToolCount{tool("write", 1), tool("read", 2)}
	check(idRef(out.Nodes[1].ID), base, []chainstore.Variable{variable("a", 1), variable("b", 1)})
	more := []chainstore.ToolCount{tool("write", 1), tool("read", 3), {Calls: 1}, tool("", 1)}
	check(aliasRef("head"), more, []chainstore.Variable{variable("b", 1), variable("a", 3), variable("c", 3)})
	check(idRef(fork), append(base, tool("exec", 1)), []chainstore.Variable{variable("a", 1), variable("b", 1), variable("d", 2)})
	f.clean()
}

// variablesUnset: a value and a declaration set the same variable, an empty one of either unsets it, and the value counts where a node
// has both.
func variablesUnset(f *fixture) {
	set := func(parent chainstore.Parent, entries ...Entry) chainstore.ID {
		n := under(parent, user("u"))
		n.Metadata = entries
		return f.put(n)
	}
	check := func(id chainstore.ID, want ...chainstore.Variable) {
		f.Helper()
		equalSlices(f, "the variables", f.tables(idRef(id)).Variables, want)
	}
	first := set(chainstore.Parent{}, Entry{"var/a", "1"}, Entry{"varinfo/b", VariableInfo}, Entry{"var/c", "1"}, Entry{"varinfo/c", VariableInfo})
	check(first, variable("a", 0), variable("b", 0), variable("c", 0))
	second := set(byID(first), Entry{"varinfo/a", VariableInfo}, Entry{"var/b", "2"})
	check(second, variable("c", 0), variable("a", 1), variable("b", 1))
	third := set(byID(second), Entry{"var/a", ""}, Entry{"varinfo/b", ""}, Entry{"var/never", ""})
	check(third, variable("c", 0))
	fourth := set(byID(third), Entry{"var/c", ""}, Entry{"varinfo/c", VariableInfo}, Entry{"var/d", "1"}, Entry{"varinfo/d", ""})
	check(fourth, variable("d", 3))
	none := set(byID(fourth), Entry{"varinfo/d", ""})
	check(none)
	check(set(byID(none), Entry{"varinfo/d", VariableInfo}), variable("d", 5))
	check(set(byID(first), Entry{"var/b", ""}), variable("a", 0), variable("c", 0))
	f.clean()
}

// variablesFreed: a name that is unset makes room for another.
func variablesFreed(f *fixture) {
	at, free := chainstore.Parent{}, chainstore.MaxTableEntries
	for i := 0; i < chainstore.MaxTableEntries; i += 64 {
		node := under(at, user("u"))
		for k := i; k < i+64; k++ {
			node.Metadata = append(node.Metadata, Entry{fmt.Sprintf("var/%04d", k), "1"})
		}
		at = byID(f.put(node))
	}
	node := under(at, user("u"))
	node.Metadata = []Entry{{"var/0100", ""}, {"var/new", "1"}}
	full := f.put(node)
	t := f.tables(idRef(full))
	equal(f, "the variables", len(t.Variables), free)
	equal(f, "the oldest", t.Variables[0], variable("0000", 0))
	equal(f, "the latest", t.Variables[free-1], variable("new", 4))
	node = under(byID(full), user("u"))
	node.Metadata = []Entry{{"var/newer", "1"}}
	newer := f.put(node)
	t = f.tables(idRef(newer))
	equal(f, "the variables", len(t.Variables), free)
	equal(f, "the oldest", t.Variables[0], variable("0001", 0))
	node = under(byID(newer), user("u"))
	node.Metadata = []Entry{{"var/0000", "1"}, {"var/0200", ""}, {"var/0201", ""}} // a node's names are freed before others are set
	t = f.tables(idRef(f.put(node)))
	equal(f, "the variables", len(t.Variables), free-1)
	equal(f, "the oldest", t.Variables[0], variable("0001", 0))
	f.clean()
}

func tableLimits(f *fixture) {
	f.sub("Entries", func(f *fixture) { f.in("entries").fillTables(300, 4, chainstore.MaxTableEntries) })
	f.sub("Bytes", func(f *fixture) { f.in("bytes").fillTables(100, 250, chainstore.MaxTableBytes/250) })
	f.sub("BytesExactly", func(f *fixture) { f.in("exactly").fillTables(200, 128, chainstore.MaxTableBytes/128) })
}

// fillTables calls n tools and sets n variables, with names of size bytes, of which fit have room.
func (f *fixture) fillTables(n, size, fit int) {
	name := func(i int) string { return fmt.Sprintf("%0*d", size, i) }
	at := chainstore.Parent{}
	for i := 0; i < n; i += 10 {
		node := under(at, user("u"))
		for k := i; k < i+10; k++ {
			node.Messages = append(node.Messages, calling(name(k), fmt.Sprint(k)), result(fmt.Sprint(k), "r"))
			node.Metadata = append(node.Metadata, Entry{"var/" + name(k), "1"})
		}
		at = byID(f.put(node))
	}
	again := under(at, calling(name(0), "x"), calling(name(n-1), "y"), calling("s", "z"))
	again.Metadata = []Entry{{"var/" + name(n-fit), "2"}}
	head := f.put(again)
	t := f.tables(idRef(head))
	tools, other := fit, int64(n-fit+1)
	if fit < chainstore.MaxTableEntries && fit*size < chainstore.MaxTableBytes {
		tools++ // the short name finds room
		equal(f, "the last tool", t.Tools[fit], tool("s", 1))
	} else {
		other++
	}
	equal(f, "the tools", len(t.Tools), tools)
	equal(f, "the first tool", t.Tools[0], tool(name(0), 2))
	equal(f, "the tool that just fits", t.Tools[fit-1], tool(name(fit-1), 1))
	equal(f, "the other calls", t.OtherCalls, other)
	equal(f, "the variables", len(t.Variables), fit)
	equal(f, "the oldest variable", t.Variables[0].Name, name(n-fit+1))
	equal(f, "the latest variable", t.Variables[fit-1], variable(name(n-fit), uint32(n/10)))
	f.clean()
}
