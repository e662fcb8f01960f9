package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

func collectChecks() []check {
	return []check{
		{Collect, "Kept", collectKept},
		{Collect, "Gone", collectGone},
		{Collect, "Tails", collectTails},
		{Collect, "Many", collectMany},
		{Collect, "Grace", collectGrace},
		{Collect, "PutAgain", collectPutAgain},
		{Collect, "DryRun", collectDryRun},
		{Meanwhile, "Named", collectNamed},
		{Meanwhile, "Held", collectHeld},
		{Meanwhile, "HeldMeanwhile", collectHeldMeanwhile},
		{Meanwhile, "Queued", collectQueued},
		{Collect, "Found", collectFound},
		{Collect, "Spawned", collectSpawned},
		{Collect, "SpawnedByOne", collectSpawnedByOne},
		{Collect, "Histories", collectHistories},
		{Collect, "ForgottenByAll", collectForgotten},
		{Collect, "Apart", collectApart},
		{Meanwhile, "Born", collectBorn},
		{Concurrency, "Collect", collectBeside},
		{Collect, "Forget", forgotten},
		{Collect, "ForgetIsNoRepeat", forgottenIsNoRepeat},
		{Collect, "LikeTheModel", collectsLikeTheModel},
	}
}

// later is when nothing that was put is within the grace any more.
const later = (chainstore.RenewAfter + 1) * time.Millisecond

// collect runs a collection without grace, and tells what it deleted. during is called with every report.
func (f *fixture) collect(c chainstore.Collection, during func(chainstore.Collected)) (last chainstore.Collected) {
	f.Helper()
	f.ok(f.store.Collect(f.ctx(), f.ns, c, func(told chainstore.Collected) error {
		last = told
		if during != nil {
			during(told)
		}
		return nil
	}))
	equal(f, "the phase at the end", last.Phase, chainstore.CollectDone)
	return last
}

// sweep collects, once what was put is old, and asserts how many nodes went.
func (f *fixture) sweep(nodes int64) {
	f.Helper()
	f.clock.Advance(later)
	equal(f, "the number of nodes deleted", f.collect(chainstore.Collection{}, nil).Nodes, nodes)
	f.clean()
}

func (f *fixture) isThere(ids ...chainstore.ID) {
	f.Helper()
	for _, id := range ids {
		f.all(idRef(id))
	}
}

// forget deletes an alias with its history.
func forget(name string, c chainstore.Condition) chainstore.AliasChange {
	a := remove(name, c)
	a.Forget = true
	return a
}

// collectKept: what aliases and their histories point to is kept, with its ancestors, and what is in neither goes.
func collectKept(f *fixture) {
	trunk := f.chain(chainstore.Parent{}, system("s"), user("a"), assistant("b"), user("c"), assistant("d"))
	fork := f.chain(byID(trunk[1]), assistant("other"), user("more"))
	was := f.chain(byID(trunk[2]), user("was"))
	dead := f.chain(byID(trunk[0]), user("dead"), assistant("dead"))
	f.commit(nil, point("a", trunk[3], anything()), point("b", was[0], anything()))
	f.commit(nil, point("b", fork[0], anything()))
	f.sweep(4)
	for _, id := range []chainstore.ID{trunk[4], fork[1], dead[0], dead[1]} {
		f.absent(id)
	}
	f.isThere(trunk[3], fork[0], was[0])
	f.points("a", trunk[3])
	f.sweep(0)
	f.commit(nil, remove("b", anything()))
	f.sweep(0)
	f.isThere(was[0], fork[0])
	f.commit(nil, forget("b", anything()))
	f.sweep(2)
	f.absent(was[0])
	f.absent(fork[0])
	f.isThere(trunk[3])
}

// collectGone: of what was deleted nothing is seen, and it can be put again.
func collectGone(f *fixture) {
	nodes := []Node{
		root(user("q")), under(previous(), calling("read", "1", "2")), under(previous(), result("1", "r"), result("2", "s")),
		{Parent: previous(), Messages: []Message{user(strings.Repeat("x", 600<<10))}, Metadata: []Entry{{"var/x", "1"}}},
	}
	put := f.commit(nodes, set("a", 3, anything()))
	kept := f.put(root(user("kept")), set("kept", 0, anything()))
	want := f.head(aliasRef("a"), nil).Head().State
	f.commit(nil, forget("a", anything()))
	f.sweep(4)
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the statistics", st, chainstore.Stats{Nodes: 1, Messages: 1, MessageBytes: st.MessageBytes, Aliases: 1, Roots: 1})
	for _, n := range put.Nodes {
		f.absent(n.ID)
		if !f.skips(Find) {
			ids, err := f.store.Find(f.ctx(), f.ns, n.ID.String()[:16], 9)
			f.ok(err)
			equal(f, "the number of ids found", len(ids), 0)
		}
	}
	again := f.commit(nodes, set("a", 3, anything()))
	for i, n := range again.Nodes {
		equal(f, "the id", n.ID, put.Nodes[i].ID)
		equal(f, "that it was created", n.Created, true)
	}
	rows := f.all(aliasRef("a"))
	equal(f, "the number of rows", len(rows), 4)
	equal(f, "the time of the first put", rows[0].header.FirstPut, millis(f.clock.Now()))
	equal(f, "the totals", f.head(aliasRef("a"), nil).Head().State.Full.Totals, want.Full.Totals)
	f.isThere(kept)
	f.clean()
}

// collectTails: a chain whose end was deleted goes on from where it ends now, more than once, and no place has two nodes.
func collectTails(f *fixture) {
	ids := f.long(chainstore.Parent{}, 50)
	held := f.head(idRef(ids[49]), nil)
	for _, end := range []int{40, 17, 16, 3} {
		f.commit(nil, forget("b", anything()))
		f.commit(nil, point("b", ids[end], anything()))
		f.clock.Advance(later)
		f.collect(chainstore.Collection{}, nil)
		equal(f, "the number of rows", len(f.all(aliasRef("b"))), end+1)
		f.absent(ids[end+1])
		more := f.chain(byID(ids[end]), user(fmt.Sprint("more ", end)), assistant("so"))
		equalSlices(f, "the chain", idsOf(f.all(idRef(more[1]))), append(slices.Clone(ids[:end+1]), more...))
		children, err := f.store.Children(f.ctx(), f.ns, idRef(ids[end]), nil, 9)
		f.ok(err)
		equal(f, "the number of children", len(children), 1)
		f.commit(nil, point("c", more[1], anything()))
		f.commit(nil, forget("b", anything()))
		f.clean()
		f.commit(nil, point("b", ids[end], anything()))
		f.commit(nil, forget("c", anything()))
	}
	err := held.Rows(f.ctx(), []chainstore.Span{{Through: 49}}, func(*chainstore.Row) error { return nil })
	if err != nil && !errors.Is(err, chainstore.ErrNodeNotFound) && !errors.Is(err, chainstore.ErrClosed) { // a store that was opened again since
		f.Errorf("a chain that is kept in memory: %v", err)
	}
}

// collectMany: more nodes than one commit deletes, in long chains and in many short ones.
func collectMany(f *fixture) {
	ids := f.long(chainstore.Parent{}, longChain())
	f.commit(nil, point("a", ids[9], anything()))
	for i := range 300 {
		f.put(root(user(fmt.Sprint("alone ", i))))
	}
	f.sweep(int64(len(ids) - 10 + 300))
	equal(f, "the number of rows", len(f.all(aliasRef("a"))), 10)
}

// collectGrace: what was put lately is kept, with its ancestors, for the grace and at most chainstore.RenewAfter more.
func collectGrace(f *fixture) {
	day := chainstore.Collection{Grace: 24 * 60 * 60 * 1000}
	ids := f.chain(chainstore.Parent{}, user("a"), assistant("b"))
	f.clock.Advance(20 * time.Hour)
	tip := f.put(under(byID(ids[0]), user("c")))
	f.clock.Advance(20 * time.Hour)
	equal(f, "the number of nodes deleted", f.collect(day, nil).Nodes, 1)
	f.absent(ids[1])
	f.isThere(tip)
	f.clock.Advance(20 * time.Hour)
	equal(f, "the number of nodes deleted", f.collect(day, nil).Nodes, 2)
	f.put(root(user("d")))
	kept := f.put(root(user("e")))
	f.commit(nil, point("a", kept, anything()))
	equal(f, "the number of nodes deleted without a grace", f.collect(chainstore.Collection{}, nil).Nodes, 1)
	f.isThere(kept)
	f.clean()
}

// collectPutAgain: putting a node again keeps it for the grace. A node that was put elsewhere long ago counts as put now.
func collectPutAgain(f *fixture) {
	day := chainstore.Collection{Grace: 24 * 60 * 60 * 1000}
	id := f.put(root(user("a")))
	f.put(root(user("b")))
	for range 5 {
		f.clock.Advance(20 * time.Hour)
		equal(f, "the node", f.put(root(user("a"))), id)
		f.collect(day, nil)
		f.isThere(id)
	}
	if f.skips(Elsewhere) {
		return
	}
	old := f.change([]Node{root(user("old"))})
	old.Nodes[0].FirstPut = 1
	out, err := f.store.Commit(f.ctx(), f.ns, old)
	f.ok(err)
	equal(f, "the number of nodes deleted", f.collect(day, nil).Nodes, 0)
	f.isThere(out.Nodes[0].ID)
	f.clock.Advance(40 * time.Hour)
	equal(f, "the number of nodes deleted", f.collect(day, nil).Nodes, 2)
	f.clean()
}

// collectDryRun tells what would be deleted, and deletes nothing.
func collectDryRun(f *fixture) {
	ids := f.long(chainstore.Parent{}, 500)
	f.commit(nil, point("a", ids[99], anything()))
	f.clock.Advance(later)
	told := f.collect(chainstore.Collection{DryRun: true}, nil)
	equal(f, "the number of nodes told", told.Nodes, 400)
	f.isThere(ids[499])
	did := f.collect(chainstore.Collection{}, nil)
	equal(f, "what was told", told, did)
}

// collectNamed: what a change names while a collection runs is kept by it, however shortly an alias pointed there.
func collectNamed(f *fixture) {
	for i, name := range []func(ids []chainstore.ID){
		func(ids []chainstore.ID) { f.put(under(byID(ids[2]), user("child"))) },
		func(ids []chainstore.ID) {
			f.commit(nil, point("short", ids[2], anything()))
			f.commit(nil, forget("short", anything()))
		},
		func(ids []chainstore.ID) { f.put(under(byID(ids[1]), user("c"))) },
		func(ids []chainstore.ID) { f.commit(nil, point("named", ids[2], anything())) },
	} {
		g := f.in(fmt.Sprint("named-", i))
		ids := g.chain(chainstore.Parent{}, user("a"), assistant("b"), user("c"), assistant("d"))
		g.put(root(user("dead")))
		f.ns = g.ns
		f.clock.Advance(later)
		done := false
		told := g.collect(chainstore.Collection{}, func(told chainstore.Collected) {
			if !done && told.Phase == chainstore.CollectSweeping {
				name(ids)
				done = true
			}
		})
		equal(f, "that it was named in between", done, true)
		g.isThere(ids[2])
		equal(f, "the number of nodes deleted", told.Nodes, 2)
		g.clean()
	}
	g := f.in("left") // the head that an alias leaves
	ids := g.chain(chainstore.Parent{}, user("a"), assistant("b"))
	g.commit(nil, point("a", ids[1], anything()))
	f.clock.Advance(later)
	first := true
	g.collect(chainstore.Collection{}, func(told chainstore.Collected) {
		if first {
			g.commit(nil, forget("a", anything()))
		}
		first = false
	})
	g.isThere(ids[1])
	g.sweep(2)
}

// collectSpawned: a link keeps neither side, and is right whichever goes first.
func collectSpawned(f *fixture) {
	if f.skips(Spawned) {
		return
	}
	spawned := func(of chainstore.ID) (ids []chainstore.ID) {
		f.Helper()
		headers, _, err := f.head(idRef(of), nil).Spawned(f.ctx(), 64)
		f.ok(err)
		for _, h := range headers {
			ids = append(ids, h.ID)
		}
		return ids
	}
	spawner := f.put(root(user("spawner")))
	child := func(text string) chainstore.ID {
		n := root(user(text))
		n.SpawnedFrom = &chainstore.SpawnedFrom{Node: spawner}
		return f.put(n)
	}
	a, b := child("a"), child("b")
	f.commit(nil, point("spawner", spawner, anything()), point("b", b, anything()))
	f.sweep(1)
	f.absent(a)
	equalSlices(f, "what was spawned", spawned(spawner), []chainstore.ID{b})
	f.commit(nil, forget("spawner", anything()))
	f.sweep(1)
	f.absent(spawner)
	f.isThere(b)
	equal(f, "the spawner", f.put(root(user("spawner"))), spawner)
	equalSlices(f, "what was spawned", spawned(spawner), []chainstore.ID{b})
	c := child("c")
	equalSlices(f, "what was spawned", spawned(spawner), []chainstore.ID{b, c})
	f.clean()
	f.commit(nil, forget("b", anything()))
	f.sweep(3)
}

// collectSpawnedByOne: of very many that wait for one spawner, those take the place of what goes that come next, before the spawner is put and after.
func collectSpawnedByOne(f *fixture) {
	if f.skips(Spawned) || f.skips(Tables) { // where tables are cut, so is the list of what was spawned
		return
	}
	spawner := root(user("spawner"))
	by := f.change([]Node{spawner}).Nodes[0].Identify(nil)
	many := func(text string, n int) (ids []chainstore.ID) {
		f.Helper()
		for from := 0; from < n; from += 100 {
			var nodes []Node
			for i := from; i < min(n, from+100); i++ {
				child := root(user(fmt.Sprint(text, " ", i)))
				child.SpawnedFrom = &chainstore.SpawnedFrom{Node: by}
				nodes = append(nodes, child)
			}
			for _, p := range f.commit(nodes).Nodes {
				ids = append(ids, p.ID)
			}
		}
		return ids
	}
	collected := func(nodes int64) {
		f.Helper()
		equal(f, "the number of nodes deleted", f.collect(chainstore.Collection{Grace: 1000}, nil).Nodes, nodes)
		f.clean()
	}
	spawned := func(want []chainstore.ID) {
		f.Helper()
		got, more, err := f.head(idRef(by), nil).Spawned(f.ctx(), chainstore.SpawnedReach)
		f.ok(err)
		equal(f, "that there are more", more, false)
		equal(f, "the number of nodes spawned", len(got), len(want))
		for _, h := range got {
			equal(f, "that one of them was spawned", slices.Contains(want, h.ID), true)
		}
	}
	const dead = 300
	many("dead", dead)
	f.clock.Advance(later + time.Second)
	live := many("live", 2*chainstore.SpawnedReach+11-dead) // so that some are behind as many as a spawner is linked to when it is put
	equal(f, "the spawner", f.put(spawner), by)
	f.clean()
	collected(dead)
	spawned(live)
	f.clock.Advance(later + time.Second)
	more := many("more", 2)
	collected(int64(len(live)) + 1)
	f.absent(by)
	f.put(spawner)
	spawned(more)
	many("behind it", 1)
	f.commit(nil, point("more", more[1], anything()))
	f.clock.Advance(later + time.Second)
	collected(3) // and what is left of those it spawned waits for it again
	f.put(spawner)
	spawned(more[1:])
	f.clean()
}

// collectHistories: states that are not told of any more keep nothing, and go.
func collectHistories(f *fixture) {
	ids := f.chain(chainstore.Parent{}, user("a"), assistant("b"), user("c"), assistant("d"))
	others := f.chain(chainstore.Parent{}, user("x"), assistant("y"))
	f.commit(nil, point("a", others[1], anything()), point("gone", ids[3], anything()))
	f.commit(nil, point("a", ids[1], anything()), remove("gone", anything()))
	f.sweep(0)
	f.clock.Advance((chainstore.MaxHistoryAge + 1000) * time.Millisecond)
	f.sweep(4)
	f.absent(others[0])
	f.absent(ids[2])
	f.gone("gone")
	states, err := f.store.AliasHistory(f.ctx(), f.ns, "a")
	f.ok(err)
	equal(f, "the number of states", len(states), 1)
	f.commit(nil, point("gone", ids[0], anything()), point("a", ids[0], anything()))
	states, err = f.store.AliasHistory(f.ctx(), f.ns, "a")
	f.ok(err)
	equal(f, "the number of states", len(states), 2)
	f.clean()
	if !f.skips(Export) {
		f.exports()
	}
}

// collectForgotten: a name whose history a collection deleted is forgotten for whoever looks by an earlier time, too.
func collectForgotten(f *fixture) {
	ids := f.chain(chainstore.Parent{}, user("a"), assistant("b"), user("c"))
	for i := range 3 {
		f.commit(nil, point("gone", ids[i], anything()))
		f.commit(nil, point("again", ids[i], anything()))
	}
	f.commit(nil, remove("gone", anything()), remove("again", anything()))
	long := (chainstore.MaxHistoryAge + 1000) * time.Millisecond
	f.clock.Advance(long)
	f.collect(chainstore.Collection{Grace: int64(10 * 365 * 24 * time.Hour / time.Millisecond)}, nil)
	f.clock.Advance(-long)
	f.gone("gone")
	_, err := f.store.AliasHistory(f.ctx(), f.ns, "gone")
	f.fails(err, chainstore.ErrAliasNotFound)
	f.clean()
	out := f.commit(nil, point("again", ids[0], mustNotExist()))
	equal(f, "the revision", out.Aliases[0].Revision, 5)
	states, err := f.store.AliasHistory(f.ctx(), f.ns, "again")
	f.ok(err)
	equal(f, "the number of states", len(states), 1)
	f.commit(nil, remove("again", anything()))
	f.clean()
}

// collectApart: another namespace, and one that was never written to.
func collectApart(f *fixture) {
	id := f.put(root(user("a")))
	g := f.in("other")
	dead := g.put(root(user("a")))
	f.clock.Advance(later)
	equal(f, "the number of nodes deleted", f.in("never").collect(chainstore.Collection{}, nil).Nodes, 0)
	equal(f, "the number of nodes deleted", g.collect(chainstore.Collection{}, nil).Nodes, 1)
	g.absent(dead)
	f.isThere(id)
}

// collectBorn: what is put in a namespace while a collection of it runs that began before there was anything stays.
func collectBorn(f *fixture) {
	f.clock.Advance(later)
	for _, c := range []chainstore.Collection{{}, {Grace: 1}, {DryRun: true}} {
		g := f.in(fmt.Sprint("born-", c.Grace, c.DryRun))
		var id chainstore.ID
		told := g.collect(c, func(chainstore.Collected) {
			if id == (chainstore.ID{}) {
				id = g.put(root(user("a")), set("a", 0, anything()))
				g.put(root(user("stray")))
			}
		})
		equal(f, "the number of nodes deleted", told.Nodes, 0)
		g.points("a", id)
		g.clean()
	}
}

// forgotten: an alias that is deleted with its history is as one that never was set, with revisions that go on.
func forgotten(f *fixture) {
	ids := f.chain(chainstore.Parent{}, user("a"), assistant("b"))
	f.commit(nil, point("a", ids[0], anything()))
	f.commit(nil, point("a", ids[1], anything()))
	out := f.commit(nil, forget("a", atRevision(2)))
	equal(f, "what became of it", out.Aliases[0], chainstore.PutAlias{Changed: true, Revised: true, Revision: 3, Existed: true, Previous: ids[1]})
	unknown := func() {
		f.Helper()
		_, err := f.store.Alias(f.ctx(), f.ns, "a")
		var deleted *chainstore.DeletedError
		if f.fails(err, chainstore.ErrAliasNotFound); errors.As(err, &deleted) {
			f.Errorf("it tells of the deletion: %+v", deleted)
		}
		_, err = f.store.AliasHistory(f.ctx(), f.ns, "a")
		f.fails(err, chainstore.ErrAliasNotFound)
	}
	unknown()
	for name, c := range map[string]chainstore.Condition{"a": atRevision(2), "never": anything()} {
		again := f.commit(nil, forget(name, c)).Aliases[0]
		equal(f, "what became of it again", again.Revised || again.Changed, false)
	}
	f.clean()
	out = f.commit(nil, point("a", ids[0], mustNotExist()))
	equal(f, "the revision", out.Aliases[0].Revision, 4)
	states, err := f.store.AliasHistory(f.ctx(), f.ns, "a")
	f.ok(err)
	equal(f, "the number of states", len(states), 1)
	f.commit(nil, remove("a", anything())) // and one that is deleted already
	out = f.commit(nil, forget("a", anything()))
	equal(f, "the revision", out.Aliases[0].Revision, 6)
	unknown()
	f.clean()
	if !f.skips(Export) {
		equal(f, "the aliases of an export of all", len(f.exports().Aliases), 0)
	}
}

// forgottenIsNoRepeat: a name that is forgotten does not tell that a change took place, for others may have forgotten it.
func forgottenIsNoRepeat(f *fixture) {
	if f.skips(Mixed) {
		return
	}
	n := root(user("a"))
	id := f.put(n, set("new", 0, anything()))
	other := f.put(root(user("other")), set("old", 0, anything()))
	f.commit(nil, point("new", other, anything()), forget("old", anything()))
	f.commit([]Node{n}, forget("old", atRevision(7)), set("new", 0, anything()))
	f.points("new", id)
	f.commit(nil, point("new", other, anything()))
	f.commit([]Node{n}, forget("never", atRevision(7)), set("new", 0, anything()))
	f.points("new", id)
	f.clean()
}
