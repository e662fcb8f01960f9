package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
)

func retentionChecks() []check {
	return []check{
		{Retention, "DeletedNames", namesDeleted},
		{Retention, "DeletedNamesAreForgotten", deletedNamesForgotten},
		{Retention, "CollectAsks", collectAsks},
	}
}

// namesDeleted: names that were deleted are listed in pages, by prefix, with the revisions and times of their deletions; those that are set again,
// or never were set, are not.
func namesDeleted(f *fixture) {
	var want []chainstore.DeletedAlias
	for i := range 7 {
		name := fmt.Sprintf("a/%d", i)
		f.put(root(user("u")), set(name, 0, anything()))
		f.clock.Advance(later)
		f.commit(nil, remove(name, anything()))
		if i == 3 {
			f.put(root(user("u")), set(name, 0, anything()))
			continue
		}
		want = append(want, chainstore.DeletedAlias{Name: name, Revision: 2, At: f.clock.Now().UnixMilli()})
	}
	f.put(root(user("u")), set("a", 0, anything()))
	f.commit(nil, remove("a", anything()))
	f.commit(nil, remove("a/never", anything()))
	for _, limit := range []int{1, 2, 6, 7, 100} {
		equalSlices(f, fmt.Sprint("the deleted names in pages of ", limit), f.deleted("a/", limit), want)
	}
	equal(f, "the number of deleted names", len(f.deleted("", 3)), len(want)+1)
	equal(f, "the number of those of another prefix", len(f.deleted("b", 3)), 0)
	equal(f, "the number of those of another namespace", len(f.in("other").deleted("", 3)), 0)
}

// deletedNamesForgotten: a name that is forgotten, by its deletion or by its time, is not listed.
func deletedNamesForgotten(f *fixture) {
	for _, name := range []string{"asked", "old"} {
		f.put(root(user("u")), set(name, 0, anything()))
	}
	f.commit(nil, remove("old", anything()))
	equal(f, "the number of deleted names", len(f.deleted("", 9)), 1)
	forget := remove("asked", anything())
	forget.Forget = true
	f.commit(nil, forget)
	equal(f, "the number of deleted names beside one that is forgotten", len(f.deleted("", 9)), 1)
	f.clock.Advance(chainstore.MaxHistoryAge*1e6 + 1e6)
	equal(f, "the number of deleted names once they are forgotten", len(f.deleted("", 9)), 0)
}

// deleted lists the deleted names in pages.
func (f *fixture) deleted(prefix string, limit int) (all []chainstore.DeletedAlias) {
	f.Helper()
	for after := ""; ; {
		page, next, err := f.store.DeletedAliases(f.ctx(), f.ns, prefix, after, limit)
		f.ok(err)
		if len(page) > limit || next != "" && next <= after {
			f.Fatalf("a page of %d has %d, and goes on behind %q at %q", limit, len(page), after, next)
		}
		if all, after = append(all, page...), next; next == "" {
			return all
		}
	}
}

// collectAsks: a collection asks before each commit that deletes, while nobody can hold the store, and ends where it may not.
func collectAsks(f *fixture) {
	id := f.put(root(user("dead")))
	f.clock.Advance(later)
	held := errors.New("held")
	asked := 0
	c := chainstore.Collection{May: func(ctx context.Context) error {
		if asked++; asked > 1 {
			return nil
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := f.store.Hold(ended); err == nil {
			f.Error("the store can be held where a collection is about to delete")
		}
		return held
	}}
	err := f.store.Collect(f.ctx(), f.ns, c, func(chainstore.Collected) error { return nil })
	if !errors.Is(err, held) {
		f.Fatalf("a collection that may not delete ended with %v", err)
	}
	f.isThere(id)
	equal(f, "the nodes deleted by one that may", f.collect(c, nil).Nodes, 1)
	f.absent(id)
	count := asked
	f.put(root(user("dead")))
	f.clock.Advance(later)
	c.DryRun = true
	equal(f, "the nodes counted", f.collect(c, nil).Nodes, 1)
	equal(f, "how often it asked in a dry run", asked-count, 0)
}
