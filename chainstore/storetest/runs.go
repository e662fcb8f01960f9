package storetest

import (
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
)

func runChecks() []check {
	return []check{
		{Runs, "OfOneChain", runsOfOneChain},
		{Runs, "OverForks", runsOverForks},
		{Runs, "Deep", runsDeep},
	}
}

func (f *fixture) runs(id chainstore.ID) []chainstore.Run {
	f.Helper()
	c := f.head(idRef(id), nil)
	all := c.Runs(1 << 20)
	for _, limit := range []int{0, 1, 2, len(all) - 1, len(all)} {
		equalSlices(f, "the first runs", c.Runs(limit), all[:min(max(limit, 0), len(all))])
	}
	end := c.Head().Seq
	for i, r := range all {
		if equal(f, "the end of a run", r.Through, end); r.From > r.Through || (r.From == 0) != (i == len(all)-1) {
			f.Fatalf("run %d of %d is %+v", i, len(all), r)
		}
		end = r.From - 1
	}
	return all
}

func runsOfOneChain(f *fixture) {
	ids := f.long(chainstore.Parent{}, 30)
	key := f.runs(ids[0])[0].Key
	for i, id := range ids {
		equalSlices(f, "the runs", f.runs(id), []chainstore.Run{{Key: key, Through: uint32(i)}})
	}
	other := f.runs(f.put(root(user("another root"))))
	if len(other) != 1 || other[0].Key == key {
		f.Fatalf("another root's runs are %+v", other)
	}
}

// runsOverForks: a run begins where a node is not its parent's first child, compaction nodes as well; keys name runs.
func runsOverForks(f *fixture) {
	trunk := f.long(chainstore.Parent{}, 10)
	base := f.runs(trunk[9])[0].Key
	second := f.put(under(byID(trunk[4]), user("second")))
	third := f.put(compacted(trunk[4], trunk[2], summary("third")))
	below := f.long(byID(second), 3)
	side := f.put(under(byID(below[0]), user("side")))
	batch := f.commit([]Node{
		under(byID(trunk[9]), user("first child")), under(byID(trunk[9]), user("second child")), under(previous(), user("on")),
	}).Nodes
	shape := func(id chainstore.ID, want ...[2]uint32) []chainstore.Run {
		f.Helper()
		runs := f.runs(id)
		var got [][2]uint32
		for _, r := range runs {
			got = append(got, [2]uint32{r.From, r.Through})
		}
		equalSlices(f, "the runs", got, want)
		equal(f, "the key of the trunk", runs[len(runs)-1].Key, base)
		return runs
	}
	a := shape(second, [2]uint32{5, 5}, [2]uint32{0, 4})
	b := shape(third, [2]uint32{5, 5}, [2]uint32{0, 4})
	c := shape(below[2], [2]uint32{5, 8}, [2]uint32{0, 4})
	d := shape(side, [2]uint32{7, 7}, [2]uint32{5, 6}, [2]uint32{0, 4})
	shape(batch[0].ID, [2]uint32{0, 10})
	e := shape(batch[2].ID, [2]uint32{10, 11}, [2]uint32{0, 9})
	equal(f, "the key of a run further on", c[0].Key, a[0].Key)
	equal(f, "the key of a run from a fork of it", d[1].Key, a[0].Key)
	keys := []uint64{base, a[0].Key, b[0].Key, d[0].Key, e[0].Key}
	slices.Sort(keys)
	equal(f, "the keys that differ", len(slices.Compact(keys)), 5)
}

// runsDeep: more runs than a fork path holds entries.
func runsDeep(f *fixture) {
	at := f.put(root(user("u")))
	const forks = 150
	for range forks {
		out := f.commit([]Node{under(byID(at), user("stays")), under(byID(at), user("leaves"))})
		at = out.Nodes[1].ID
	}
	runs := f.runs(at)
	equal(f, "the runs", len(runs), forks+1)
	keys := map[uint64]bool{}
	for i, r := range runs {
		keys[r.Key] = true
		equal(f, "a run's place", r, chainstore.Run{Key: r.Key, From: uint32(forks - i), Through: uint32(forks - i)})
	}
	equal(f, "the keys", len(keys), forks+1)
}
