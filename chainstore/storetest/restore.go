package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

func restoreChecks() []check {
	return []check{
		{Restore, "Equal", restoredEqual},
		{Restore, "Forward", restoredForward},
		{Restore, "Deleted", restoredDeleted},
		{Restore, "Floor", restoredFloor},
		{Restore, "Settings", restoredSettings},
		{Restore, "Refused", restoredRefused},
		{Restore, "Forgotten", restoredForgotten},
		{Restore, "Revisions", restoredRevisions},
		{Restore, "Over", restoredOver},
		{Restore, "Bounds", restoredBounds},
	}
}

// names are those that the checks of Restore use.
func (f *fixture) names() []string {
	return []string{"a", "b/c", "b/d", "deep/er/than/a/few/folders/go/and/more"}
}

// shown is what a namespace shows of aliases.
func (f *fixture) shown() string {
	f.Helper()
	out := ""
	for _, q := range []chainstore.AliasQuery{{Limit: 100}, {ByFolder: true, Limit: 100}, {ByFolder: true, Folder: "b", Limit: 100}} {
		all, _, err := f.store.Aliases(f.ctx(), f.ns, q)
		f.ok(err)
		for _, a := range all {
			out += fmt.Sprintln(a.Name, a.Node, a.MovedAt, a.Labels, a.Revision)
		}
	}
	for _, name := range f.names() {
		states, err := f.store.AliasHistory(f.ctx(), f.ns, name)
		if !errors.Is(err, chainstore.ErrAliasNotFound) {
			f.ok(err)
		}
		out += fmt.Sprintln(name, f.revision(name))
		for _, s := range chainstore.Begun(states) {
			out += fmt.Sprintln(name, s)
		}
	}
	stats, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	return out + fmt.Sprintln(stats.Aliases)
}

// sameLines compares two texts.
func (f *fixture) sameLines(what, got, want string) {
	f.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		equal(f, fmt.Sprintf("%s, line %d,", what, i), g[i], w[i])
	}
	equal(f, "the number of lines of "+what, len(g), len(w))
}

// exports is what an export of the namespace has, made of what it shows.
func (f *fixture) exports() *chainstore.Restored {
	f.Helper()
	out := &chainstore.Restored{}
	for _, name := range f.names() {
		states, err := f.store.AliasHistory(f.ctx(), f.ns, name)
		if errors.Is(err, chainstore.ErrAliasNotFound) {
			continue
		}
		f.ok(err)
		one := chainstore.ExportedAlias{Name: name, Revision: f.revision(name), States: chainstore.Begun(states)}
		if !states[0].Deleted {
			one.Labels = f.alias(name).Labels
		}
		out.Aliases = append(out.Aliases, one)
	}
	return out
}

// restore restores, and says how many aliases are to be set.
func (f *fixture) restore(r *chainstore.Restored, want int) {
	f.Helper()
	set, err := f.store.Restore(f.ctx(), f.ns, r)
	f.ok(err)
	equal(f, "the aliases that were set", set, want)
}

// change changes an alias at random: sets it, labels it, or deletes it.
func (f *fixture) changeAlias(r *rand.Rand, ids []chainstore.ID) {
	f.Helper()
	f.clock.Advance(time.Duration(r.IntN(1000)) * time.Minute)
	name := f.names()[r.IntN(len(f.names()))]
	c := point(name, ids[r.IntN(len(ids))], anything())
	switch r.IntN(4) {
	case 0:
		c = remove(name, anything())
	case 1:
		c.SetLabels, c.Labels = true, map[string]string{"n": strconv.Itoa(r.IntN(3))}
	}
	f.commit(nil, c)
}

// twins are two namespaces with the same nodes.
func (f *fixture) twins() (a, b *fixture, ids []chainstore.ID) {
	f.Helper()
	a, b = f.in("restored-from"), f.in("restored-to")
	ids = a.long(chainstore.Parent{}, 9)
	equalSlices(f, "the nodes", b.long(chainstore.Parent{}, 9), ids)
	b.put(root(user("of this one alone")))
	return a, b, ids
}

// restoredEqual: aliases come back with labels, histories, revisions and times, and go on as those that they came from.
func restoredEqual(f *fixture) {
	a, b, ids := f.twins()
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 7))
		for range 150 {
			a.changeAlias(r, ids)
		}
		due := 0
		exported := a.exports()
		for i := range exported.Aliases {
			if now, revision := exported.Aliases[i], b.revision(exported.Aliases[i].Name); revision < now.Revision {
				due++
			}
		}
		b.restore(exported, due)
		f.sameLines("what is shown", b.shown(), a.shown())
		b.restore(exported, 0)
		f.sameLines("what is shown after a repeat", b.shown(), a.shown())
		for range 20 {
			step := r.Uint64()
			at := f.clock.Now()
			a.changeAlias(rand.New(rand.NewPCG(step, 1)), ids)
			f.clock.Advance(at.Sub(f.clock.Now()))
			b.changeAlias(rand.New(rand.NewPCG(step, 1)), ids)
		}
		f.sameLines("what is shown as both go on", b.shown(), a.shown())
	}
	for i, id := range ids {
		_, want, _, err := f.store.ChainNamed(f.ctx(), a.ns, idRef(id), 10)
		f.ok(err)
		_, got, _, err := f.store.ChainNamed(f.ctx(), b.ns, idRef(id), 10)
		f.ok(err)
		equalSlices(f, fmt.Sprint("the aliases of node ", i), got, want)
	}
	a.clean()
	b.clean()
}

// restoredForward: what changed since is replaced, what went elsewhere is told of, and then nothing is changed.
func restoredForward(f *fixture) {
	a, b, ids := f.twins()
	a.commit(nil, point("a", ids[0], anything()), point("b/c", ids[1], anything()))
	early := a.exports()
	b.restore(early, 2)
	a.commit(nil, point("a", ids[2], anything()))
	a.commit(nil, point("a", ids[3], anything()))
	b.restore(a.exports(), 1)
	f.sameLines("what is shown", b.shown(), a.shown())
	b.commit(nil, point("b/c", ids[4], anything()))
	was := b.shown()
	early.Aliases = append(early.Aliases, chainstore.ExportedAlias{
		Name: "b/d", Revision: 1, States: []chainstore.AliasState{{Node: ids[0], Revision: 1, At: 1000}},
	})
	_, err := f.store.Restore(f.ctx(), b.ns, early)
	var conflict *chainstore.ConflictError
	if !errors.As(err, &conflict) || len(conflict.Conflicts) != 2 {
		f.Fatalf("error is %v, want two conflicts", err)
	}
	f.fails(err, chainstore.ErrAliasMoved)
	for i, want := range []chainstore.Conflict{
		{Index: 0, Kind: chainstore.HeadIs, Exists: true, Node: ids[3], Revision: 3}, {Index: 1, Kind: chainstore.HeadIs, Exists: true, Node: ids[4], Revision: 2},
	} {
		equal(f, "a conflict", conflict.Conflicts[i], want)
	}
	f.sameLines("what is shown after a conflict", b.shown(), was)
	other := a.in("restored-elsewhere")
	equalSlices(f, "the nodes", other.long(chainstore.Parent{}, 9), ids)
	f.clock.Advance(time.Second)
	other.commit(nil, point("a", ids[0], anything()))
	one := &chainstore.Restored{Aliases: early.Aliases[:1]} // the revision is the same, and the time is not
	_, err = f.store.Restore(f.ctx(), other.ns, one)
	f.fails(err, chainstore.ErrAliasMoved)
	b.clean()
}

// restoredDeleted: a deletion is restored, over an alias that is there or none, and the name goes on from its revision.
func restoredDeleted(f *fixture) {
	a, b, ids := f.twins()
	a.commit(nil, point("a", ids[0], anything()))
	b.restore(a.exports(), 1)
	a.commit(nil, remove("a", anything()))
	a.commit(nil, point("b/c", ids[1], anything()))
	a.commit(nil, remove("b/c", anything()))
	b.restore(a.exports(), 2)
	f.sameLines("what is shown", b.shown(), a.shown())
	_, err := f.store.Alias(f.ctx(), b.ns, "a")
	var deleted *chainstore.DeletedError
	if !errors.As(err, &deleted) || deleted.Head != ids[0] || deleted.Revision != 2 {
		f.Fatalf("of a deleted alias: %v", err)
	}
	out := b.commit(nil, point("a", ids[2], anything()))
	equal(f, "the revision", out.Aliases[0].Revision, 3)
	b.clean()
}

// restoredFloor: the revisions of names that are new begin above the floor.
func restoredFloor(f *fixture) {
	id := f.put(root(user("a")))
	f.restore(&chainstore.Restored{Floor: 41}, 0)
	f.restore(&chainstore.Restored{Floor: 7}, 0)
	equal(f, "the revision", f.commit(nil, point("a", id, anything())).Aliases[0].Revision, 42)
	f.clean()
}

// restoredSettings: settings go forward alone, and a namespace of nothing else begins with them.
func restoredSettings(f *fixture) {
	g := f.in("restored-settings")
	settings := func(revision, nodes int64) *chainstore.Restored {
		return &chainstore.Restored{Settings: chainstore.SettingsNow{Settings: chainstore.Settings{MaxNodes: nodes, MaxAliases: 1}, Revision: revision}}
	}
	is := func(revision, nodes int64) {
		f.Helper()
		now, err := f.store.Settings(f.ctx(), g.ns)
		f.ok(err)
		equal(f, "the settings", now, settings(revision, nodes).Settings)
	}
	g.restore(settings(3, 10), 0)
	is(3, 10)
	g.restore(settings(3, 10), 0)
	for _, wrong := range []*chainstore.Restored{settings(3, 11), settings(2, 10)} {
		_, err := f.store.Restore(f.ctx(), g.ns, wrong)
		f.fails(err, chainstore.ErrSettingsChanged)
	}
	is(3, 10)
	g.restore(settings(5, 1), 0)
	is(5, 1)
	id := g.put(root(user("a")))
	_, err := g.try([]Node{root(user("b"))})
	f.fails(err, chainstore.ErrQuota)
	state := []chainstore.AliasState{{Node: id, Revision: 1, At: 5}}
	g.restore(&chainstore.Restored{Aliases: []chainstore.ExportedAlias{{Name: "a", Revision: 1, States: state}, {Name: "b/c", Revision: 1, States: state}}}, 2)
	_, err = g.try(nil, point("b/d", id, anything()))
	f.fails(err, chainstore.ErrQuota)
	names, err := f.store.Namespaces(f.ctx(), chainstore.NamespaceQuery{Prefix: g.ns, Limit: 3})
	f.ok(err)
	equalSlices(f, "the namespaces", names, []string{g.ns})
	g.clean()
}

// restoredRefused: a node that is not there, and what no store exports.
func restoredRefused(f *fixture) {
	a, b := f.put(root(user("a"))), chainstore.ID{1}
	state := func(id chainstore.ID, revision int64) chainstore.AliasState {
		return chainstore.AliasState{Node: id, Revision: revision, At: revision}
	}
	gone := func(revision int64) chainstore.AliasState {
		return chainstore.AliasState{Deleted: true, Revision: revision, At: revision}
	}
	of := func(states ...chainstore.AliasState) chainstore.ExportedAlias {
		return chainstore.ExportedAlias{Name: "a", Revision: 9, States: states}
	}
	for _, past := range []chainstore.ExportedAlias{of(state(b, 9)), of(state(a, 9), state(b, 3))} {
		good := of(state(a, 1))
		good.Name = "b/c"
		_, err := f.store.Restore(f.ctx(), f.ns, &chainstore.Restored{Aliases: []chainstore.ExportedAlias{good, past}})
		var missing *chainstore.MissingError
		if !errors.As(err, &missing) || missing.Index != 1 {
			f.Fatalf("error is %v, want that of the second", err)
		}
		f.fails(err, chainstore.ErrNodeNotFound)
	}
	if f.skips(Judging) { // bad exports are refused before they come to a store
		return
	}
	low := of(state(a, 9))
	low.Revision = 8
	labelled := of(gone(9), state(a, 3))
	labelled.Labels = map[string]string{"k": "v"}
	nameless := of(state(a, 9))
	nameless.Name = ""
	for i, bad := range []chainstore.ExportedAlias{
		of(), of(state(a, 9), gone(3)), of(gone(9), gone(8), state(a, 2)), of(state(a, 3), state(a, 3)), of(state(a, 0)),
		of(slices.Repeat([]chainstore.AliasState{state(a, 1)}, chainstore.MaxHistory+1)...), low, labelled, nameless,
	} {
		_, err := f.store.Restore(f.ctx(), f.ns, &chainstore.Restored{Aliases: []chainstore.ExportedAlias{bad}})
		if !errors.Is(err, chainstore.ErrBadExport) {
			f.Errorf("bad export %d: %v", i, err)
		}
	}
	equal(f, "the aliases", len(f.exports().Aliases), 0)
	f.clean()
}

// restoredForgotten: an export of all leaves a forgotten name out, one of what changed tells that it was deleted.
func restoredForgotten(f *fixture) {
	if f.skips(Export) {
		return
	}
	a, b, ids := f.twins()
	a.commit(nil, point("a", ids[0], anything()), point("b/c", ids[1], anything()))
	exported := func(after chainstore.Point) (out *chainstore.Restored) {
		f.Helper()
		out = &chainstore.Restored{}
		_, err := f.store.ExportAliases(f.ctx(), after, func(n string) bool { return n == a.ns }, chainstore.ExportYield{
			Namespace: func(n *chainstore.ExportedNamespace) error {
				out.Settings, out.Floor = n.Settings, n.Floor
				return nil
			},
			Alias: func(one *chainstore.ExportedAlias) error {
				one.Labels = maps.Clone(one.Labels)
				out.Aliases = append(out.Aliases, *one)
				return nil
			},
		})
		f.ok(err)
		return out
	}
	b.restore(exported(0), 2)
	since := f.point()
	a.commit(nil, remove("a", anything()))
	f.clock.Advance((chainstore.MaxHistoryAge + 1000) * time.Millisecond)
	equal(f, "the aliases of an export of all", len(exported(0).Aliases), 1)
	b.restore(exported(since), 1)
	f.sameLines("what is shown", b.shown(), a.shown())
	_, err := f.store.Alias(f.ctx(), b.ns, "a")
	f.fails(err, chainstore.ErrAliasNotFound)
	for _, g := range []*fixture{a, b} {
		g.commit(nil, point("a", ids[2], anything()))
	}
	f.sameLines("what is shown of a name that is set anew", b.shown(), a.shown())
	b.clean()
}

// restoredRevisions: an export of everything, which leaves forgotten names out, lets none have a revision again.
func restoredRevisions(f *fixture) {
	if f.skips(Export) {
		return
	}
	a, b, ids := f.twins()
	for _, id := range ids[:3] {
		a.commit(nil, point("a", id, anything()))
	}
	a.commit(nil, remove("a", anything()))
	f.clock.Advance((chainstore.MaxHistoryAge + 1000) * time.Millisecond)
	all := &chainstore.Restored{}
	_, err := f.store.ExportAliases(f.ctx(), 0, func(n string) bool { return n == a.ns }, chainstore.ExportYield{
		Namespace: func(n *chainstore.ExportedNamespace) error { all.Floor = n.Floor; return nil },
		Alias:     func(one *chainstore.ExportedAlias) error { return fmt.Errorf("it has %q", one.Name) },
	})
	f.ok(err)
	b.restore(all, 0)
	for _, g := range []*fixture{a, b} {
		equal(f, "the revision of a name that was forgotten", g.commit(nil, point("a", ids[0], anything())).Aliases[0].Revision, 5)
	}
}

// restoredOver: what the exported alias never was is not replaced, whatever its revision.
func restoredOver(f *fixture) {
	a, b, ids := f.twins()
	for _, id := range ids[:3] {
		a.commit(nil, point("a", id, anything()))
		f.clock.Advance(time.Second)
	}
	all := a.exports()
	b.commit(nil, point("a", ids[3], anything())) // by somebody else, meanwhile
	_, err := f.store.Restore(f.ctx(), b.ns, all)
	var conflict *chainstore.ConflictError
	if !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Node != ids[3] {
		f.Fatalf("error is %v, want a conflict", err)
	}
	b.points("a", ids[3])
}

// restoredBounds: revisions and floors that leave no room for changes are refused.
func restoredBounds(f *fixture) {
	if f.skips(Judging) { // they are refused before they come to a store
		return
	}
	id := f.put(root(user("a")))
	const most = chainstore.MaxRestoredRevision
	high := func(n int64) []chainstore.ExportedAlias {
		return []chainstore.ExportedAlias{{Name: "a", Revision: n, States: []chainstore.AliasState{{Revision: 1, Node: id, At: 1}}}}
	}
	for i, r := range []*chainstore.Restored{
		{Floor: most + 1}, {Floor: -1}, {Aliases: high(most + 1)}, {Settings: chainstore.SettingsNow{Revision: most + 1}},
	} {
		if _, err := f.store.Restore(f.ctx(), f.ns, r); !errors.Is(err, chainstore.ErrBadExport) {
			f.Errorf("export %d: %v", i, err)
		}
	}
	f.restore(&chainstore.Restored{Floor: most, Aliases: high(most)}, 1)
	out := f.commit(nil, remove("a", anything()), point("b", id, anything()))
	equal(f, "the revision of the next change", out.Aliases[0].Revision, most+1)
	equal(f, "the revision of a new name", out.Aliases[1].Revision, most+1)
	f.clean()
}
