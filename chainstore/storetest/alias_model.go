package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

// listedNames are names in folders of all depths, with slashes where nobody expects them.
var listedNames = []string{
	"a", "a/b", "a/b/c", "a/c", "ab", "a/", "a//b", "/", "/a", "//", "/a/b", "b/c/", "é/ü", "\u00ff", "a/b\u00ff/c",
	"1/2/3/4/5/6/7", "1/2/3/4/5/6/7/8", "1/2/3/4/5/6/7/8/9", "1/2/3/4/5/6/7//8/9/10", "/1/2/3/4/5/6/7/8",
}

// listedFolders are the parts of these names before their slashes, the top, and one that is nobody's.
func listedFolders() []string {
	folders := map[string]bool{"": true, "no": true}
	for _, name := range listedNames {
		for i := range name {
			if name[i] == '/' {
				folders[name[:i]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(folders))
}

// listModel moves, deletes and sets aliases at random, and holds all lists against when each alias moved last.
func listModel(f *fixture) {
	ids := []chainstore.ID{f.put(root(user("x"))), f.put(root(user("y")))}
	random := rand.New(rand.NewPCG(1, 2))
	moved, at := map[string]int64{}, map[string]int{}
	for step := range 150 {
		f.clock.Advance(time.Duration(random.IntN(2)) * time.Millisecond)
		name := listedNames[random.IntN(len(listedNames))]
		if _, there := moved[name]; there && random.IntN(4) == 0 {
			f.commit(nil, remove(name, anything()))
			delete(moved, name)
		} else if to := random.IntN(2); !there || at[name] != to {
			f.commit(nil, point(name, ids[to], anything()))
			moved[name], at[name] = millis(f.clock.Now()), to
		}
		if step%10 == 9 {
			f.listsAre(moved, 1+random.IntN(4))
		}
	}
	f.clean()
}

// listsAre holds the lists, in pages, against the aliases that are there and when they moved.
func (f *fixture) listsAre(moved map[string]int64, limit int) {
	f.Helper()
	check := func(q chainstore.AliasQuery, want []string) {
		f.Helper()
		q.Limit = limit
		equalSlices(f, fmt.Sprintf("the list %+v", q), f.list(q), want)
		q.Reverse = true
		slices.Reverse(want)
		equalSlices(f, fmt.Sprintf("the list %+v", q), f.list(q), want)
	}
	for _, folder := range listedFolders() {
		var byName, under []string
		for _, name := range slices.Sorted(maps.Keys(moved)) {
			if strings.HasPrefix(name, folder) {
				byName = append(byName, name)
			}
			if folder == "" || strings.HasPrefix(name, folder+"/") {
				under = append(under, name)
			}
		}
		slices.SortStableFunc(under, func(a, b string) int { return cmp.Compare(moved[b], moved[a]) })
		if strings.Count(strings.TrimPrefix(folder, "/"), "/") > 6 {
			under = nil // deeper than there are rows for
		}
		check(chainstore.AliasQuery{Prefix: folder}, byName)
		check(chainstore.AliasQuery{ByFolder: true, Folder: folder}, under)
	}
}
