package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

func aliasChecks() []check {
	return []check{
		{Aliases, "Labels", labels},
		{Aliases, "MovedAt", movedAt},
		{Aliases, "Of", aliasesOf},
		{Aliases, "Names", aliasNames},
		{Aliases, "Totals", aliasTotals},
		{Lists, "Prefixes", listPrefixes},
		{Lists, "Folders", listFolders},
		{Lists, "Pages", listPages},
		{Lists, "Model", listModel},
		{Lists, "Bytes", listBytes},
		{Lists, "Loops", listLoops},
		{Lists, "LoopsBehindForks", listLoopsBehindForks},
		{Lists, "OpenLoops", listOpenLoops},
		{Lists, "OpenLoopsReach", listOpenLoopsReach},
		{ListReach, "Prefixes", listReachOfPrefixes},
		{ListReach, "Folders", listReachOfFolders},
		{ListReach, "Of", listReachOfANode},
		{History, "States", historyStates},
		{History, "Limits", historyLimits},
		{History, "Age", historyAge},
	}
}

func (f *fixture) labelled(name string, id chainstore.ID, labels map[string]string) chainstore.AliasChange {
	c := point(name, id, anything())
	c.Labels, c.SetLabels = labels, true
	return c
}

func (f *fixture) alias(name string) *chainstore.Alias {
	f.Helper()
	a, err := f.store.Alias(f.ctx(), f.ns, name)
	f.ok(err)
	return a
}

func labels(f *fixture) {
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	has := func(want map[string]string) {
		f.Helper()
		if got := f.alias("x").Labels; !maps.Equal(got, want) {
			f.Fatalf("labels are %v, want %v", got, want)
		}
	}
	f.commit(nil, point("x", a, anything()))
	has(nil)
	title := map[string]string{"title": "première", "empty": ""}
	out := f.commit(nil, f.labelled("x", a, title))
	equal(f, "changed by labels alone", out.Aliases[0].Changed, false)
	has(title)
	f.commit(nil, point("x", b, anything()))
	has(title)
	f.commit(nil, f.labelled("x", a, map[string]string{"other": ""}))
	has(map[string]string{"other": ""})
	page, _, err := f.store.Aliases(f.ctx(), f.ns, chainstore.AliasQuery{Limit: 10})
	f.ok(err)
	equal(f, "a label in a list", len(page[0].Labels), 1)
	f.commit(nil, f.labelled("x", a, nil))
	has(nil)
	f.commit(nil, f.labelled("x", a, title))
	f.commit(nil, remove("x", anything()))
	f.commit(nil, point("x", a, anything()))
	has(nil)
	f.put(root(user("c")), chainstore.AliasChange{Name: "x", Labels: title, SetLabels: true})
	has(title)
}

func movedAt(f *fixture) {
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	step := func(want bool, c chainstore.AliasChange) {
		f.Helper()
		before := int64(0)
		if f.clock.Advance(time.Second); c.Condition.Kind != chainstore.MustNotExist {
			before = f.alias("x").MovedAt
		}
		f.commit(nil, c)
		if want {
			before = millis(f.clock.Now())
		}
		equal(f, "moved at", f.alias("x").MovedAt, before)
	}
	step(true, point("x", a, mustNotExist()))
	step(false, point("x", a, anything()))
	step(false, f.labelled("x", a, map[string]string{"k": "v"}))
	step(true, point("x", b, headIs(a)))
	step(false, point("x", b, headIs(a)))
	f.commit(nil, remove("x", anything()))
	step(true, point("x", b, mustNotExist()))
}

func aliasesOf(f *fixture) {
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	of := func(id chainstore.ID, limit int, want ...string) {
		f.Helper()
		f.aliasesOf(id, limit, false, want...)
	}
	of(a, 10)
	f.commit(nil, point("c", a, anything()), point("a/b", a, anything()), point("b", b, anything()), point("a", a, anything()))
	of(a, 100, "a", "a/b", "c")
	f.aliasesOf(a, 2, true, "a", "a/b")
	of(a, 3, "a", "a/b", "c")
	_, names, more, err := f.store.ChainNamed(f.ctx(), f.ns, aliasRef("a/b"), 0)
	f.ok(err)
	equal(f, "the names where none are asked for", len(names), 0)
	equal(f, "that there are more", more, true)
	_, _, _, err = f.store.ChainNamed(f.ctx(), f.ns, idRef(unknownID(1)), 10)
	f.fails(err, chainstore.ErrNodeNotFound)
	of(b, 10, "b")
	f.commit(nil, point("c", b, anything()))
	f.commit(nil, remove("a", anything()))
	of(a, 10, "a/b")
	of(b, 10, "b", "c")
	f.commit(nil, point("a", b, anything()), f.labelled("b", b, map[string]string{"k": "v"}))
	of(b, 10, "a", "b", "c")
	f.clean()
}

func (f *fixture) aliasesOf(id chainstore.ID, limit int, more bool, want ...string) {
	f.Helper()
	c, got, m, err := f.store.ChainNamed(f.ctx(), f.ns, idRef(id), limit)
	f.ok(err)
	equal(f, "the head", c.Head().ID, id)
	equalSlices(f, "the aliases", got, want)
	equal(f, "that there are more", m, more)
}

// aliasNames: names are bytes, of every length up to 512.
func aliasNames(f *fixture) {
	all := []string{
		"a", "a/", "/", "//", "/a", "a//b", "a b", "é", "e\u0301", "日本語/😀", "A", "a.b", "a-b", "a/b/c/d",
		strings.Repeat("x", 512), strings.Repeat("x", 511) + "y", strings.Repeat("x", 511), strings.Repeat("/", 512),
		strings.Repeat("é", 256),
	}
	ids := map[string]chainstore.ID{}
	for i, name := range all {
		ids[name] = f.put(root(user(fmt.Sprint(i))), set(name, 0, mustNotExist()))
	}
	for name, id := range ids {
		f.points(name, id)
		equal(f, "the name", f.alias(name).Name, name)
		f.aliasesOf(id, 10, false, name)
		states, err := f.store.AliasHistory(f.ctx(), f.ns, name)
		f.ok(err)
		equal(f, "the states", len(states), 1)
		equal(f, "the chain", f.head(aliasRef(name), nil).Head().ID, id)
	}
	slices.Sort(all)
	page, next, err := f.store.Aliases(f.ctx(), f.ns, chainstore.AliasQuery{Limit: 1000})
	f.ok(err)
	equalSlices(f, "all names", names(page), all)
	equal(f, "that there is more", next != nil, false)
	f.clean()
}

func aliasTotals(f *fixture) {
	out := f.commit([]Node{root(user("a")), under(previous(), calling("t", "1", "2")), under(previous(), result("1", "x")),
		under(previous(), user("on"))}, set("x", 3, anything()))
	a := f.alias("x")
	equal(f, "the full totals", a.Full, out.Nodes[3].Full)
	equal(f, "the effective totals", a.Effective, out.Nodes[3].Effective)
	equal(f, "the stub", a.Effective.Messages, a.Full.Messages+1)
}

// list reads all pages of a query.
func (f *fixture) list(q chainstore.AliasQuery) []string {
	f.Helper()
	var all []string
	for range 10_000 {
		page, next, err := f.store.Aliases(f.ctx(), f.ns, q)
		f.ok(err)
		if len(page) > q.Limit {
			f.Fatalf("a page of %d at a limit of %d", len(page), q.Limit)
		}
		all = append(all, names(page)...)
		if next == nil {
			return all
		}
		q.After = next
	}
	f.Fatal("the pages have no end")
	return nil
}

func listPrefixes(f *fixture) {
	id := f.put(root(user("x")))
	for _, name := range []string{"chat/2", "chat", "chat/10", "chat/1/x", "a/chat/1", "chat\u00ff", "msg/1", "chas", "chau"} {
		f.clock.Advance(time.Second)
		f.commit(nil, point(name, id, anything()))
	}
	f.commit(nil, remove("chat/2", anything()))
	for _, limit := range []int{1, 2, 3, 100} {
		for prefix, names := range map[string][]string{
			"":        {"a/chat/1", "chas", "chat", "chat/1/x", "chat/10", "chat\u00ff", "chau", "msg/1"},
			"chat":    {"chat", "chat/1/x", "chat/10", "chat\u00ff"},
			"chat/":   {"chat/1/x", "chat/10"},
			"chat/1":  {"chat/1/x", "chat/10"},
			"msg/1":   {"msg/1"},
			"msg/10":  nil,
			"chat/2":  nil,
			"nothing": nil,
		} {
			want := slices.Clone(names)
			equalSlices(f, "names with "+prefix, f.list(chainstore.AliasQuery{Prefix: prefix, Limit: limit}), want)
			slices.Reverse(want)
			equalSlices(f, "names with "+prefix+", last first", f.list(chainstore.AliasQuery{Prefix: prefix, Limit: limit, Reverse: true}), want)
		}
	}
}

func listFolders(f *fixture) {
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	do := func(changes ...chainstore.AliasChange) {
		f.clock.Advance(time.Second)
		f.commit(nil, changes...)
	}
	do(point("chat/old", a, anything()), point("top", a, anything()))
	do(point("chat/b", a, anything()), point("chat/a", a, anything()), point("chat/c", a, anything()), point("chat/x/y", a, anything()))
	do(point("chat/new", a, anything()), point("chat", a, anything()))
	folder := func(name string, want ...string) {
		f.Helper()
		for _, limit := range []int{1, 2, 100} {
			got := f.list(chainstore.AliasQuery{ByFolder: true, Folder: name, Limit: limit})
			equalSlices(f, "names under "+name, got, want)
			got = f.list(chainstore.AliasQuery{ByFolder: true, Folder: name, Limit: limit, Reverse: true})
			slices.Reverse(got)
			equalSlices(f, "names under "+name+", first moved first", got, want)
		}
	}
	folder("chat", "chat/new", "chat/a", "chat/b", "chat/c", "chat/x/y", "chat/old")
	folder("chat/x", "chat/x/y")
	folder("", "chat", "chat/new", "chat/a", "chat/b", "chat/c", "chat/x/y", "chat/old", "top")
	folder("cha")
	folder("chat/")
	do(remove("chat/x/y", anything()))
	folder("chat/x")
	do(point("chat/old", b, anything()))
	do(f.labelled("chat/b", a, map[string]string{"k": "v"}), point("chat/c", a, mustExist()))
	folder("chat", "chat/old", "chat/new", "chat/a", "chat/b", "chat/c")
	do(remove("chat/new", anything()))
	folder("chat", "chat/old", "chat/a", "chat/b", "chat/c")
	do(point("chat/new", a, anything()))
	folder("chat", "chat/new", "chat/old", "chat/a", "chat/b", "chat/c")
	f.clean()
}

// listPages: a cursor goes on where the page ended, even where that alias is gone or has moved.
func listPages(f *fixture) {
	id, other := f.put(root(user("x"))), f.put(root(user("y")))
	for i := range 25 {
		f.clock.Advance(time.Millisecond)
		f.commit(nil, point(fmt.Sprintf("f/%02d", i), id, anything()))
	}
	for _, q := range []chainstore.AliasQuery{
		{Prefix: "f/", Limit: 10}, {ByFolder: true, Folder: "f", Limit: 10}, {Reverse: true, Prefix: "f/", Limit: 10},
	} {
		page, next, err := f.store.Aliases(f.ctx(), f.ns, q)
		f.ok(err)
		equal(f, "that there is more", next != nil, true)
		f.clock.Advance(time.Millisecond)
		f.commit(nil, point(page[len(page)-1].Name, other, anything()))
		f.commit(nil, remove(page[0].Name, anything()))
		q.After = next
		rest := f.list(q)
		for _, name := range rest {
			if slices.Contains(names(page), name) {
				f.Fatal("a later page repeats an alias")
			}
		}
		equal(f, "the aliases of all pages", len(page)+len(rest), 25)
		f.commit(nil, point(page[0].Name, id, anything()))
	}
}

// listBytes: a page of large aliases ends at the bytes that are asked for, which a MiB has to be for those who cannot ask, and the
// pages have all of them.
func listBytes(f *fixture) {
	id := f.put(root(user("x")))
	labels := map[string]string{}
	for i := range 30 {
		labels[fmt.Sprint(i)] = strings.Repeat("l", maxValue)
	}
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprintf("f/%02d", i))
		f.commit(nil, f.labelled(want[i], id, labels))
	}
	for _, q := range []chainstore.AliasQuery{{Prefix: "f/"}, {ByFolder: true, Folder: "f"}} {
		q.Limit, q.Bytes = 100, 1<<20
		var got []string
		for more := true; more; more = q.After != nil {
			page, next, err := f.store.Aliases(f.ctx(), f.ns, q)
			f.ok(err)
			size := 0
			for i := range page {
				if size >= q.Bytes {
					f.Fatalf("a page goes on behind %d bytes", size)
				}
				size += page[i].Size()
			}
			if next != nil && size < q.Bytes {
				f.Fatalf("a page ends at %d bytes", size)
			}
			got, q.After = append(got, names(page)...), next
		}
		slices.Sort(got)
		equalSlices(f, "the aliases", got, want)
	}
}

// deletes sets aliases to a node and deletes them, 500 in a change.
func (f *fixture) deletes(id chainstore.ID, n int, name func(int) string) {
	f.Helper()
	for from := 0; from < n; from += 500 {
		var set, gone []chainstore.AliasChange
		for i := from; i < min(n, from+500); i++ {
			set, gone = append(set, point(name(i), id, anything())), append(gone, remove(name(i), anything()))
		}
		f.commit(nil, set...)
		f.commit(nil, gone...)
	}
}

// listReachOfPrefixes: a page that has looked at many names that were deleted ends, and the next goes on behind them. What the page
// costs is bounded.
func listReachOfPrefixes(f *fixture) {
	id := f.put(root(user("x")))
	f.commit(nil, point("a", id, anything()), point("z", id, anything()))
	f.deletes(id, chainstore.AliasReach+1, func(i int) string { return fmt.Sprintf("m%06d", i) })
	q := chainstore.AliasQuery{Limit: 10}
	page, next, err := f.store.Aliases(f.ctx(), f.ns, q)
	f.ok(err)
	equalSlices(f, "the names before those that were deleted", names(page), []string{"a"})
	if next == nil || next.Name >= "z" {
		f.Fatalf("the page goes on at %v", next)
	}
	q.After = next
	if got := f.list(q); !slices.Equal(got, []string{"z"}) {
		f.Errorf("the pages behind have %q", got)
	}
	q.After = &chainstore.AliasCursor{Name: "b"}
	page, next, err = f.store.Aliases(f.ctx(), f.ns, q)
	f.ok(err)
	equal(f, "the names of an empty page", len(page), 0)
	equal(f, "that it is not the last", next != nil, true)
	f.boundedList(q)
	q.Reverse = true
	page, next, err = f.store.Aliases(f.ctx(), f.ns, chainstore.AliasQuery{Limit: 10, Reverse: true})
	f.ok(err)
	equalSlices(f, "the names behind those that were deleted", names(page), []string{"z"})
	if next == nil || next.Name <= "a" {
		f.Fatalf("the page goes back from %v", next)
	}
	q.After = next
	equalSlices(f, "the pages before", f.list(q), []string{"a"})
	q.After = &chainstore.AliasCursor{Name: "y"}
	f.boundedList(q)
}

// listReachOfFolders: all aliases of a folder are found, however many others left their places in it.
func listReachOfFolders(f *fixture) {
	id, other := f.put(root(user("x"))), f.put(root(user("y")))
	f.commit(nil, point("f/idle", id, anything()))
	f.clock.Advance(time.Second)
	f.deletes(id, chainstore.AliasReach, func(i int) string { return fmt.Sprintf("f/m%06d", i) })
	for i := range 100 {
		f.clock.Advance(time.Second)
		f.commit(nil, point("f/busy", []chainstore.ID{id, other}[i%2], anything()))
	}
	q := chainstore.AliasQuery{ByFolder: true, Folder: "f", Limit: 10}
	equalSlices(f, "the names", f.list(q), []string{"f/busy", "f/idle"})
	f.boundedList(q)
	q.Limit = 1
	equalSlices(f, "the names, one a page", f.list(q), []string{"f/busy", "f/idle"})
	q.Reverse = true
	equalSlices(f, "the names, first moved first", f.list(q), []string{"f/idle", "f/busy"})
	f.boundedList(q)
}

// listReachOfANode: the list of a node's aliases says that there may be more where it misses one behind many that left the node.
func listReachOfANode(f *fixture) {
	id := f.put(root(user("x")))
	f.commit(nil, point("a", id, anything()), point("z", id, anything()))
	f.deletes(id, chainstore.AliasReach+1, func(i int) string { return fmt.Sprintf("m%06d", i) })
	f.bounded(func() {
		_, got, more, err := f.store.ChainNamed(f.ctx(), f.ns, idRef(id), 10)
		f.ok(err)
		if !slices.Equal(got, []string{"a", "z"}) && (!slices.Equal(got, []string{"a"}) || !more) {
			f.Errorf("the node has the aliases %q, and more: %v", got, more)
		}
	})
}

// boundedList asserts what a page reads, where that is counted, and then that it ends before the list does.
func (f *fixture) boundedList(q chainstore.AliasQuery) {
	f.Helper()
	f.bounded(func() {
		_, next, err := f.store.Aliases(f.ctx(), f.ns, q)
		f.ok(err)
		if _, counts := f.bare.(ReadCounter); counts {
			equal(f, "that the page ends before the list does", next != nil, true)
		}
	})
}

// bounded asserts what a list reads, where that is counted.
func (f *fixture) bounded(list func()) {
	f.Helper()
	c, counts := f.bare.(ReadCounter)
	if !counts {
		list()
		return
	}
	g, s, n := c.Reads()
	list()
	g2, s2, n2 := c.Reads()
	if reads := g2 - g + s2 - s + n2 - n; reads > chainstore.AliasReach+100 {
		f.Errorf("a list takes %d reads", reads)
	}
}
