package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

func exportChecks() []check {
	return []check{
		{Export, "Nodes", exportedNodes},
		{Export, "Spans", exportedSpans},
		{Export, "Aliases", exportedAliases},
		{Export, "ForgottenNames", exportedForgotten},
		{Export, "AmidWrites", exportedAmidWrites},
	}
}

// exported are the nodes of a span, read in pages of so many bytes: each behind its parent and what it covers.
func (f *fixture) exported(span chainstore.ExportSpan, limit int) (all []chainstore.ExportedNode) {
	f.Helper()
	var cursor []byte
	for {
		page, next, err := f.store.ExportNodes(f.ctx(), f.ns, span, cursor, limit)
		f.ok(err)
		all = append(all, page...)
		if cursor = next; next == nil {
			return all
		}
	}
}

func (f *fixture) point() chainstore.Point {
	f.Helper()
	p, err := f.store.Point(f.ctx())
	f.ok(err)
	return p
}

// exportedNodes: every node comes once, in an order in which it can be put again, with all that it has.
func exportedNodes(f *fixture) {
	f.forked()
	f.commit(everyKind())
	ids := f.talk()
	f.put(compacted(ids[8], ids[5], summary("so far")))
	for _, limit := range []int{1, 3000, 1 << 30} {
		seen := map[chainstore.ID]bool{}
		for _, n := range f.exported(chainstore.ExportSpan{Through: f.point()}, limit) {
			id := n.Header.ID
			if seen[id] {
				f.Errorf("%v comes twice", id)
			}
			for _, above := range []*chainstore.ID{n.Parent, n.Covers} {
				if above != nil && !seen[*above] {
					f.Errorf("%v comes before what it names", id)
				}
			}
			seen[id] = true
			f.ok(f.store.Nodes(f.ctx(), f.ns, []chainstore.ID{id}, func(w *chainstore.FoundNode) error {
				equal(f, "the header", bytes.Equal(chainstore.AppendHeader(nil, n.Header), chainstore.AppendHeader(nil, w.Header)), true)
				equal(f, "the payload", bytes.Equal(n.Payload, w.Payload), true)
				equal(f, "the metadata", bytes.Equal(n.Metadata, w.Metadata), true)
				equal(f, "the details", bytes.Equal(n.Details, w.Details), true)
				equal(f, "the parent", idText(n.Parent), idText(w.Parent))
				equal(f, "what is covered", idText(n.Covers), idText(w.Covers))
				return nil
			}))
		}
		stats, err := f.store.Stats(f.ctx(), f.ns)
		f.ok(err)
		equal(f, "the nodes", int64(len(seen)), stats.Nodes)
	}
	_, _, err := f.store.ExportNodes(f.ctx(), f.ns, chainstore.ExportSpan{}, []byte("no cursor"), 1)
	f.fails(err, chainstore.ErrBadCursor)
	other, next, err := f.store.ExportNodes(f.ctx(), "another", chainstore.ExportSpan{Through: f.point()}, nil, 1)
	f.ok(err)
	equal(f, "the nodes of another namespace", len(other), 0)
	equal(f, "that there is no cursor", next == nil, true)
}

func idText(id *chainstore.ID) string {
	if id == nil {
		return ""
	}
	return id.String()
}

// exportedSpans: a span has what was put in it, wherever that lies; what was put again is not put then.
func exportedSpans(f *fixture) {
	points := []chainstore.Point{f.point()}
	var want [][]chainstore.ID
	long := f.long(chainstore.Parent{}, 10)
	want, points = append(want, long), append(points, f.point())
	want, points = append(want, f.long(byID(long[4]), 3)), append(points, f.point())
	want, points = append(want, f.long(byID(long[9]), 3)), append(points, f.point())
	f.long(chainstore.Parent{}, 10)
	want, points = append(want, nil), append(points, f.point())
	for from := range points {
		for through := from; through < len(points); through++ {
			var ids, all []chainstore.ID
			for _, n := range f.exported(chainstore.ExportSpan{After: points[from], Through: points[through]}, 2000) {
				ids = append(ids, n.Header.ID)
			}
			for _, some := range want[from:through] {
				all = append(all, some...)
			}
			order := func(a, b chainstore.ID) int { return bytes.Compare(a[:], b[:]) }
			slices.SortFunc(ids, order)
			slices.SortFunc(all, order)
			equalSlices(f, fmt.Sprintf("the nodes from %d through %d", from, through), ids, all)
		}
	}
}

// exportedAliases: aliases come as of one state with their histories, deleted ones too, and those alone that changed since a point.
func exportedAliases(f *fixture) {
	ids := f.long(chainstore.Parent{}, 4)
	f.commit(nil, point("a", ids[0], anything()), point("b", ids[0], anything()), point("c", ids[0], anything()))
	since := f.point()
	f.commit(nil, point("a", ids[1], anything()))
	f.commit(nil, remove("b", anything()))
	f.commit(nil, point("d", ids[3], anything()))
	for after, want := range map[chainstore.Point]string{0: "a b c d", since: "a b d", f.point(): ""} {
		var all []*chainstore.ExportedAlias
		spaces := 0
		p, err := f.store.ExportAliases(f.ctx(), after, func(n string) bool { return n == f.ns }, chainstore.ExportYield{
			Namespace: func(n *chainstore.ExportedNamespace) error {
				spaces++
				equal(f, "the namespace", n.Name, f.ns)
				return nil
			},
			Alias: func(a *chainstore.ExportedAlias) error {
				all = append(all, a)
				return nil
			},
		})
		f.ok(err)
		var names []string
		for _, a := range all {
			names = append(names, a.Name)
			states, err := f.store.AliasHistory(f.ctx(), f.ns, a.Name)
			f.ok(err)
			equalSlices(f, "the states", a.States, states)
		}
		equal(f, "the point", p, f.point())
		equal(f, "the namespaces", spaces, 1)
		slices.Sort(names)
		equal(f, "the aliases", fmt.Sprint(names), "["+want+"]")
	}
}

// exportedForgotten: who asks for them is given names that are forgotten, whether by a change or by time, as their deletion alone.
func exportedForgotten(f *fixture) {
	id := f.put(root(user("u")))
	f.commit(nil, point("a", id, anything()), point("b", id, anything()), point("c", id, anything()))
	f.commit(nil, remove("b", anything()))
	f.clock.Advance(time.Duration(chainstore.MaxHistoryAge+1) * time.Millisecond)
	f.commit(nil, remove("c", anything()))
	f.commit(nil, forget("c", anything()))
	for asked, want := range map[bool]string{false: "a", true: "a b c"} {
		var names []string
		_, err := f.store.ExportAliases(f.ctx(), 0, func(n string) bool { return n == f.ns }, chainstore.ExportYield{
			Forgotten: asked,
			Namespace: func(*chainstore.ExportedNamespace) error { return nil },
			Alias: func(a *chainstore.ExportedAlias) error {
				names = append(names, a.Name)
				if a.Name != "a" {
					equal(f, "the states of "+a.Name, len(a.States), 1)
					equal(f, "that "+a.Name+" is deleted", a.States[0].Deleted && len(a.Labels) == 0, true)
				}
				return nil
			},
		})
		f.ok(err)
		equal(f, fmt.Sprintf("the aliases, asked for the forgotten ones: %t", asked), strings.Join(names, " "), want)
	}
}

// exportedAmidWrites: what is put while pages are read is of no page of an earlier span.
func exportedAmidWrites(f *fixture) {
	ids := f.long(chainstore.Parent{}, 30)
	span := chainstore.ExportSpan{Through: f.point()}
	var cursor []byte
	got := 0
	for i := 0; ; i++ {
		page, next, err := f.store.ExportNodes(f.ctx(), f.ns, span, cursor, 1)
		f.ok(err)
		got += len(page)
		f.put(under(byID(ids[29-i%30]), user(fmt.Sprint("meanwhile ", i))))
		if cursor = next; next == nil {
			break
		}
	}
	equal(f, "the nodes", got, 30)
}
