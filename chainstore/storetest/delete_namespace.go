package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
)

func deletionChecks() []check {
	return []check{
		{Deletion, "NothingIsLeft", deletedWhole},
		{Deletion, "SameNameAgain", deletedAndMadeAgain},
		{Deletion, "NotThere", deletedNothing},
		{Meanwhile, "FoundBeforeADeletion", deletedBehindChains},
		{Deletion, "ManyTimes", deletedManyTimes},
		{Reopening, "DeletedNamespaces", deletedReopened},
		{Meanwhile, "DeletionWaitsForHolds", deletionHeld},
		{Meanwhile, "DeletedAmidCollection", deletedAmidCollection},
		{Export, "DeletedNamespace", deletedNotExported},
		{Export, "Numbers", deletedNumbers},
		{Export, "BegunAnew", deletedExport},
		{Erase, "DeletedNamespace", deletedReceipts},
		{Concurrency, "DeletedBesideWriters", deletedBesideWriters},
	}
}

// delete deletes the namespace, and asserts whether there was one.
func (f *fixture) delete(want bool) {
	f.Helper()
	deleted, err := f.store.DeleteNamespace(f.ctx(), f.ns, nil)
	f.ok(err)
	equal(f, "that there was a namespace to delete", deleted, want)
}

// furnished puts something of everything into a namespace, and an alias x.
func (f *fixture) furnished() []chainstore.ID {
	f.Helper()
	ids := f.talk()
	f.commit(nil, point("x", ids[3], anything()))
	f.commit(nil, point("x", ids[5], anything()), point("f/y", ids[2], anything()), point("f/z", ids[2], anything()))
	f.commit(nil, remove("f/z", anything()))
	child := root(user("spawned"))
	child.SpawnedFrom = &chainstore.SpawnedFrom{Node: ids[2]}
	f.put(child)
	f.put(under(byID(ids[1]), user("fork")))
	if !f.skips(Settings) {
		f.settle(chainstore.Settings{MaxNodes: 1000, Retention: "x"})
	}
	return ids
}

// deletedWhole: nothing of it is seen, by no read, and others have all that they had.
func deletedWhole(f *fixture) {
	other := f.in("other")
	ids, theirs := f.furnished(), other.furnished()
	f.delete(true)
	for _, id := range ids {
		f.absent(id)
	}
	f.seesNothing(ids[5])
	equal(f, "its settings", f.settings(), chainstore.SettingsNow{})
	equalSlices(f, "the names", f.namespaces("", "", 9), []string{"other"})
	for _, id := range theirs {
		other.isThere(id)
	}
	other.points("x", theirs[5])
	if !f.skips(Settings) {
		equal(f, "the revision of the settings of another", other.settings().Revision, 1)
	}
	other.clean()
	f.cleanStore()
}

// cleanStore asserts that nothing is wrong with the store as a whole.
func (f *fixture) cleanStore() {
	f.Helper()
	if f.skips(Verify) {
		return
	}
	f.ok(f.store.Verify(f.ctx(), chainstore.Check{WholeStore: true}, f.cfg.Encoding.Judge, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			f.Errorf("a problem: %+v", p)
		}
		return nil
	}))
}

// deletedAndMadeAgain: who writes to the name again begins anew, with none of what was there, also with the same nodes.
func deletedAndMadeAgain(f *fixture) {
	ids := f.furnished()
	f.delete(true)
	_, err := f.try([]Node{under(byID(ids[3]), user("behind"))})
	f.fails(err, chainstore.ErrParentNotFound)
	_, err = f.try(nil, point("x", ids[0], anything()))
	f.fails(err, chainstore.ErrNodeNotFound)
	equal(f, "the names", len(f.namespaces("", "", 9)), 0)
	again := f.put(root(user("anew")), set("x", 0, anything()))
	equal(f, "the revision of an alias of the same name", f.alias("x").Revision, 1)
	equal(f, "the states of its history", len(f.states("x")), 1)
	equal(f, "its settings", f.settings(), chainstore.SettingsNow{})
	for _, id := range ids {
		f.absent(id)
	}
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the nodes", st.Nodes, 1)
	equal(f, "the aliases", st.Aliases, 1)
	f.furnished()
	f.isThere(again)
	f.clean()
	f.cleanStore()
}

// deletedNothing: a namespace that was never written to, or is deleted already, is no error.
func deletedNothing(f *fixture) {
	f.delete(false)
	f.put(root(user("u")))
	f.in("never").delete(false)
	f.delete(true)
	f.delete(false)
	f.settle(chainstore.Settings{})
	f.delete(true)
	f.cleanStore()
}

// deletedBehindChains: a chain that was found before shows nothing of what was there, nor of what came under the same name.
func deletedBehindChains(f *fixture) {
	ids := f.furnished()
	chains := []chainstore.Chain{f.head(idRef(ids[5]), nil), f.head(idRef(ids[0]), nil)}
	f.rows(chains[0], chainstore.Span{Through: 5})
	f.delete(true)
	for _, again := range []bool{false, true} {
		if again {
			f.in("other").furnished()
			f.put(root(user("anew")), set("x", 0, anything()))
		}
		for _, c := range chains {
			for name, err := range f.ofChain(c) {
				if err != nil && !errors.Is(err, chainstore.ErrNodeNotFound) {
					f.Errorf("%s of a chain of a deleted namespace: %v", name, err)
				}
			}
			err := c.Rows(f.ctx(), []chainstore.Span{{Through: c.Head().Seq}}, func(*chainstore.Row) error { return nil })
			f.fails(err, chainstore.ErrNodeNotFound)
		}
	}
}

// ofChain calls the methods of a chain, and tells their errors; what is found is an error of its own.
func (f *fixture) ofChain(c chainstore.Chain) map[string]error {
	errs, found := map[string]error{}, errors.New("something is found")
	note := func(name string, n int, err error) {
		if errs[name] = err; err == nil && n > 0 {
			errs[name] = found
		}
	}
	headers, err := c.Headers(f.ctx(), 0)
	note("Headers", len(headers), err)
	if !f.skips(Spawned) {
		headers, _, err = c.Spawned(f.ctx(), 10)
		note("Spawned", len(headers), err)
	}
	if !f.skips(Tables) {
		t, err := c.Tables(f.ctx())
		note("Tables", len(t.Tools)+len(t.Variables), err)
	}
	if !f.skips(Calls) {
		nodes, err := c.WithCalls(f.ctx(), c.Head().Seq, 10)
		note("WithCalls", len(nodes), err)
	}
	return errs
}

// deletedManyTimes: a name is deleted and made again, beside others.
func deletedManyTimes(f *fixture) {
	for i := range 20 {
		g := f.in(fmt.Sprint("n", i%3))
		id := g.put(root(user(fmt.Sprint(i))), set("x", 0, anything()))
		g.points("x", id)
		g.delete(true)
		g.absent(id)
	}
	f.cleanStore()
}

// deletedReopened: a deletion outlives the store, and so do the numbers that it takes back.
func deletedReopened(f *fixture) {
	if f.cfg.Reopen == nil {
		f.TB.(*testing.T).Skip("Config.Reopen is not set")
	}
	ids := f.furnished()
	theirs := f.in("other").put(root(user("theirs")))
	f.delete(true)
	f.ok(f.store.Close())
	f.bare = f.cfg.Reopen(f.TB, Options{Now: f.clock.Now})
	f.store = Mangle(f.TB, f.bare)
	f.seesNothing(ids[5])
	f.in("other").isThere(theirs)
	f.put(root(user("anew")))
	for _, id := range ids {
		f.absent(id)
	}
	f.cleanStore()
}

// deletionHeld: a namespace is not deleted while anybody has a hold.
func deletionHeld(f *fixture) {
	id := f.put(root(user("u")))
	release, err := f.store.Hold(f.ctx())
	f.ok(err)
	ctx, cancel := context.WithCancel(f.ctx())
	did := make(chan error)
	go func() {
		_, err := f.store.DeleteNamespace(ctx, f.ns, nil)
		did <- err
	}()
	f.isThere(id)
	cancel()
	f.fails(<-did, context.Canceled)
	f.isThere(id)
	release()
	refused, ended := errors.New("refused"), context.Canceled
	deleted, err := f.store.DeleteNamespace(f.ctx(), f.ns, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		_, ended = f.store.Hold(ctx)
		return refused
	})
	f.fails(err, refused)
	f.fails(ended, context.Canceled)
	equal(f, "that it was deleted though it may not", deleted, false)
	f.isThere(id)
	f.delete(true)
	f.absent(id)
}

// deletedAmidCollection: a collection of a namespace that is deleted meanwhile ends, and deletes nothing of the one that comes under the same name.
func deletedAmidCollection(f *fixture) {
	for i := range 300 {
		f.put(root(user(fmt.Sprint("dead ", i))))
	}
	f.clock.Advance(later)
	var anew []chainstore.ID
	f.collect(chainstore.Collection{}, func(now chainstore.Collected) {
		if now.Phase != chainstore.CollectSweeping || anew != nil {
			return
		}
		f.delete(true)
		for i := range 300 {
			anew = append(anew, f.put(root(user(fmt.Sprint("dead ", i)))))
		}
	})
	for _, id := range anew {
		f.isThere(id)
	}
	f.cleanStore()
}

// deletedNotExported: an export has nothing of it, whatever it begins at.
func deletedNotExported(f *fixture) {
	f.put(root(user("u")), set("x", 0, anything()))
	before := f.point()
	f.delete(true)
	equal(f, "the nodes exported", len(f.exported(chainstore.ExportSpan{Through: f.point()}, 1<<20)), 0)
	for _, after := range []chainstore.Point{0, before} {
		_, err := f.store.ExportAliases(f.ctx(), after, func(string) bool { return true }, chainstore.ExportYield{
			Namespace: func(n *chainstore.ExportedNamespace) error { return fmt.Errorf("namespace %q is exported", n.Name) },
			Alias:     func(*chainstore.ExportedAlias) error { return errors.New("an alias is exported") },
		})
		f.ok(err)
	}
	if f.point() <= before {
		f.Error("the point of the store is that of before the deletion")
	}
}

// deletedExport: a cursor of a namespace that was deleted, and begun anew with less, is one there, too.
func deletedExport(f *fixture) {
	a := f.in("a")
	for _, text := range []string{"u", "v", "w"} {
		a.put(root(user(text)))
	}
	page, cursor, err := f.store.ExportNodes(f.ctx(), "a", chainstore.ExportSpan{Through: f.point()}, nil, 1)
	f.ok(err)
	_, cursor, err = f.store.ExportNodes(f.ctx(), "a", chainstore.ExportSpan{Through: f.point()}, cursor, 1)
	f.ok(err)
	equal(f, "the nodes of a page", len(page), 1)
	equal(f, "that there is a cursor", cursor != nil, true)
	before := f.point()
	a.delete(true)
	a.put(root(user("u")))
	page, _, err = f.store.ExportNodes(f.ctx(), "a", chainstore.ExportSpan{Through: before}, cursor, 1)
	f.ok(err)
	equal(f, "the nodes of before", len(page), 0)
}

// deletedNumbers: a namespace keeps its number until it is deleted, and nobody else gets it.
func deletedNumbers(f *fixture) {
	all := func(string) bool { return true }
	last := int64(0)
	numbers := func(want ...string) (of []int64) {
		f.Helper()
		listed, highest, err := f.store.ExportNamespaces(f.ctx(), all)
		f.ok(err)
		last = highest
		var names []string
		for _, n := range listed {
			names, of = append(names, n.Name), append(of, n.Number)
		}
		equalSlices(f, "the names", names, want)
		var yielded []int64
		_, err = f.store.ExportAliases(f.ctx(), f.point(), all, chainstore.ExportYield{Namespace: func(n *chainstore.ExportedNamespace) error {
			yielded = append(yielded, n.Number)
			return nil
		}})
		f.ok(err)
		equalSlices(f, "the numbers beside aliases", yielded, of)
		return of
	}
	numbers()
	equal(f, "the last number of none", last, 0)
	a, b, c := f.in("a"), f.in("b"), f.in("c")
	b.put(root(user("u")))
	a.settle(chainstore.Settings{MaxNodes: 9})
	first := numbers("a", "b")
	a.put(root(user("u")), set("x", 0, anything()))
	c.put(root(user("u")))
	now := numbers("a", "b", "c")
	equalSlices(f, "the numbers of two that are there still", now[:2], first)
	given := map[int64]bool{0: true}
	for _, n := range now {
		equal(f, "that it was given before, or is 0", given[n], false)
		given[n] = true
	}
	for range 3 {
		a.delete(true)
		c.delete(true)
		before := last
		equalSlices(f, "the number of one that is there still", numbers("b"), now[1:2])
		equal(f, "the last number, which is not given back", last, before)
		a.put(root(user("u")))
		anew := numbers("a", "b")[0]
		equal(f, "that the number of one that was begun anew was given before", given[anew], false)
		given[anew] = true
		c.put(root(user("u")))
		given[numbers("a", "b", "c")[2]] = true
		equal(f, "the last number", last, slices.Max(slices.Collect(maps.Keys(given))))
	}
	equal(f, "how many numbers were given", len(given), 1+3+6)
	listed, highest, err := f.store.ExportNamespaces(f.ctx(), func(name string) bool { return name == "b" })
	f.ok(err)
	equalSlices(f, "those that are wanted", listed, []chainstore.NumberedNamespace{{Name: "b", Number: now[1]}})
	equal(f, "the last number of all", highest, last)
}

// deletedReceipts: receipts go with the namespace, and what was erased may be put again. No erasures of it are told of another namespace with its name.
func deletedReceipts(f *fixture) {
	told := map[uint64]bool{}
	id := f.put(root(user("u")))
	for _, more := range []string{"a", "b", "c"} {
		f.erase(f.put(root(user(more))))
		told[f.erasures()] = true
	}
	f.erase(id)
	told[f.erasures()] = true
	equal(f, "how many erasures were told", len(told), 4)
	f.delete(true)
	_, err := f.store.Receipt(f.ctx(), f.ns, id)
	f.fails(err, chainstore.ErrNotErased)
	f.put(root(user("u")))
	equal(f, "the erasures", f.erasures(), 0)
	f.erase(id)
	equal(f, "that the erasures are those of before", told[f.erasures()], false)
	f.clean()
	f.cleanStore()
}

// deletedBesideWriters: a change beside a deletion took place before it, and is gone, or behind it, and is there.
func deletedBesideWriters(f *fixture) {
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 50 {
				n := root(user(fmt.Sprint(w, " ", i)))
				if _, err := f.try([]Node{n}, set(fmt.Sprint("w/", w), 0, anything())); err != nil {
					f.Errorf("a writer beside deletions: %v", err)
				}
			}
		})
	}
	for range 20 {
		if _, err := f.store.DeleteNamespace(f.ctx(), f.ns, nil); err != nil {
			f.Errorf("a deletion beside writers: %v", err)
		}
	}
	writers.Wait()
	f.clean()
	f.cleanStore()
	f.put(root(user("behind")), set("x", 0, anything()))
	f.delete(true)
	f.cleanStore()
}
