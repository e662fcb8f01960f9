package storetest

import (
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// collectHeld: while anybody has a hold, nothing is deleted.
func collectHeld(f *fixture) {
	id := f.put(root(user("dead")))
	f.clock.Advance(later)
	release, err := f.store.Hold(f.ctx())
	f.ok(err)
	held := false
	told := f.collect(chainstore.Collection{}, func(told chainstore.Collected) {
		if told.Phase == chainstore.CollectHeld {
			f.isThere(id)
			if other, err := f.store.Hold(f.ctx()); err != nil {
				f.Errorf("another hold: %v", err)
			} else {
				other()
			}
			held = true
			release()
		}
	})
	equal(f, "that it was held", held, true)
	equal(f, "the number of nodes deleted", told.Nodes, 1)
	f.absent(id)
}

// collectHeldMeanwhile: a hold that begins while a collection sweeps keeps it waiting, and it tells so.
func collectHeldMeanwhile(f *fixture) {
	id := f.put(root(user("dead")))
	f.clock.Advance(later)
	var release func()
	held := false
	told := f.collect(chainstore.Collection{}, func(told chainstore.Collected) {
		switch {
		case told.Phase == chainstore.CollectSweeping && release == nil:
			var err error
			release, err = f.store.Hold(f.ctx())
			f.ok(err)
		case told.Phase == chainstore.CollectHeld:
			f.isThere(id)
			held = true
			release()
		}
	})
	equal(f, "that it was held", held, true)
	equal(f, "the number of nodes deleted", told.Nodes, 1)
}

// collectQueued: a collection waits for another one, of whatever namespace, and tells so, and an error of its report ends it.
func collectQueued(f *fixture) {
	g := f.in("other")
	dead := g.put(root(user("a")))
	f.put(root(user("a")))
	f.clock.Advance(later)
	did, first, stop := make(chan error), true, errors.New("stop")
	told := f.collect(chainstore.Collection{}, func(chainstore.Collected) {
		if !first {
			return
		}
		first = false
		queued := make(chan struct{})
		for _, end := range []error{stop, nil} {
			told := false
			go func() {
				did <- f.store.Collect(f.ctx(), g.ns, chainstore.Collection{}, func(c chainstore.Collected) error {
					switch {
					case told:
						return nil
					case c.Phase != chainstore.CollectQueued:
						return fmt.Errorf("it is at %v", c.Phase)
					}
					told = true
					queued <- struct{}{}
					return end
				})
			}()
			<-queued
			if end != nil {
				f.fails(<-did, end)
			}
		}
		g.isThere(dead)
	})
	equal(f, "the number of nodes deleted", told.Nodes, 1)
	f.ok(<-did)
	g.absent(dead)
}

// collectFound: a chain that was found before its end was deleted tells nothing that is not true of it: it is whole, or its head is not found.
func collectFound(f *fixture) {
	if f.skips(Calls) || f.skips(Spawned) {
		return
	}
	ids := f.chain(chainstore.Parent{}, calling("read", "1"), result("1", "r"), calling("read", "1"), result("1", "s"))
	kept, head := ids[1], ids[3]
	for _, of := range []chainstore.ID{kept, head} {
		n := root(user("of " + of.String()))
		n.SpawnedFrom = &chainstore.SpawnedFrom{Node: of}
		f.put(n, set("by/"+of.String()[:20], 0, anything()))
	}
	f.commit(nil, point("a", kept, anything()))
	c := f.head(idRef(head), nil)
	// ask takes ErrClosed of a store that was opened again since.
	ask := func(whole bool) {
		f.Helper()
		equalOrGone := func(what string, got int, err error, want int) {
			f.Helper()
			if !whole && (errors.Is(err, chainstore.ErrNodeNotFound) || errors.Is(err, chainstore.ErrClosed)) {
				return
			}
			f.ok(err)
			equal(f, what, got, want)
		}
		calls, err := c.Calls(f.ctx(), runloop.Some("1"), c.Head().Seq, 9)
		equalOrGone("the number of nodes with the call", len(calls), err, 4)
		with, err := c.WithCalls(f.ctx(), c.Head().Seq, 9)
		equalOrGone("the number of nodes with calls", len(with), err, 2)
		spawned, more, err := c.Spawned(f.ctx(), 1)
		equalOrGone("the number of nodes spawned", len(spawned), err, 1)
		if err == nil {
			equal(f, "what the last spawner spawned", spawned[0].SpawnedFrom.Node, head)
			equal(f, "that there are more", more, true)
		}
	}
	ask(true)
	f.sweep(2)
	f.absent(head)
	ask(false)
}
