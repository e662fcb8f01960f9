package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func lifecycleChecks() []check {
	return []check{
		{Namespaces, "Apart", namespacesApart},
		{Namespaces, "NeverWritten", neverWritten},
		{Contexts, "CancelledBefore", cancelledBefore},
		{Contexts, "CancelledWhileReading", cancelledWhileReading},
		{Contexts, "CancelledCommits", cancelledCommits},
		{Statistics, "Count", statistics},
		{Closing, "EveryMethod", closedMethods},
		{Closing, "UnderWriters", closeUnderWriters},
		{Reopening, "KeepsAll", reopenKeepsAll},
	}
}

func namespacesApart(f *fixture) {
	a, b := f.in("a"), f.in("a.b")
	n := root(calling("t", "1"), result("1", "r"))
	n.Metadata = []Entry{{"var/x", "1"}}
	id := a.put(n, set("x", 0, anything()), set("f/y", 0, anything()))
	child := a.put(Node{Parent: byID(id), Messages: []Message{user("c")}, SpawnedFrom: &chainstore.SpawnedFrom{Node: id}})
	b.seesNothing(id)
	_, err := b.try([]Node{under(byID(id), user("c"))})
	b.fails(err, chainstore.ErrParentNotFound)
	_, err = b.try(nil, point("x", id, anything()))
	b.fails(err, chainstore.ErrNodeNotFound)
	b.seesNothing(id)
	out := b.commit([]Node{n}, set("x", 0, mustNotExist()))
	equal(f, "the id", out.Nodes[0].ID, id)
	equal(f, "created in the other namespace", out.Nodes[0].Created, true)
	b.commit(nil, remove("x", mustExist()))
	b.gone("x")
	a.points("x", id)
	children, err := b.store.Children(f.ctx(), b.ns, idRef(id), nil, 10)
	b.ok(err)
	equal(f, "the children", len(children), 0)
	f.in("A").seesNothing(id)
	equal(f, "the chain", a.head(idRef(child), &id).After(), 0)
	a.clean()
	b.clean()
}

// seesNothing asserts that a namespace is empty; id is a node of another.
func (f *fixture) seesNothing(id chainstore.ID) {
	f.Helper()
	f.absent(id)
	f.gone("x")
	page, next, err := f.store.Aliases(f.ctx(), f.ns, chainstore.AliasQuery{Limit: 10})
	f.ok(err)
	equal(f, "the aliases", len(page), 0)
	equal(f, "that there are more", next != nil, false)
	page, _, err = f.store.Aliases(f.ctx(), f.ns, chainstore.AliasQuery{ByFolder: true, Folder: "f", Limit: 10})
	f.ok(err)
	equal(f, "the aliases of a folder", len(page), 0)
	_, _, _, err = f.store.ChainNamed(f.ctx(), f.ns, idRef(id), 10)
	f.fails(err, chainstore.ErrNodeNotFound)
	_, _, _, err = f.store.ChainNamed(f.ctx(), f.ns, aliasRef("x"), 10)
	f.fails(err, chainstore.ErrAliasNotFound)
	_, err = f.store.AliasHistory(f.ctx(), f.ns, "x")
	f.fails(err, chainstore.ErrAliasNotFound)
	_, err = f.store.Children(f.ctx(), f.ns, idRef(id), nil, 10)
	f.fails(err, chainstore.ErrNodeNotFound)
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the statistics", st, chainstore.Stats{})
	if !f.skips(Find) {
		ids, err := f.store.Find(f.ctx(), f.ns, "", 10)
		f.ok(err)
		equal(f, "the nodes found", len(ids), 0)
	}
	f.clean()
}

func neverWritten(f *fixture) {
	f.put(root(user("elsewhere")), set("x", 0, anything()))
	g := f.in("never")
	g.seesNothing(unknownID(1))
	g.commit(nil, remove("x", anything()))
	_, err := g.try([]Node{under(byID(unknownID(1)), user("x"))})
	g.fails(err, chainstore.ErrParentNotFound)
	g.seesNothing(unknownID(1))
	g.put(root(user("now")))
	f.clean()
}

// methods calls every method that takes a context, but for those that the store opts out of.
func (f *fixture) methods(ctx context.Context, id chainstore.ID, c chainstore.Chain) map[string]error {
	errs := map[string]error{}
	_, errs["Commit"] = f.store.Commit(ctx, f.ns, f.change([]Node{root(user("never"))}))
	_, errs["Chain"] = f.store.Chain(ctx, f.ns, idRef(id), nil)
	errs["Rows"] = c.Rows(ctx, []chainstore.Span{{Through: c.Head().Seq}}, func(*chainstore.Row) error { return nil })
	errs["Rows of no span"] = c.Rows(ctx, nil, func(*chainstore.Row) error { return nil })
	_, errs["Headers"] = c.Headers(ctx, 0)
	_, errs["Children"] = f.store.Children(ctx, f.ns, idRef(id), nil, 10)
	_, errs["Alias"] = f.store.Alias(ctx, f.ns, "x")
	_, _, errs["Aliases"] = f.store.Aliases(ctx, f.ns, chainstore.AliasQuery{Limit: 10})
	_, _, _, errs["ChainNamed"] = f.store.ChainNamed(ctx, f.ns, idRef(id), 10)
	_, errs["AliasHistory"] = f.store.AliasHistory(ctx, f.ns, "x")
	if !f.skips(Headers) {
		_, _, errs["FirstWhere"] = c.FirstWhere(ctx, 0, chainstore.Bounds{})
		_, _, errs["Compactions"] = c.Compactions(ctx, 1)
	}
	if !f.skips(Find) {
		_, errs["Find"] = f.store.Find(ctx, f.ns, "0", 10)
	}
	if !f.skips(Spawned) {
		_, _, errs["Spawned"] = c.Spawned(ctx, 10)
		_, _, errs["SpawnDepth"] = c.SpawnDepth(ctx, 10)
	}
	if !f.skips(Calls) {
		_, errs["Calls"] = c.Calls(ctx, runloop.Some("1"), 0, 10)
		_, errs["WithCalls"] = c.WithCalls(ctx, 0, 10)
	}
	if !f.skips(Tables) {
		_, errs["Tables"] = c.Tables(ctx)
	}
	if !f.skips(Statistics) {
		_, errs["Stats"] = f.store.Stats(ctx, f.ns)
	}
	if !f.skips(Settings) {
		_, errs["Namespaces"] = f.store.Namespaces(ctx, chainstore.NamespaceQuery{Limit: 10})
		_, errs["Settings"] = f.store.Settings(ctx, f.ns)
		_, errs["DeleteNamespace"] = f.store.DeleteNamespace(ctx, "never", nil)
		_, errs["SetSettings"] = f.store.SetSettings(ctx, f.ns, chainstore.SettingsChange{Settings: chainstore.Settings{MaxNodes: 1 << 40}})
	}
	if !f.skips(TokenKeys) {
		_, errs["TokenKeys"] = f.store.TokenKeys(ctx)
	}
	if !f.skips(Verify) {
		errs["Verify"] = f.store.Verify(ctx, chainstore.Check{Namespace: f.ns}, f.cfg.Encoding.Judge, func(chainstore.VerifyReport) error { return nil })
		errs["VerifyStore"] = f.store.Verify(ctx, chainstore.Check{WholeStore: true}, f.cfg.Encoding.Judge, func(chainstore.VerifyReport) error { return nil })
	}
	return errs
}

func cancelledBefore(f *fixture) {
	id := f.put(root(user("u")), set("x", 0, anything()))
	c := f.head(idRef(id), nil)
	cancelled, cancel := context.WithCancel(f.ctx())
	cancel()
	late, cancel := context.WithDeadline(f.ctx(), time.Unix(0, 0))
	defer cancel()
	for name, err := range f.methods(cancelled, id, c) {
		if !errors.Is(err, context.Canceled) {
			f.Errorf("%s: error is %v, want %v", name, err, context.Canceled)
		}
	}
	for name, err := range f.methods(late, id, c) {
		if !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("%s: error is %v, want %v", name, err, context.DeadlineExceeded)
		}
	}
	f.put(under(byID(id), user("on")))
	f.clean()
}

func cancelledWhileReading(f *fixture) {
	ids := f.long(chainstore.Parent{}, 3000)
	ctx, cancel := context.WithCancel(f.ctx())
	defer cancel()
	rows := 0
	err := f.head(idRef(ids[2999]), nil).Rows(ctx, []chainstore.Span{{Through: 2999}}, func(*chainstore.Row) error {
		if rows++; rows == 10 {
			cancel()
		}
		return nil
	})
	f.fails(err, context.Canceled)
	equal(f, "the chain afterwards", len(f.all(idRef(ids[2999]))), 3000)
}

// cancelledCommits: callers who give up do not harm those who do not, and what they put is there whole or not at all.
func cancelledCommits(f *fixture) {
	base := f.put(root(system("s")))
	change := func(i int) *chainstore.Change {
		nodes := []Node{under(byID(base), user(fmt.Sprint(i))), under(previous(), assistant("a"))}
		return f.change(nodes, set(fmt.Sprint("x/", i), 1, mustNotExist()))
	}
	errs := atOnce(callers, func(i int) error {
		ctx, cancel := context.WithCancel(f.ctx())
		defer cancel()
		if i%2 == 1 {
			go cancel()
		}
		_, err := f.store.Commit(ctx, f.ns, change(i))
		return err
	})
	for i, err := range errs {
		if i%2 == 0 || !errors.Is(err, context.Canceled) {
			f.ok(err)
		}
		out, err := f.store.Commit(f.ctx(), f.ns, change(i))
		f.ok(err)
		equal(f, "that node and node go together", out.Nodes[0].Created, out.Nodes[1].Created)
		equal(f, "that node and alias go together", out.Nodes[0].Created, out.Aliases[0].Changed)
		if errs[i] == nil {
			equal(f, "created by a repeat", out.Nodes[0].Created, false)
		}
	}
	f.clean()
}

func statistics(f *fixture) {
	info := f.store.Info()
	if info.Engine == "" || info.Format < 1 {
		f.Fatalf("the store says of itself %+v", info)
	}
	stats := func(want chainstore.Stats) {
		f.Helper()
		got, err := f.store.Stats(f.ctx(), f.ns)
		f.ok(err)
		equal(f, "the statistics", got, want)
	}
	var want chainstore.Stats
	stats(want)
	add := func(nodes []Node, roots, forks, aliases int64, changes ...chainstore.AliasChange) []chainstore.PutNode {
		f.Helper()
		out := f.commit(nodes, changes...)
		for i, n := range f.change(nodes).Nodes {
			if out.Nodes[i].Created {
				want.Nodes++
				want.Messages += int64(len(n.Messages))
				want.MessageBytes += int64(len(n.Payload))
			}
		}
		want.Roots, want.Forks, want.Aliases = want.Roots+roots, want.Forks+forks, want.Aliases+aliases
		stats(want)
		return out.Nodes
	}
	trunk := add([]Node{root(system("s")), under(previous(), user("a"), assistant("b"))}, 1, 0, 1, set("x", 1, anything()))
	add([]Node{root(system("s")), under(previous(), user("a"), assistant("b"))}, 0, 0, 0, set("x", 1, anything()))
	add([]Node{under(byID(trunk[0].ID), user("c"))}, 0, 1, 1, set("y", 0, anything()))
	add([]Node{under(byID(trunk[0].ID), user("d"))}, 0, 1, 0, set("y", 0, anything()))
	add([]Node{root(user("e")), root(user("f"))}, 2, 0, 0)
	add(nil, 0, 0, -1, remove("x", anything()))
	add(nil, 0, 0, 0, remove("x", anything()))
	add(nil, 0, 0, 1, point("x", trunk[0].ID, anything()))
	_, err := f.try([]Node{root(user("g"))}, set("x", 0, mustNotExist()))
	f.fails(err, chainstore.ErrAliasExists)
	stats(want)
}

func closedMethods(f *fixture) {
	id := f.put(root(user("u")), set("x", 0, anything()))
	c := f.head(idRef(id), nil)
	f.ok(f.store.Close())
	for name, err := range f.methods(f.ctx(), id, c) {
		if !errors.Is(err, chainstore.ErrClosed) {
			f.Errorf("%s: error is %v, want %v", name, err, chainstore.ErrClosed)
		}
	}
}

// closeUnderWriters: Close waits for changes and reads under way; each ends well or with ErrClosed.
func closeUnderWriters(f *fixture) {
	ids := f.long(chainstore.Parent{}, 200)
	started := make(chan struct{}, 16)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for k := 0; ; k++ {
				_, err := f.try([]Node{under(byID(ids[199]), user(fmt.Sprint(i, k)))})
				if err == nil {
					var c chainstore.Chain
					if c, err = f.store.Chain(f.ctx(), f.ns, idRef(ids[199]), nil); err == nil {
						err = c.Rows(f.ctx(), []chainstore.Span{{Through: 199}}, func(*chainstore.Row) error { return nil })
					}
				}
				if err != nil {
					if !errors.Is(err, chainstore.ErrClosed) {
						f.Errorf("error is %v, want %v", err, chainstore.ErrClosed)
					}
					return
				}
				if k == 3 {
					started <- struct{}{}
				}
			}
		})
	}
	for range 16 {
		<-started
	}
	f.ok(f.bare.Close())
	wg.Wait()
}

// reopenKeepsAll: what was acknowledged is there when the store is opened again.
func reopenKeepsAll(f *fixture) {
	if f.cfg.Reopen == nil {
		f.TB.(*testing.T).Skip("Config.Reopen is not set")
	}
	nodes := everyKind()
	out := f.commit(nodes, set("chat", len(nodes)-1, anything()), f.labelledNew("l", 0))
	f.forksOfForks(70)
	f.put(f.sized(byID(out.Nodes[0].ID), chunkAbove+1))
	f.move("x", []chainstore.ID{out.Nodes[0].ID, out.Nodes[1].ID}, 0, 120)
	f.commit(nil, remove("x", anything()))
	var ids []chainstore.ID
	for _, n := range out.Nodes {
		ids = append(ids, n.ID)
	}
	d := dumper{f: f, ids: ids, names: []string{"chat", "l", "x"}, calls: []string{"c1", "c2"}}
	before, err := d.dump(f.store)
	f.ok(err)
	for range 2 {
		f.ok(f.bare.Close())
		f.bare = f.cfg.Reopen(f.TB, Options{Now: f.clock.Now})
		f.store = Mangle(f.TB, f.bare)
		again, err := d.dump(f.store)
		f.ok(err)
		if line := firstDifference(again, before); line != "" {
			f.Fatal(line)
		}
		f.clean()
	}
	f.put(under(byAlias("chat"), user("on")), set("chat", 0, anything()))
	f.clean()
}

func (f *fixture) labelledNew(name string, i int) chainstore.AliasChange {
	c := set(name, i, anything())
	c.Labels, c.SetLabels = map[string]string{"k": "v"}, true
	return c
}
