package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func eraseChecks() []check {
	return []check{
		{Erase, "Left", eraseLeft},
		{Erase, "Kinds", eraseKinds},
		{Erase, "Labels", eraseLabels},
		{Erase, "Refused", eraseRefused},
		{Erase, "PutAgain", erasePutAgain},
		{Erase, "Undone", eraseUndone},
		{Erase, "Folds", eraseFolds},
		{Erase, "Copies", eraseCopies},
		{Erase, "Meanwhile", eraseMeanwhile},
		{Erase, "Collected", eraseCollected},
		{Erase, "CollectedCopies", eraseCollectedCopies},
		{Erase, "Receipts", eraseReceipts},
		{Erase, "Exported", eraseExported},
		{Erase, "Restored", eraseRestored},
		{Erase, "RestoredTwice", eraseRestoredTwice},
		{Erase, "RestoredOver", eraseRestoredOver},
		{Erase, "Found", eraseFound},
		{Erase, "Long", eraseLong},
		{Erase, "Many", eraseMany},
		{Erase, "Verified", eraseVerified},
		{Erase, "Reopened", eraseReopened},
		{Erase, "LikeTheModel", erasesLikeTheModel},
		{Concurrency, "Erase", eraseBeside},
	}
}

// canary is in all that is to be erased.
const canary = "canary"

// all erases every message.
func all(int) bool { return true }

// erasing makes what is to be left of a node.
func (f *fixture) erasing(id chainstore.ID, erased func(i int) bool) (out chainstore.ErasedNode) {
	f.Helper()
	found := false
	f.ok(f.store.Nodes(f.ctx(), f.ns, []chainstore.ID{id}, func(n *chainstore.FoundNode) error {
		out, found = f.cfg.Encoding.Erase(n.Header, n.Payload, n.Metadata, erased), true
		return nil
	}))
	equal(f, "that the node is there", found, true)
	return out
}

// erase erases nodes, and asserts that all of them were.
func (f *fixture) erase(ids ...chainstore.ID) {
	f.Helper()
	var nodes []chainstore.ErasedNode
	for _, id := range ids {
		nodes = append(nodes, f.erasing(id, all))
	}
	n, err := f.store.Erase(f.ctx(), f.ns, nodes)
	f.ok(err)
	equal(f, "the nodes erased", n, len(ids))
	for _, n := range nodes {
		f.hasReceipt(n.ID, n.Receipt)
	}
}

func (f *fixture) hasReceipt(id chainstore.ID, want []byte) {
	f.Helper()
	got, err := f.store.Receipt(f.ctx(), f.ns, id)
	f.ok(err)
	equal(f, "the receipt", string(got.Bytes), string(want))
}

func (f *fixture) erasures() uint64 {
	f.Helper()
	n, err := f.store.Erasures(f.ctx(), f.ns)
	f.ok(err)
	return n
}

// erased asserts that putting a node, at a place of the change, fails for it was erased.
func (f *fixture) refusesErased(err error, index int, id chainstore.ID) {
	f.Helper()
	f.fails(err, chainstore.ErrErased)
	var erased *chainstore.ErasedError
	if !errors.As(err, &erased) || erased.Index != index || erased.ID != id {
		f.Fatalf("error is %#v, want an ErasedError of place %d", err, index)
	}
	f.hasReceipt(id, erased.Receipt)
}

// everything is all that is read of the namespace of some nodes, content aside.
func (f *fixture) everything(ids []chainstore.ID) string {
	f.Helper()
	out := ""
	for _, id := range ids {
		c := f.head(idRef(id), nil)
		f.ok(c.Rows(f.ctx(), []chainstore.Span{{Through: c.Head().Seq}}, func(r *chainstore.Row) error {
			h, err := r.Header()
			out += fmt.Sprintf("%+v\n", withoutContent(h))
			return err
		}))
		d := &dumper{f: f, ids: ids, calls: []string{"1", "2", "3"}, runs: map[uint64]int{}}
		f.ok(errors.Join(d.around(f.ctx(), f.store, id), d.index(f.ctx(), f.store, id)))
		out += d.b.String()
	}
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	return out + fmt.Sprintf("%+v", st)
}

// withoutContent is a header without what is of content alone.
func withoutContent(h *chainstore.Header) any {
	out := *h
	out.PayloadLength, out.MetadataLength, out.DetailsLength, out.Salt, out.Erased = 0, 0, 0, nil, nil
	out.Messages = slices.Clone(h.Messages)
	for i := range out.Messages {
		m := &out.Messages[i]
		m.Length, m.Was, m.TextOctets, m.TextPoints, m.Savings, m.Mark.LineLength = 0, 0, 0, 0, nil, 0
	}
	from := fmt.Sprint(out.SpawnedFrom)
	out.SpawnedFrom = nil
	return []any{out, from}
}

// hides asserts that nothing that is read of nodes has the canary, and that nodes which were erased say so.
func (f *fixture) hides(ids []chainstore.ID, erased ...chainstore.ID) {
	f.Helper()
	for _, id := range ids {
		for _, r := range f.all(idRef(id)) {
			if bytes.Contains(slices.Concat(r.raw, r.payload, r.metadata, r.details), []byte(canary)) {
				f.Fatalf("node %v has what was erased", r.header.ID)
			}
			f.isErased(r.header, slices.Contains(erased, r.header.ID))
			equal(f, "what the raw header says", r.raw.IsErased(), r.header.Erased != nil)
		}
		f.isErased(f.head(idRef(id), nil).Head(), slices.Contains(erased, id))
	}
	if f.skips(Export) {
		return
	}
	for _, n := range f.exported(chainstore.ExportSpan{Through: f.point()}, 1<<20) {
		if bytes.Contains(slices.Concat(n.Payload, n.Metadata, n.Details, n.Header.Salt), []byte(canary)) {
			f.Fatalf("node %v is exported with what was erased", n.Header.ID)
		}
	}
}

func (f *fixture) isErased(h *chainstore.Header, want bool) {
	f.Helper()
	equal(f, "that the header says that it was erased", h.Erased != nil, want)
	if want && (len(h.Salt) > 0 || h.MetadataLength > 0 || h.DetailsLength > 0) {
		f.Fatalf("of node %v there is a salt, metadata or details", h.ID)
	}
}

// canaries is a chain of nodes of all kinds, with canaries in all that an erasure takes.
func (f *fixture) canaries() []chainstore.ID {
	f.Helper()
	said := func(m Message) Message {
		m.Detail = chainstore.Detail{Model: canary, Attributes: []chainstore.Attribute{{Key: canary, Value: canary}}}
		m.Note = runloop.Note{HasSentAt: true, SentAt: 5, HasTokens: true, Tokens: 9}
		return m
	}
	salt := []byte(canary + canary + canary)
	nodes := []Node{
		root(system(canary)),
		{Parent: previous(), Messages: []Message{said(user(canary + strings.Repeat(" long", 100)))}, Salt: salt, Metadata: []Entry{{"var/x", canary}, {"var/y", ""}}},
		{Parent: previous(), Messages: []Message{{Role: runloop.Assistant, Text: canary, Calls: calling("read", "1", "2").Calls}}, Salt: salt},
		under(previous(), said(result("1", canary+strings.Repeat("a long result ", 100))), result("2", "x")),
		under(previous(), opaque(runloop.User, canary), user(" \n")),
		{Parent: previous(), Messages: []Message{assistant(canary)}, Metadata: []Entry{{"run/end", "failed"}, {"other", canary}}},
		{Parent: previous(), Messages: []Message{user("more"), calling("write", "3")}, SpawnedFrom: &chainstore.SpawnedFrom{Node: unknownID(7), CallID: runloop.Some("c")}},
		under(previous(), result("3", canary), result("never", canary), assistant(canary)),
	}
	var ids []chainstore.ID
	for _, n := range f.commit(nodes).Nodes {
		ids = append(ids, n.ID)
	}
	return append(ids, f.put(Node{Parent: byID(ids[2]), Messages: []Message{user(canary)}, Salt: salt}))
}

// eraseLeft: of what is erased nothing is shown, and all else is as it was: links, folds, indexes, statistics.
func eraseLeft(f *fixture) {
	ids := f.canaries()
	f.commit(nil, point("a", ids[7], anything()))
	before := f.everything(ids)
	n, err := f.store.Erase(f.ctx(), f.ns, nil)
	f.ok(err)
	equal(f, "the nodes erased", n, 0)
	equal(f, "the erasures", f.erasures(), 0)
	f.erase(ids...)
	erasures := f.erasures()
	equal(f, "that there are erasures", erasures > 0, true)
	f.hides(ids, ids...)
	equal(f, "that all else is as it was", f.everything(ids), before)
	f.points("a", ids[7])
	f.clean()
	// They stay as they are, and the first receipt with them.
	again := f.erasing(ids[1], all)
	again.Receipt = []byte("another")
	n, err = f.store.Erase(f.ctx(), f.ns, []chainstore.ErasedNode{again, again})
	f.ok(err)
	equal(f, "the nodes erased again", n, 0)
	f.hasReceipt(ids[1], []byte("receipt of "+ids[1].Prefix()))
	equal(f, "the erasures", f.erasures(), erasures)
	_, err = f.store.Receipt(f.ctx(), f.ns, unknownID(1))
	f.fails(err, chainstore.ErrNotErased)
	_, err = f.store.Receipt(f.ctx(), "another", ids[1])
	f.fails(err, chainstore.ErrNotErased)
	equal(f, "the erasures of another namespace", f.in("another").erasures(), 0)
}

// eraseKinds: each kind of node can be the only one that is erased.
func eraseKinds(f *fixture) {
	for i := range f.in("first").canaries() {
		g := f.in(fmt.Sprint("only-", i))
		ids := g.canaries()
		before := g.everything(ids)
		g.erase(ids[i])
		equal(g, "that all else is as it was", g.everything(ids), before)
		for _, r := range g.all(idRef(ids[i])) {
			g.isErased(r.header, r.header.ID == ids[i])
			if r.header.ID == ids[i] && bytes.Contains(slices.Concat(r.raw, r.payload, r.metadata, r.details), []byte(canary)) {
				g.Fatalf("node %d has what was erased", i)
			}
		}
		g.clean()
	}
}

// eraseRefused: what is refused erases nothing.
func eraseRefused(f *fixture) {
	ids := f.canaries()
	before := f.everything(ids)
	good := f.erasing(ids[1], all)
	missing := good
	missing.ID = unknownID(1)
	_, err := f.store.Erase(f.ctx(), f.ns, []chainstore.ErasedNode{good, missing})
	f.missing(err, chainstore.ErrNodeNotFound, 1)
	_, err = f.store.Erase(f.ctx(), "never", []chainstore.ErasedNode{good})
	f.missing(err, chainstore.ErrNodeNotFound, 0)
	other := f.erasing(ids[3], all)
	other.ID = ids[2]
	_, err = f.store.Erase(f.ctx(), f.ns, []chainstore.ErasedNode{good, other})
	f.fails(err, chainstore.ErrBadErasure)
	short := f.erasing(ids[5], all)
	short.Payload = short.Payload[1:]
	_, err = f.store.Erase(f.ctx(), f.ns, []chainstore.ErasedNode{short})
	f.fails(err, chainstore.ErrBadErasure)
	for what, spoilFacts := range map[string]func(*runloop.Facts){
		"role":          func(m *runloop.Facts) { m.Role = runloop.User },
		"call's name":   func(m *runloop.Facts) { m.Calls[1].Name = runloop.Some("other") },
		"call":          func(m *runloop.Facts) { m.Calls = m.Calls[:1] },
		"emptiness":     func(m *runloop.Facts) { m.Empty = true },
		"error":         func(m *runloop.Facts) { m.Error = true },
		"state":         func(m *runloop.Facts) { m.Partial = true },
		"opaque one":    func(m *runloop.Facts) { m.Opaque = true },
		"summary":       func(m *runloop.Facts) { m.Summary = true },
		"origin":        func(m *runloop.Facts) { m.Made = true },
		"left-out line": func(m *runloop.Facts) { m.LeftOutLine = true },
		"left-out loop": func(m *runloop.Facts) { m.LeftOutLoops = 3 },
		"length":        func(m *runloop.Facts) { m.Length-- },
	} {
		one := f.erasing(ids[2], all)
		spoilFacts(&one.Facts[0])
		if _, err := f.store.Erase(f.ctx(), f.ns, []chainstore.ErasedNode{one}); !errors.Is(err, chainstore.ErrBadErasure) {
			f.Errorf("another %s: error is %v", what, err)
		}
	}
	_, err = f.store.Erase(f.ctx(), f.ns, make([]chainstore.ErasedNode, chainstore.MaxErased+1))
	f.fails(err, chainstore.ErrTooLarge)
	equal(f, "the erasures", f.erasures(), 0)
	equal(f, "that all is as it was", f.everything(ids), before)
	f.isErased(f.header(ids[1]), false)
	names, err := f.store.Namespaces(f.ctx(), chainstore.NamespaceQuery{Limit: 9})
	f.ok(err)
	equalSlices(f, "the namespaces", names, []string{f.ns})
	f.clean()
}

// erasePutAgain: what was erased cannot be put as it was; behind it, and to it, all goes on.
func erasePutAgain(f *fixture) {
	question := root(user(canary))
	ids := f.chain(chainstore.Parent{}, user(canary), assistant("so"))
	f.erase(ids[0])
	_, err := f.try([]Node{question})
	f.refusesErased(err, 0, ids[0])
	_, err = f.try([]Node{root(user("other")), question, under(previous(), user("more"))}, set("a", 0, anything()))
	f.refusesErased(err, 1, ids[0])
	f.gone("a")
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the number of nodes", st.Nodes, 2)
	salted := question
	salted.Salt = []byte("sixteen bytes...")
	if f.put(salted) == ids[0] {
		f.Fatal("a salt makes no other node")
	}
	tip := f.put(under(byID(ids[0]), assistant("so")), set("a", 0, anything()))
	equal(f, "a child put again", tip, ids[1])
	f.put(under(byID(ids[0]), assistant("a fork")))
	f.commit([]Node{under(byAlias("a"), user("on"))}, set("a", 0, headIs(ids[1])))
	f.commit(nil, point("b", ids[0], anything()))
	f.points("b", ids[0])
	f.put(Node{Messages: []Message{user("child")}, SpawnedFrom: &chainstore.SpawnedFrom{Node: ids[0]}})
	equal(f, "the node in another namespace", f.in("other").put(question), ids[0])
	// The newest node is what a writer knows best.
	last := f.put(under(byAlias("a"), user("last")))
	f.erase(last)
	_, err = f.try([]Node{under(byAlias("a"), user("last"))})
	f.refusesErased(err, 0, last)
	f.put(under(byID(last), assistant("on")))
	f.clean()
}

// eraseUndone: an erasure that fails leaves what it came by as it was.
func eraseUndone(f *fixture) {
	ids := f.canaries()
	bad := f.erasing(ids[2], all)
	bad.Facts = bad.Facts[:0]
	_, err := f.store.Erase(f.ctx(), f.ns, []chainstore.ErasedNode{f.erasing(ids[1], all), bad})
	f.fails(err, chainstore.ErrBadErasure)
	_, err = f.store.Receipt(f.ctx(), f.ns, ids[1])
	f.fails(err, chainstore.ErrNotErased)
	for _, r := range f.all(idRef(ids[7])) {
		f.isErased(r.header, false)
	}
	equal(f, "the node put again", f.put(root(system(canary))), ids[0])
	f.clean()
}

// eraseFolds: what is put behind nodes that were erased folds as if they were not.
func eraseFolds(f *fixture) {
	var told [2]string
	for i := range told {
		g := f.in(fmt.Sprint("of-", i))
		ids := g.talk()
		if i == 1 {
			g.erase(ids[1], ids[3], ids[4], ids[5], ids[8])
		}
		made := compacted(ids[8], ids[5], summary("so far"), user("kept"))
		made.Compaction.Erasures = chainstore.AnyErasures
		more := []chainstore.ID{g.put(made), g.put(under(byID(ids[8]), user("on"), calling("t", "1", "new"), result("new", "x")))}
		second := compacted(more[0], ids[6], summary("again"))
		second.Compaction.Erasures = chainstore.AnyErasures
		more = append(more, g.put(second))
		more = append(more, g.chain(byID(more[2]), assistant("behind"), user("end"))...)
		for _, id := range append(ids, more...) {
			h := g.header(id)
			told[i] += fmt.Sprintf("%v %+v\n", h.Seq, h.State)
		}
		g.clean()
	}
	equal(f, "the folds", told[1], told[0])
}

// copying is a compaction node with copies of two messages of a chain, and a summary.
func (f *fixture) copying(ids []chainstore.ID) Node {
	f.Helper()
	n := compacted(ids[len(ids)-1], ids[len(ids)-1], summary("summary "+canary), user("first "+canary), user("second "+canary))
	n.Compaction.Provenance[1] = chainstore.Provenance{Present: true, Place: runloop.Place{Seq: 1}}
	n.Compaction.Provenance[2] = chainstore.Provenance{Present: true, Place: runloop.Place{Seq: 2}}
	n.Compaction.Erasures = f.erasures()
	return n
}

// eraseCopies: some copies of a compaction node are erased, and later others; what was erased does not come back.
func eraseCopies(f *fixture) {
	ids := f.chain(chainstore.Parent{}, system("s"), user("first "+canary), user("second "+canary), assistant("so"))
	c := f.put(f.copying(ids))
	before := f.everything([]chainstore.ID{c})
	first := f.erasing(c, func(i int) bool { return i < 2 })
	second := f.erasing(c, func(i int) bool { return i == 2 }) // made before the first is done
	second.Receipt = []byte("second")
	count := func(nodes ...chainstore.ErasedNode) int {
		n, err := f.store.Erase(f.ctx(), f.ns, nodes)
		f.ok(err)
		return n
	}
	equal(f, "the nodes erased", count(first), 1)
	rows := f.all(idRef(c))
	if got := string(rows[4].payload); strings.Count(got, canary) != 1 || !strings.Contains(got, "second") {
		f.Fatalf("what is left is %q", got)
	}
	equal(f, "whether the second is erased", rows[4].header.Messages[2].Was, 0)
	erasures := f.erasures()
	equal(f, "the nodes erased again", count(first), 0)
	equal(f, "the erasures", f.erasures(), erasures)
	f.clean()
	equal(f, "the nodes of which more is erased", count(second), 1)
	f.hasReceipt(c, []byte("second"))
	equal(f, "that there are more erasures", f.erasures() > erasures, true)
	f.erase(ids[1], ids[2])
	f.hides([]chainstore.ID{c}, c, ids[1], ids[2])
	equal(f, "that all else is as it was", f.everything([]chainstore.ID{c}), before)
	f.clean()
	_, err := f.try([]Node{f.copying(ids)})
	f.refusesErased(err, 0, c)
}

// eraseMeanwhile: a compaction that was planned before an erasure is not written.
func eraseMeanwhile(f *fixture) {
	ids := f.chain(chainstore.Parent{}, system("s"), user("first "+canary), user("second"), assistant("so"))
	there := compacted(ids[3], ids[2], summary("there"))
	c := f.put(there)
	planned := f.copying(ids)
	f.erase(ids[1])
	_, err := f.try([]Node{under(byID(ids[3]), user("beside")), planned}, set("a", 1, anything()))
	f.fails(err, chainstore.ErrErasedMeanwhile)
	f.gone("a")
	equal(f, "one that is there", f.put(there), c)
	planned.Compaction.Covers = unknownID(1)
	_, err = f.try([]Node{planned})
	f.fails(err, chainstore.ErrNodeNotFound)
	f.hides([]chainstore.ID{ids[3]}, ids[1])
	again := compacted(ids[3], ids[2], summary("again"))
	again.Compaction.Erasures = f.erasures()
	f.put(again)
	f.clean()
}

// eraseCollected: a node that was erased is collected as others are, and its receipt stays.
func eraseCollected(f *fixture) {
	if f.skips(Collect) || f.skips(Export) {
		return
	}
	ids := f.chain(chainstore.Parent{}, user(canary), assistant("so"))
	f.erase(ids[0])
	kept := f.exported(chainstore.ExportSpan{Through: f.point()}, 1<<20)
	f.sweep(2)
	f.absent(ids[0])
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the statistics", st, chainstore.Stats{})
	f.hasReceipt(ids[0], []byte("receipt of "+ids[0].Prefix()))
	_, err = f.try([]Node{root(user(canary))})
	f.refusesErased(err, 0, ids[0])
	other := f.again(kept[0])
	other.Receipt = []byte("of another erasure")
	_, err = f.store.Commit(f.ctx(), f.ns, &chainstore.Change{Nodes: []chainstore.NewNode{other}})
	f.refusesErased(err, 0, ids[0])
	out, err := f.store.Commit(f.ctx(), f.ns, &chainstore.Change{Nodes: []chainstore.NewNode{f.again(kept[0]), f.again(kept[1])}})
	f.ok(err)
	equal(f, "that it was created", out.Nodes[0].Created && out.Nodes[1].Created, true)
	f.hides(ids, ids[0])
	f.clean()
}

// eraseCollectedCopies: a compaction node of which more was erased before it was collected does not come back with less erased.
func eraseCollectedCopies(f *fixture) {
	if f.skips(Collect) || f.skips(Export) {
		return
	}
	ids := f.chain(chainstore.Parent{}, system("s"), user("first "+canary), user("second "+canary))
	f.commit(nil, point("a", ids[2], anything()))
	c := f.put(f.copying(ids))
	_, err := f.store.Erase(f.ctx(), f.ns, []chainstore.ErasedNode{f.erasing(c, func(i int) bool { return i == 1 })})
	f.ok(err)
	kept := f.exported(chainstore.ExportSpan{Through: f.point()}, 1<<20)
	more := f.erasing(c, func(i int) bool { return i != 1 })
	more.Receipt = []byte("more")
	_, err = f.store.Erase(f.ctx(), f.ns, []chainstore.ErasedNode{more})
	f.ok(err)
	f.sweep(1)
	_, err = f.store.Commit(f.ctx(), f.ns, &chainstore.Change{Nodes: []chainstore.NewNode{f.again(kept[3])}})
	f.refusesErased(err, 0, c)
	f.clean()
}

// again is a node as it was exported, to be put.
func (f *fixture) again(n chainstore.ExportedNode) chainstore.NewNode {
	f.Helper()
	h, judge := n.Header, f.cfg.Encoding.Judge
	is, err := judge(h, n.Payload, n.Metadata, n.Parent, n.Covers)
	f.ok(err)
	out := chainstore.NewNode{
		Payload: n.Payload, Metadata: n.Metadata, Details: n.Details, Salt: h.Salt, SpawnedFrom: h.SpawnedFrom, Messages: is.Messages,
		Variables: is.Variables, Outcome: is.Outcome, FirstPut: h.FirstPut, Erased: h.Erased, Receipt: n.Receipt,
		Identify: func(parent *chainstore.ID) chainstore.ID {
			is, _ := judge(h, n.Payload, n.Metadata, parent, n.Covers)
			return is.ID
		},
	}
	if n.Parent != nil {
		out.Parent = byID(*n.Parent)
	}
	if h.Erased != nil {
		out.Variables, out.Outcome, out.Erased = h.Erased.Variables, h.Outcome, h.Erased.Clone()
		out.Erased.Variables = nil
	}
	for i := range out.Messages {
		out.Messages[i].Note, out.Messages[i].Was = h.Messages[i].Note, int(h.Messages[i].Was)
	}
	if n.Covers != nil {
		loops := &runloop.Loops{Phase: h.Stands}
		for i := range h.Messages {
			loops.Begins = append(loops.Begins, h.Messages[i].Mark.BeginsLoop)
		}
		out.Compaction = &chainstore.Compaction{Covers: *n.Covers, Provenance: h.Provenance, Loops: loops, Erasures: chainstore.AnyErasures}
	}
	return out
}

// erasedChat is a chain with copies, some of which is erased, and what is to be erased of it.
func (f *fixture) erasedChat() (ids []chainstore.ID, erase func()) {
	f.Helper()
	ids = f.canaries()
	ids = append(ids, f.put(f.copying(ids[:8])))
	return ids, func() {
		f.erase(ids...)
		f.hides(ids, ids...)
	}
}

// eraseExported: what was erased is exported without content and with its receipt, of a span in which it was put, or erased.
func eraseExported(f *fixture) {
	if f.skips(Export) {
		return
	}
	ids, erase := f.erasedChat()
	tip := f.put(under(byID(ids[7]), user("later")))
	put := f.point()
	erase()
	erased := f.point()
	last := f.put(under(byID(tip), user("last")))
	for _, span := range []struct {
		after, through chainstore.Point
		want           []chainstore.ID
	}{
		{0, put, append(slices.Clone(ids), tip)}, {put, erased, ids}, {erased, f.point(), []chainstore.ID{last}}, {0, f.point(), append(slices.Clone(ids), tip, last)},
	} {
		var got []chainstore.ID
		for _, n := range f.exported(chainstore.ExportSpan{After: span.after, Through: span.through}, 1) {
			if slices.Contains(got, n.Header.ID) {
				continue
			}
			got = append(got, n.Header.ID)
			is := slices.Contains(ids, n.Header.ID)
			f.isErased(n.Header, is)
			want := ""
			if is {
				want = "receipt of " + n.Header.ID.Prefix()
			}
			equal(f, "the receipt that is exported", string(n.Receipt), want)
		}
		for _, id := range append(slices.Clone(span.want), got...) {
			if !slices.Contains(got, id) || id != ids[len(ids)-1] && !slices.Contains(span.want, id) && !slices.Contains(ids, id) {
				f.Errorf("of the span %d through %d, node %v: got %v", span.after, span.through, id, got)
			}
		}
	}
}

// eraseRestored: what was exported as erased is put elsewhere as it was, and erases what is there.
func eraseRestored(f *fixture) {
	if f.skips(Export) {
		return
	}
	ids, erase := f.erasedChat()
	var whole []chainstore.NewNode
	for _, n := range f.exported(chainstore.ExportSpan{Through: f.point()}, 1<<20) {
		whole = append(whole, f.again(n))
	}
	erase()
	stored := f.exported(chainstore.ExportSpan{Through: f.point()}, 1<<20)
	var left []chainstore.NewNode
	for _, n := range stored {
		left = append(left, f.again(n))
	}
	want := f.everything(ids)
	for name, put := range map[string][][]chainstore.NewNode{
		"empty": {left}, "unerased": {whole, left}, "both in one change": {slices.Concat(whole, left)}, "twice": {left, left}, "slowly": {whole, left[:2], left[2:]},
	} {
		g := f.in(name)
		for _, nodes := range put {
			_, err := g.store.Commit(g.ctx(), g.ns, &chainstore.Change{Nodes: nodes})
			g.ok(err)
		}
		g.hides(ids, ids...)
		equal(g, "what is there", g.everything(ids), want)
		for i, n := range g.exported(chainstore.ExportSpan{Through: g.point()}, 1<<20) {
			equal(g, "the payload", string(n.Payload), string(stored[i].Payload))
			equal(g, "the header", string(chainstore.AppendHeader(nil, n.Header)), string(chainstore.AppendHeader(nil, stored[i].Header)))
			g.hasReceipt(n.Header.ID, stored[i].Receipt)
		}
		g.clean()
		_, err := g.store.Commit(g.ctx(), g.ns, &chainstore.Change{Nodes: whole})
		g.refusesErased(err, 0, whole[0].Identify(nil))
	}
}

// eraseRestoredTwice: of what was erased of a compaction node here and elsewhere, all is erased.
func eraseRestoredTwice(f *fixture) {
	if f.skips(Export) {
		return
	}
	var left [2][]chainstore.NewNode
	var c chainstore.ID
	for i := range left {
		g := f.in(fmt.Sprint("of-", i))
		c = g.put(g.copying(g.chain(chainstore.Parent{}, system("s"), user("one"), user("two"))))
		_, err := g.store.Erase(g.ctx(), g.ns, []chainstore.ErasedNode{g.erasing(c, func(at int) bool { return at <= 1 == (i == 0) })})
		g.ok(err)
		for _, n := range g.exported(chainstore.ExportSpan{Through: g.point()}, 1<<20) {
			left[i] = append(left[i], g.again(n))
		}
	}
	for i := range left {
		g := f.in(fmt.Sprint("of-", i))
		_, err := g.store.Commit(g.ctx(), g.ns, &chainstore.Change{Nodes: left[1-i]})
		g.ok(err)
		g.hides([]chainstore.ID{c}, c)
		g.clean()
	}
}

// eraseRestoredOver: what was erased elsewhere erases nothing here that it does not describe, nor where whoever puts it found nothing to take.
func eraseRestoredOver(f *fixture) {
	if f.skips(Export) {
		return
	}
	exported := func() (nodes []chainstore.NewNode) {
		for _, n := range f.exported(chainstore.ExportSpan{Through: f.point()}, 1<<20) {
			nodes = append(nodes, f.again(n))
		}
		return nodes
	}
	ids, erase := f.erasedChat()
	whole := exported()
	erase()
	left := exported()
	g := f.in("whole")
	put := func(nodes ...chainstore.NewNode) error {
		_, err := g.store.Commit(g.ctx(), g.ns, &chainstore.Change{Nodes: nodes})
		return err
	}
	g.ok(put(whole...))
	want := g.everything(ids)
	copies := slices.IndexFunc(left, func(n chainstore.NewNode) bool { return n.Compaction != nil })
	for what, spoil := range map[string]func(n *chainstore.NewNode){
		"length":             func(n *chainstore.NewNode) { n.Messages[0].Was++ },
		"length of metadata": func(n *chainstore.NewNode) { n.Erased.MetadataLength++ },
		"outcome":            func(n *chainstore.NewNode) { n.Outcome = runloop.Cancelled },
		"finding":            func(n *chainstore.NewNode) { n.Absent = true },
	} {
		for _, i := range []int{1, 5, copies} {
			bad := left[i]
			bad.Messages, bad.Erased = slices.Clone(bad.Messages), bad.Erased.Clone()
			spoil(&bad)
			g.fails(put(left[0], bad), chainstore.ErrBadErasure)
			equal(g, "what is there behind another "+what, g.everything(ids), want)
		}
	}
	equal(g, "the erasures", g.erasures(), 0)
	absent := func(n chainstore.NewNode) chainstore.NewNode { n.Absent = true; return n }
	g.ok(put(left...))
	g.ok(put(absent(left[1])))
	g.ok(put(absent(left[copies])))
	g.hides(ids, ids...)
	g.clean()
	h := f.in("empty")
	for _, n := range left {
		_, err := h.store.Commit(h.ctx(), h.ns, &chainstore.Change{Nodes: []chainstore.NewNode{absent(n)}})
		h.ok(err)
	}
	h.hides(ids, ids...)
	h.clean()
}

// eraseFound: a chain that was found before an erasure shows what is left of it.
func eraseFound(f *fixture) {
	ids := f.canaries()
	f.hidesNothing(ids[7])
	chains := []chainstore.Chain{f.head(idRef(ids[7]), nil), f.head(idRef(ids[8]), nil)}
	for range 3 { // so that caches have them
		for _, c := range chains {
			f.rows(c, chainstore.Span{Through: c.Head().Seq, WillReread: true})
		}
	}
	f.erase(ids...)
	for _, c := range chains {
		for _, r := range f.rows(c, chainstore.Span{Through: c.Head().Seq}) {
			if bytes.Contains(slices.Concat(r.payload, r.metadata, r.details, r.raw), []byte(canary)) {
				f.Fatalf("node %v is shown by a chain that was found before", r.header.ID)
			}
		}
		places, err := c.Calls(f.ctx(), runloop.Some("1"), c.Head().Seq, 9)
		f.ok(err)
		for _, p := range places {
			f.isErased(p.Header, true)
		}
	}
	f.hides(ids, ids...)
}

// hidesNothing asserts that the canary can be found.
func (f *fixture) hidesNothing(id chainstore.ID) {
	f.Helper()
	if !slices.ContainsFunc(f.all(idRef(id)), func(r kept) bool { return bytes.Contains(r.payload, []byte(canary)) }) {
		f.Fatal("the canary cannot be found")
	}
}

// eraseLong: what was long, also in its details, is short, and a chain over it is read.
func eraseLong(f *fixture) {
	long := func(n int) string { return strings.Repeat(canary, n/len(canary)) }
	large := user("x")
	large.Detail = chainstore.Detail{Attributes: []chainstore.Attribute{{Key: "k", Value: long(400 << 10)}}}
	ids := f.chain(chainstore.Parent{}, user(long(600<<10)), assistant(long(1<<20)), large, assistant(long(300<<10)))
	f.erase(ids[0], ids[1], ids[2])
	rows := f.all(idRef(ids[3]))
	for _, r := range rows[:3] {
		if len(r.payload) > 1000 || len(r.details) > 0 {
			f.Fatalf("%d bytes are left", len(r.payload))
		}
	}
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the bytes of messages that are counted", st.MessageBytes, rows[3].header.State.Full.Bytes)
	f.erase(ids[3])
	f.hides(ids, ids...)
	// A compaction node of which some is erased: the rest of it is still long.
	kept := strings.Repeat("kept", 100<<10)
	node := compacted(ids[3], ids[3], user(long(300<<10)), user(kept))
	node.Compaction.Erasures = f.erasures()
	c := f.put(node)
	n, err := f.store.Erase(f.ctx(), f.ns, []chainstore.ErasedNode{f.erasing(c, func(i int) bool { return i == 0 })})
	f.ok(err)
	equal(f, "the nodes erased", n, 1)
	f.hides([]chainstore.ID{c}, append(ids, c)...)
	equal(f, "whether the rest is there", bytes.Contains(f.all(idRef(c))[4].payload, []byte(kept)), true)
	f.clean()
}

// eraseMany: as many nodes as one call takes, and more than a commit takes.
func eraseMany(f *fixture) {
	ids := f.long(chainstore.Parent{}, chainstore.MaxErased)
	before := f.header(ids[len(ids)-1]).State
	var nodes []chainstore.ErasedNode
	f.ok(f.store.Nodes(f.ctx(), f.ns, ids, func(n *chainstore.FoundNode) error {
		nodes = append(nodes, f.cfg.Encoding.Erase(n.Header, n.Payload, n.Metadata, all))
		return nil
	}))
	n, err := f.store.Erase(f.ctx(), f.ns, nodes)
	f.ok(err)
	equal(f, "the nodes erased", n, len(ids))
	for _, r := range f.all(idRef(ids[len(ids)-1])) {
		f.isErased(r.header, true)
	}
	equal(f, "the fold", fmt.Sprintf("%+v", f.header(ids[len(ids)-1]).State), fmt.Sprintf("%+v", before))
	f.clean()
}

// eraseVerified: what is erased while a check goes on is no problem.
func eraseVerified(f *fixture) {
	if f.skips(Verify) {
		return
	}
	ids := f.long(chainstore.Parent{}, 2500)
	ids = append(ids, f.chain(byID(ids[10]), user("fork"))...)
	left, judged := slices.Clone(ids), 0
	f.ok(f.store.Verify(f.ctx(), chainstore.Check{Namespace: f.ns}, func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
		judged++
		return f.cfg.Encoding.Judge(h, payload, metadata, parent, covers)
	}, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			f.Errorf("%s (node %v)", p.What, p.Node)
		}
		f.clock.Advance(time.Second)
		for range min(40, len(left)) {
			i := judged % len(left)
			f.erase(left[i])
			left = slices.Delete(left, i, i+1)
			judged += 7
		}
		return nil
	}))
	if len(left) == len(ids) {
		f.Error("nothing was erased meanwhile")
	}
	f.clean()
	// A judge is asked of the id by the digests.
	bad, found := ids[3], 0
	f.ok(f.store.Verify(f.ctx(), chainstore.Check{Namespace: f.ns}, func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
		j, err := f.cfg.Encoding.Judge(h, payload, metadata, parent, covers)
		if h.ID == bad {
			j.ID[0] ^= 1
		}
		return j, err
	}, func(r chainstore.VerifyReport) error {
		found += len(r.Problems)
		return nil
	}))
	equal(f, "the problems", found > 0, true)
}

// eraseReopened: an erasure outlives a Close.
func eraseReopened(f *fixture) {
	if f.cfg.Reopen == nil {
		return
	}
	ids, erase := f.erasedChat()
	erase()
	before, erasures := f.everything(ids), f.erasures()
	f.ok(f.store.Close())
	f.bare = f.cfg.Reopen(f.TB, Options{Now: f.clock.Now})
	f.store = Mangle(f.TB, f.bare)
	f.hides(ids, ids...)
	equal(f, "what is there", f.everything(ids), before)
	equal(f, "the erasures", f.erasures(), erasures)
	_, err := f.try([]Node{root(system(canary))})
	f.refusesErased(err, 0, ids[0])
	f.clean()
}

// eraseLabels: labels go, in one transaction, with a new revision; all else of an alias stays, and what had none is left as it is.
func eraseLabels(f *fixture) {
	none, err := f.store.EraseLabels(f.ctx(), f.ns, []string{"a"})
	f.ok(err)
	equal(f, "in a namespace that is not there", none, 0)
	id := f.put(root(user("hello")))
	secret := map[string]string{"name": "secret"}
	f.commit(nil, f.labelled("a", id, secret), f.labelled("b", id, secret), f.labelled("c", id, nil), f.labelled("d", id, secret))
	f.commit(nil, remove("d", chainstore.Condition{}))
	before := map[string]*chainstore.Alias{}
	for _, name := range []string{"a", "b", "c"} {
		before[name] = f.alias(name)
	}
	had, err := f.store.EraseLabels(f.ctx(), f.ns, []string{"a", "c", "d", "never", "a"})
	f.ok(err)
	equal(f, "how many had labels", had, 1)
	had, err = f.store.EraseLabels(f.ctx(), f.ns, []string{"a", "c", "d", "never"})
	f.ok(err)
	equal(f, "how many had labels once they were erased", had, 0)
	for name, was := range before {
		a := f.alias(name)
		if name == "a" {
			equal(f, "that it has a new revision", a.Revision > was.Revision, true)
			equal(f, "labels", len(a.Labels), 0)
			a.Revision, a.Labels = was.Revision, was.Labels
		}
		equal(f, "alias "+name, fmt.Sprintf("%+v", *a), fmt.Sprintf("%+v", *was))
	}
	many := make([]string, chainstore.MaxErased+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	_, err = f.store.EraseLabels(f.ctx(), f.ns, many)
	f.fails(err, chainstore.ErrTooLarge)
	f.clean()
}
