package storetest

import (
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func spawnedChecks() []check {
	return []check{
		{Spawned, "Order", spawnedInOrder},
		{Spawned, "AcrossForks", spawnedAcrossForks},
		{Spawned, "SpawnerPutLater", spawnedBeforeSpawner},
		{Spawned, "ManyWait", spawnedManyWait},
		{Spawned, "OnThePath", spawnedOnThePath},
		{Spawned, "Reach", spawnedReach},
		{Spawned, "ReachOnThePath", spawnedReachOnThePath},
		{Spawned, "Namespaces", spawnedInNamespaces},
		{Spawned, "Depth", spawnDepths},
		{Spawned, "DepthInNamespaces", spawnDepthInNamespaces},
		{Compaction, "Spawned", spawnedBeforeCompactions},
	}
}

// spawn is a node that says it was spawned by another, by a call named like its text.
func spawn(parent chainstore.Parent, by chainstore.ID, text string) Node {
	n := under(parent, user(text))
	n.SpawnedFrom = &chainstore.SpawnedFrom{Node: by, CallID: runloop.Some(text)}
	return n
}

// spawns puts a root that a node spawned.
func (f *fixture) spawns(by chainstore.ID, text string) chainstore.ID {
	f.Helper()
	return f.putLater(spawn(chainstore.Parent{}, by, text))
}

// putLater puts a node so much later than any before that it comes behind them in chainstore.PutOrder.
func (f *fixture) putLater(n Node) chainstore.ID {
	f.Helper()
	f.clock.Advance(chainstore.PutOrder)
	return f.put(n)
}

// spawned asserts what the path to a head spawned.
func (f *fixture) spawned(head chainstore.ID, limit int, more bool, want ...chainstore.ID) {
	f.Helper()
	got, gotMore, err := f.head(idRef(head), nil).Spawned(f.ctx(), limit)
	f.ok(err)
	equalSlices(f, "the spawned", childIDs(got), want)
	equal(f, "that there are more", gotMore, more)
}

// spawnedInOrder: the latest spawner's come first, of one spawner those put first; all are shown as they were put.
func spawnedInOrder(f *fixture) {
	ids := f.chain(chainstore.Parent{}, user("u"), calling("task", "1", "2"), result("1", "r"), calling("task", "3"))
	head := ids[3]
	f.spawned(head, 10, false)
	late := f.spawns(head, "a")
	early := f.spawns(ids[1], "b")
	earlyToo := f.putLater(Node{Messages: []Message{user("b")}, SpawnedFrom: &chainstore.SpawnedFrom{Node: ids[1]}})
	latest := f.spawns(head, "c")
	equal(f, "a node that was put again", f.spawns(ids[1], "b"), early)
	ofRoot := f.spawns(ids[0], "d")
	f.spawns(unknownID(7), "dangling")
	f.spawned(head, 10, false, late, early, earlyToo, latest, ofRoot)
	f.spawned(head, 5, false, late, early, earlyToo, latest, ofRoot)
	f.spawned(head, 4, true, late, early, earlyToo, latest)
	f.spawned(head, 3, true, late, early, latest)
	f.spawned(head, 2, true, late, latest)
	f.spawned(head, 1, true, late)
	f.spawned(ids[2], 2, true, early, earlyToo)
	f.spawned(ids[0], 1, false, ofRoot)
	f.spawned(late, 10, false)
	got, _, err := f.head(idRef(ids[0]), nil).Spawned(f.ctx(), 1)
	f.ok(err)
	equal(f, "the link of a spawned node", *got[0].SpawnedFrom, chainstore.SpawnedFrom{Node: ids[0], CallID: runloop.Some("d")})
	f.clean()
}

// spawnedAcrossForks: what is beside the path, further on or in another branch, spawned nothing of it.
func spawnedAcrossForks(f *fixture) {
	trunk := f.long(chainstore.Parent{}, 10)
	left := f.chain(byID(trunk[4]), user("left"), assistant("1"), assistant("2"), assistant("3"))
	right := f.chain(byID(trunk[4]), user("right"))
	deep := f.chain(byID(left[1]), user("deep"), assistant("1"), assistant("2"))
	paths := [][]chainstore.ID{trunk, slices.Concat(trunk[:5], left), slices.Concat(trunk[:5], right), slices.Concat(trunk[:5], left[:2], deep)}
	var order []chainstore.ID
	by := map[chainstore.ID][]chainstore.ID{}
	for i, id := range slices.Concat(deep, trunk, right, left, deep) {
		order = append(order, f.spawns(id, fmt.Sprint(i)))
		by[id] = append(by[id], order[i])
	}
	for _, path := range paths {
		for n := range path {
			var latest []chainstore.ID
			for _, spawner := range slices.Backward(path[:n+1]) {
				latest = append(latest, by[spawner]...)
			}
			for _, limit := range []int{1, 2, 5, len(latest), 64} {
				chosen := latest[:min(limit, len(latest))]
				want := slices.DeleteFunc(slices.Clone(order), func(id chainstore.ID) bool { return !slices.Contains(chosen, id) })
				f.spawned(path[n], limit, len(latest) > limit, want...)
			}
		}
	}
	f.clean()
}

// spawnedBeforeSpawner: a spawner that is put later, as a first child or as a fork, in the same change or another.
func spawnedBeforeSpawner(f *fixture) {
	base := f.put(root(user("u")))
	for i, put := range []func(spawned, spawner Node){
		func(spawned, spawner Node) { f.put(spawned); f.spawned(base, 10, false); f.put(spawner) },
		func(spawned, spawner Node) { f.commit([]Node{spawned, spawner}) },
		func(spawned, spawner Node) { f.commit([]Node{spawner, spawned}) },
	} {
		spawner := under(byID(base), calling("task", fmt.Sprint(i)))
		made := f.cfg.Encoding.Make(spawner)
		id := made.Identify(&base)
		child := spawn(chainstore.Parent{}, id, fmt.Sprint("first of ", i))
		put(child, spawner)
		first, second := f.put(child), f.spawns(id, fmt.Sprint("second of ", i))
		f.spawned(id, 10, false, first, second)
		f.spawned(f.put(under(byID(id), result(fmt.Sprint(i), "r"))), 10, false, first, second)
		f.spawned(base, 10, false)
	}
	f.clean()
}

// spawnedOf asserts that of some nodes as many as are asked for are found, always the same; where the store says so, those put first.
func (f *fixture) spawnedOf(head chainstore.ID, limit int, more bool, all []chainstore.ID) []chainstore.ID {
	f.Helper()
	found, gotMore, err := f.head(idRef(head), nil).Spawned(f.ctx(), limit)
	f.ok(err)
	got := childIDs(found)
	equal(f, "that there are more", gotMore, more)
	f.spawned(head, limit, more, got...)
	known := map[chainstore.ID]bool{}
	for _, id := range all {
		known[id] = true
	}
	for _, id := range got {
		equal(f, "that it was spawned, and is listed once", known[id], true)
		known[id] = false
	}
	equal(f, "the spawned that are shown", len(got), min(limit, len(all)))
	if f.cfg.PutOrder {
		equalSlices(f, "those put first", got, all[:len(got)])
	}
	return got
}

// spawnedManyWait: however many wait for a spawner, it can be put, and as many as can be asked for are found, also of those that are
// put behind it.
func spawnedManyWait(f *fixture) {
	const asked = 64
	for _, waiting := range []int{asked - 2, 3 * chainstore.SpawnedReach} {
		spawner := root(calling("task", fmt.Sprint(waiting)))
		made := f.cfg.Encoding.Make(spawner)
		id := made.Identify(nil)
		var nodes []Node
		for i := range waiting {
			nodes = append(nodes, spawn(chainstore.Parent{}, id, fmt.Sprint(waiting, " ", i)))
		}
		var all []chainstore.ID
		for _, n := range f.commit(nodes).Nodes {
			all = append(all, n.ID)
		}
		f.put(spawner)
		all = append(all, f.spawns(id, "behind it"))
		shown := f.spawnedOf(id, asked, len(all) > asked, all)
		if len(all) <= asked {
			f.order("the spawned", shown, all)
			equal(f, "the one that was put last", shown[waiting], all[waiting])
		}
		behind := f.put(under(byID(id), result(fmt.Sprint(waiting), "r")))
		equal(f, "the first", f.spawnedOf(behind, 1, true, all)[0], shown[0])
	}
	f.clean()
}

// spawnedOnThePath: a chain that goes on behind its spawner did not spawn itself, but what lies beside it.
func spawnedOnThePath(f *fixture) {
	at := f.chain(chainstore.Parent{}, user("u"), calling("task", "1", "2", "3"))[1]
	inherits := f.put(spawn(byID(at), at, "1"))
	forked := f.putLater(spawn(byID(at), at, "2"))
	apart := f.spawns(at, "3")
	f.spawned(at, 10, false, inherits, forked, apart)
	f.spawned(f.put(under(byID(at), result("1", "r"))), 10, false, inherits, forked, apart)
	f.spawned(inherits, 10, false, forked, apart)
	f.spawned(inherits, 1, true, forked)
	f.spawned(forked, 10, false, inherits, apart)
	below := f.put(under(byID(inherits), assistant("on")))
	grandchild := f.spawns(inherits, "4")
	f.spawned(below, 10, false, forked, apart, grandchild)
	f.spawned(below, 1, true, grandchild)
	f.spawned(forked, 10, false, inherits, apart)
	f.clean()
}

// spawnedReach: over more forks than it looks at, it says that there may be more.
func spawnedReach(f *fixture) {
	path := []chainstore.ID{f.put(root(user("u")))}
	for i := range chainstore.SpawnedReach + 1 {
		out := f.commit([]Node{under(byID(path[i]), user("stays")), under(byID(path[i]), user("leaves"))})
		path = append(path, out.Nodes[1].ID)
	}
	// The path to path[i] has i+1 runs.
	const last = chainstore.SpawnedReach - 1
	f.spawned(path[last], 10, false)
	f.spawned(path[last+1], 10, true)
	first, second := f.spawns(path[0], "1"), f.spawns(path[1], "2")
	f.spawned(path[last], 10, false, first, second)
	f.spawned(path[last+1], 10, true, second)
	f.spawned(path[last+1], 1, true, second)
	f.spawned(path[last+2], 10, true)
	near := f.spawns(path[last+2], "3")
	f.spawned(path[last+2], 10, true, near)
	f.clean()
}

// spawnedReachOnThePath: nor does it pass over more nodes of the path.
func spawnedReachOnThePath(f *fixture) {
	at := f.put(root(user("u")))
	before := f.spawns(at, "before")
	var nodes []Node
	for i := range chainstore.SpawnedReach {
		nodes = append(nodes, spawn(previous(), at, fmt.Sprint(i)))
	}
	nodes[0].Parent = byID(at)
	f.clock.Advance(chainstore.PutOrder)
	path := f.commit(nodes).Nodes
	behind := f.spawns(at, "behind")
	const passed = chainstore.SpawnedReach - 1 // for the one run is looked at too
	f.spawned(path[passed-1].ID, 10, false, before, path[passed].ID, behind)
	f.spawned(path[passed].ID, 10, true, before)
	f.clean()
}

// spawnedInNamespaces: equal nodes of another namespace spawned nothing here.
func spawnedInNamespaces(f *fixture) {
	a, b := f.in("a"), f.in("b")
	head := a.long(chainstore.Parent{}, 3)[2]
	b.long(chainstore.Parent{}, 3)
	one := a.spawns(head, "one")
	b.spawned(head, 10, false)
	two := b.spawns(head, "two")
	a.spawned(head, 10, false, one)
	b.spawned(head, 10, false, two)
	a.clean()
	b.clean()
}

// spawnedBeforeCompactions: what was condensed goes on being what the chain spawned; so does what a compaction node did.
func spawnedBeforeCompactions(f *fixture) {
	ids := f.talk()
	early := f.spawns(ids[2], "early")
	once := f.put(compacted(ids[9], ids[9], summary("so far")))
	f.spawned(once, 10, false, early)
	on := f.put(under(byID(once), calling("task", "t")))
	late, ofCompaction := f.spawns(on, "late"), f.spawns(once, "of a compaction")
	twice := f.put(compacted(f.put(under(byID(on), result("t", "r"))), once, summary("again")))
	f.spawned(twice, 10, false, early, late, ofCompaction)
	f.spawned(twice, 2, true, late, ofCompaction)
	f.spawned(f.put(under(byID(ids[9]), user("left before"))), 10, false, early)
	f.clean()
}

// depth asserts how many spawns lie above a head.
func (f *fixture) depth(head chainstore.ID, limit, want int, wantMore bool) {
	f.Helper()
	got, more, err := f.head(idRef(head), nil).SpawnDepth(f.ctx(), limit)
	f.ok(err)
	equal(f, "the depth", got, want)
	equal(f, "that there are more spawns above", more, wantMore)
}

// spawnDepths: links are followed from chain to chain, whether these go on from their spawner or begin anew, up to one that dangles.
func spawnDepths(f *fixture) {
	trunk := f.long(chainstore.Parent{}, 4)
	f.depth(trunk[3], 64, 0, false)
	f.depth(trunk[3], 1, 0, false)
	head := trunk[2]
	for i := 1; i <= 70; i++ {
		at := chainstore.Parent{} // a chain of its own
		switch i % 3 {
		case 1:
			at = byID(head) // it goes on from its spawner
		case 2:
			at = byID(trunk[1]) // it leaves the first chain before that was spawned from
		}
		first := f.put(spawn(at, head, fmt.Sprint("depth ", i)))
		f.depth(first, 64, min(i, 64), i > 64)
		head = f.put(under(byID(first), assistant("below it")))
		f.depth(head, 64, min(i, 64), i > 64)
	}
	f.depth(head, 1, 1, true)
	f.depth(head, 63, 63, true)
	f.depth(f.spawns(unknownID(7), "dangling"), 64, 1, false)
	f.depth(f.spawns(f.spawns(unknownID(8), "dangling"), "below"), 64, 2, false)
	late := spawn(chainstore.Parent{}, head, "put after what it spawned")
	made := f.cfg.Encoding.Make(late)
	early := f.spawns(made.Identify(nil), "put before its spawner")
	f.depth(early, 64, 1, false)
	f.put(late)
	f.depth(early, 64, 64, true)
	twice := f.put(spawn(byID(f.spawns(trunk[0], "once")), trunk[1], "the nearest counts"))
	f.depth(twice, 64, 1, false)
	f.clean()
}

// spawnDepthInNamespaces: the same node in another namespace is no spawner.
func spawnDepthInNamespaces(f *fixture) {
	above := f.spawns(unknownID(9), "above")
	f.depth(f.spawns(above, "below"), 64, 2, false)
	g := f.in("elsewhere")
	g.depth(g.spawns(above, "below"), 64, 1, false)
	f.clean()
}
