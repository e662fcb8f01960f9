package storetest

import (
	"fmt"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

// states reads a history without the revisions, which grow from state to state.
func (f *fixture) states(name string) []chainstore.AliasState {
	f.Helper()
	all, err := f.store.AliasHistory(f.ctx(), f.ns, name)
	f.ok(err)
	last := int64(0)
	for i := range all {
		if i > 0 && all[i].Revision >= last {
			f.Fatalf("revision %d comes before %d", all[i].Revision, last)
		}
		last, all[i].Revision = all[i].Revision, 0
	}
	return all
}

func historyStates(f *fixture) {
	_, err := f.store.AliasHistory(f.ctx(), f.ns, "x")
	f.fails(err, chainstore.ErrAliasNotFound)
	f.commit(nil, remove("x", anything()))
	_, err = f.store.AliasHistory(f.ctx(), f.ns, "x")
	f.fails(err, chainstore.ErrAliasNotFound)
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	var want []chainstore.AliasState
	step := func(changed bool, c chainstore.AliasChange) {
		f.Helper()
		f.clock.Advance(time.Minute)
		f.commit(nil, c)
		if changed {
			st := chainstore.AliasState{Deleted: c.Target.Kind == chainstore.TargetNone, Node: c.Target.Ref.ID, At: millis(f.clock.Now())}
			want = append([]chainstore.AliasState{st}, want...)
		}
		equalSlices(f, "the states", f.states("x"), want)
	}
	step(true, point("x", a, anything()))
	step(false, point("x", a, anything()))
	step(false, f.labelled("x", a, map[string]string{"k": "v"}))
	step(true, point("x", b, anything()))
	step(true, point("x", a, anything()))
	step(true, remove("x", anything()))
	step(false, remove("x", anything()))
	step(true, point("x", a, mustNotExist()))
	_, err = f.try(nil, point("x", b, mustNotExist()))
	f.fails(err, chainstore.ErrAliasExists)
	equalSlices(f, "the states after a failure", f.states("x"), want)
	step(true, remove("x", headIs(a)))
	_, err = f.store.AliasHistory(f.ctx(), f.ns, "y")
	f.fails(err, chainstore.ErrAliasNotFound)
	f.clean()
}

// move moves an alias to and fro n times, a minute apart, beginning with node from.
func (f *fixture) move(name string, ids []chainstore.ID, from, n int) {
	f.Helper()
	for i := from; i < from+n; i++ {
		f.clock.Advance(time.Minute)
		f.commit(nil, point(name, ids[i%len(ids)], anything()))
	}
}

func historyLimits(f *fixture) {
	var ids []chainstore.ID
	for i := range 7 {
		ids = append(ids, f.put(root(user(fmt.Sprint(i)))))
	}
	moves := 0
	for _, total := range []int{99, 100, 101, 102, 199, 200, 201, 250} {
		f.move("x", ids, moves, total-moves)
		moves = total
		states := f.states("x")
		equal(f, "the states", len(states), min(total, chainstore.MaxHistory))
		for i, st := range states {
			at := f.clock.Now().Add(-time.Duration(i) * time.Minute)
			equal(f, "a state", st, chainstore.AliasState{Node: ids[(total-1-i)%7], At: millis(at)})
		}
	}
	f.commit(nil, remove("x", anything()))
	states := f.states("x")
	equal(f, "the states", len(states), chainstore.MaxHistory)
	equal(f, "that the first is of the deletion", states[0].Deleted, true)
	equal(f, "the second", states[1].Node, ids[249%7])
	f.clean()
}

func historyAge(f *fixture) {
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	limit := chainstore.MaxHistoryAge * time.Millisecond
	f.commit(nil, point("x", a, anything())) // ends at 0:30
	f.clock.Advance(30 * time.Minute)
	f.commit(nil, point("x", b, anything())) // ends at 1:00
	f.clock.Advance(30 * time.Minute)
	f.commit(nil, point("x", a, anything()))
	equal(f, "the states", len(f.states("x")), 3)
	f.clock.Advance(limit - 30*time.Minute)
	equal(f, "the states when the first ended 90 days ago", len(f.states("x")), 3)
	f.clock.Advance(time.Millisecond)
	equal(f, "the states when it ended before that", len(f.states("x")), 2)
	f.clock.Advance(30 * time.Minute)
	equal(f, "the states when only the present is young", len(f.states("x")), 1)
	f.clock.Advance(2 * limit)
	equal(f, "the state that lasts", f.states("x")[0].Node, a)
	f.commit(nil, remove("x", anything()))
	equal(f, "the states after the deletion", len(f.states("x")), 2)
	f.clock.Advance(limit)
	states := f.states("x")
	equal(f, "the states 90 days after the deletion", len(states), 2)
	equal(f, "that the last is the deletion", states[0].Deleted, true)
	f.clock.Advance(time.Millisecond)
	_, err := f.store.AliasHistory(f.ctx(), f.ns, "x")
	f.fails(err, chainstore.ErrAliasNotFound)
}
