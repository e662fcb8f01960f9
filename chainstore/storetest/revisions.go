package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

func revisionChecks() []check {
	return []check{
		{Revisions, "Count", revisionsCount},
		{Revisions, "Conditions", revisionConditions},
		{Revisions, "Conflicts", revisionConflicts},
		{Revisions, "ThereAndBack", thereAndBack},
		{Revisions, "Deleted", deletedNames},
		{Revisions, "Forgotten", forgottenNames},
		{Revisions, "ForgottenRepeats", forgottenRepeats},
		{Concurrency, "Increments", increments},
		{Retries, "Revisions", retryRevisions},
		{Retries, "RevisionOfAParent", retryRevisionOfAParent},
		{Retries, "RevisionLeavesWhatOthersMoved", revisionLeavesWhatOthersMoved},
		{Retries, "Deletes", retryDeletes},
		{Conditions, "DeletesWithNodes", deletesWithNodes},
	}
}

// revisionsCount: each change of head or labels counts, a deletion too; what changes nothing does not.
func revisionsCount(f *fixture) {
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	label := map[string]string{"k": "v"}
	revision, began := int64(0), []int64{}
	step := func(adds int64, state bool, c chainstore.AliasChange) {
		f.Helper()
		f.clock.Advance(time.Minute)
		revision += adds
		out := f.commit(nil, c).Aliases[0]
		equal(f, "the revision after a change", out.Revision, revision)
		equal(f, "revised", out.Revised, adds > 0)
		if state {
			began = append([]int64{revision}, began...)
		}
		equal(f, "the revision", f.revision("x"), revision)
		states, err := f.store.AliasHistory(f.ctx(), f.ns, "x")
		if revision == 0 {
			f.fails(err, chainstore.ErrAliasNotFound)
			return
		}
		f.ok(err)
		var got []int64
		for _, st := range states {
			got = append(got, st.Revision)
		}
		equalSlices(f, "the revisions of the states", got, began)
	}
	step(0, false, remove("x", anything()))
	step(1, true, point("x", a, mustNotExist()))
	step(0, false, point("x", a, anything()))
	step(0, false, f.labelled("x", a, nil))
	step(1, false, f.labelled("x", a, label))
	step(0, false, f.labelled("x", a, map[string]string{"k": "v"}))
	step(0, false, point("x", a, headIs(a)))
	step(1, false, f.labelled("x", a, map[string]string{"k": "w"}))
	step(1, true, f.labelled("x", b, label))
	step(1, true, point("x", a, anything()))
	step(1, true, remove("x", anything()))
	step(0, false, remove("x", anything()))
	step(1, true, f.labelled("x", a, label))
	step(1, false, f.labelled("x", a, map[string]string{}))
	_, err := f.try(nil, point("x", b, mustNotExist()))
	f.fails(err, chainstore.ErrAliasExists)
	equal(f, "the revision after a failure", f.revision("x"), revision)
	page, _, err := f.store.Aliases(f.ctx(), f.ns, chainstore.AliasQuery{Limit: 10})
	f.ok(err)
	equal(f, "the revision in a list", page[0].Revision, revision)
	f.move("x", []chainstore.ID{a, b}, 1, 205)
	equal(f, "the revision after many moves", f.revision("x"), revision+205)
	f.clean()
}

// revision is that of an alias, or of its deletion; 0 for a name that never was set, or is forgotten.
func (f *fixture) revision(name string) int64 {
	f.Helper()
	a, err := f.store.Alias(f.ctx(), f.ns, name)
	if err != nil {
		f.fails(err, chainstore.ErrAliasNotFound)
	}
	return revisionIn(a, err)
}

// revisionIn is the revision that a reply of Alias tells, of an alias or of its deletion; 0 where it tells none.
func revisionIn(a *chainstore.Alias, err error) int64 {
	var deleted *chainstore.DeletedError
	switch {
	case err == nil:
		return a.Revision
	case errors.As(err, &deleted):
		return deleted.Revision
	default:
		return 0
	}
}

// revisionConditions tries a condition on revision n, alone and beside a head, at every revision of an alias, for changes that it
// leaves the alias as and others.
func revisionConditions(f *fixture) {
	t, x, y := f.put(root(user("T"))), f.put(root(user("X"))), f.put(root(user("Y")))
	v, w := map[string]string{"k": "v"}, map[string]string{"k": "w"}
	// The alias is created at X (1), moved to Y (2), labelled v (3), and moved to T (4), or deleted (4) instead.
	history := func(name string) []chainstore.AliasChange {
		return []chainstore.AliasChange{
			point(name, x, anything()), point(name, y, anything()), f.labelled(name, y, v), point(name, t, anything()),
		}
	}
	n := 0
	for _, c := range []struct {
		what           string
		deleted        bool // the last change deleted it instead
		change         chainstore.AliasChange
		at3, at4       bool // whether it holds on condition of that revision; of 1, 2 and 5 it never does
		head3, head4   bool // beside head Y at 3, beside head T at 4
		changes, there bool // on condition of revision 4: whether the revision grows, and the alias is there then
	}{
		{what: "to T", change: point("", t, anything()), at3: true, at4: true, head3: true, head4: true, there: true},
		{what: "to T, label v", change: f.labelled("", t, v), at3: true, at4: true, head3: true, head4: true, there: true},
		{what: "to T, label w", change: f.labelled("", t, w), at4: true, head4: true, changes: true, there: true},
		{what: "to T, no labels", change: f.labelled("", t, nil), at4: true, head4: true, changes: true, there: true},
		{what: "to X", change: point("", x, anything()), at4: true, head4: true, changes: true, there: true},
		{what: "delete", change: remove("", anything()), at4: true, head4: true, changes: true},
		{what: "delete the deleted", deleted: true, change: remove("", anything()), at3: true, at4: true, head3: true},
		{what: "set the deleted", deleted: true, change: point("", t, anything()), at4: true, changes: true, there: true},
		{what: "label the deleted", deleted: true, change: f.labelled("", y, v), at4: true, changes: true, there: true},
	} {
		for revision := int64(1); revision <= 5; revision++ {
			for _, beside := range []bool{false, true} {
				n++
				name := fmt.Sprint("alias/", n)
				for i, h := range history(name) {
					if i == 3 && c.deleted {
						h = remove(name, anything())
					}
					f.commit(nil, h)
				}
				change := c.change
				change.Name, change.Condition = name, atRevision(revision)
				want := revision == 3 && c.at3 || revision == 4 && c.at4
				if beside {
					change.Condition = headAt(map[int64]chainstore.ID{1: x, 2: y, 3: y, 4: t, 5: t}[revision], revision)
					want = revision == 3 && c.head3 || revision == 4 && c.head4
				}
				_, err := f.try(nil, change)
				if (err == nil) != want {
					f.Fatalf("%s on revision %d, beside a head %t: %v", c.what, revision, beside, err)
				}
				after := int64(4)
				if want && revision == 4 && c.changes {
					after = 5
				}
				equal(f, c.what+": the revision", f.revision(name), after)
			}
		}
	}
	f.clean()
}

// revisionConflicts: a conflict tells head and revision, whatever the condition.
func revisionConflicts(f *fixture) {
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	f.commit(nil, point("x", a, anything()), point("gone", a, anything()))
	f.commit(nil, f.labelled("x", a, map[string]string{"k": "v"}), remove("gone", anything()))
	for _, c := range []struct {
		change chainstore.AliasChange
		want   error
		tells  chainstore.Conflict
	}{
		{point("x", b, atRevision(1)), chainstore.ErrAliasMoved, chainstore.Conflict{Exists: true, Node: a, Revision: 2}},
		{point("x", b, atRevision(3)), chainstore.ErrAliasMoved, chainstore.Conflict{Exists: true, Node: a, Revision: 2}},
		{point("x", b, headAt(b, 2)), chainstore.ErrAliasMoved, chainstore.Conflict{Kind: chainstore.HeadIs, Exists: true, Node: a, Revision: 2}},
		{point("x", b, headIs(b)), nil, chainstore.Conflict{}},
		{point("x", a, mustNotExist()), chainstore.ErrAliasExists, chainstore.Conflict{Kind: chainstore.MustNotExist, Exists: true, Node: b, Revision: 3}},
		{remove("x", atRevision(2)), chainstore.ErrAliasMoved, chainstore.Conflict{Exists: true, Node: b, Revision: 3}},
		{point("gone", a, atRevision(1)), chainstore.ErrAliasMoved, chainstore.Conflict{Revision: 2}},
		{point("gone", a, mustExist()), chainstore.ErrAliasNotFound, chainstore.Conflict{Kind: chainstore.MustExist, Revision: 2}},
		{point("never", a, atRevision(1)), chainstore.ErrAliasMoved, chainstore.Conflict{}},
		{remove("never", atRevision(1)), chainstore.ErrAliasMoved, chainstore.Conflict{}},
	} {
		if c.want == nil {
			f.commit(nil, point(c.change.Name, b, anything()))
			continue
		}
		_, err := f.try(nil, c.change)
		f.fails(err, c.want)
		var conflict *chainstore.ConflictError
		if !errors.As(err, &conflict) {
			f.Fatalf("error %v holds no ConflictError", err)
		}
		equal(f, "the conflict", conflict.Conflicts[0], c.tells)
	}
	_, err := f.try(nil, point("new", a, mustNotExist()), point("x", a, mustNotExist()), point("gone", a, atRevision(1)))
	f.conflicts(err, chainstore.ErrAliasMoved,
		chainstore.Conflict{Index: 1, Kind: chainstore.MustNotExist, Exists: true, Node: b}, chainstore.Conflict{Index: 2})
}

// thereAndBack: a head that was left and is back is another revision.
func thereAndBack(f *fixture) {
	a, b, c := f.put(root(user("a"))), f.put(root(user("b"))), f.put(root(user("c")))
	f.commit(nil, point("x", a, anything()))
	seen := f.revision("x")
	f.commit(nil, point("x", b, anything()))
	f.commit(nil, point("x", a, anything()))
	_, err := f.try(nil, point("x", c, atRevision(seen)))
	f.fails(err, chainstore.ErrAliasMoved)
	_, err = f.try(nil, point("x", c, headAt(a, seen)))
	f.fails(err, chainstore.ErrAliasMoved)
	f.points("x", a)
	f.commit(nil, remove("x", anything()))
	f.commit(nil, point("x", a, anything()))
	_, err = f.try(nil, remove("x", atRevision(3)))
	f.fails(err, chainstore.ErrAliasMoved)
	f.commit(nil, remove("x", headAt(a, 5)))
	f.gone("x")
}

// deletedNames: a name that was deleted is told from one that never was set.
func deletedNames(f *fixture) {
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	gone := func(name string, want chainstore.DeletedError) {
		f.Helper()
		_, err := f.store.Alias(f.ctx(), f.ns, name)
		f.fails(err, chainstore.ErrAliasNotFound)
		var deleted *chainstore.DeletedError
		if !errors.As(err, &deleted) {
			deleted = &chainstore.DeletedError{}
		}
		equal(f, "what is told of "+name, *deleted, want)
	}
	gone("x", chainstore.DeletedError{})
	f.commit(nil, remove("x", anything()))
	gone("x", chainstore.DeletedError{})
	f.commit(nil, point("x", a, anything()))
	f.commit(nil, f.labelled("x", b, map[string]string{"k": "v"}))
	f.clock.Advance(time.Hour)
	f.commit(nil, remove("x", anything()))
	want := chainstore.DeletedError{Revision: 3, At: millis(f.clock.Now()), Head: b}
	gone("x", want)
	f.clock.Advance(time.Hour)
	f.commit(nil, remove("x", anything()))
	gone("x", want)
	f.move("busy", []chainstore.ID{a, b}, 0, 150)
	f.commit(nil, remove("busy", anything()))
	gone("busy", chainstore.DeletedError{Revision: 151, At: millis(f.clock.Now()), Head: b})
	_, err := f.store.Chain(f.ctx(), f.ns, aliasRef("x"), nil)
	f.fails(err, chainstore.ErrAliasNotFound)
	f.commit(nil, point("x", a, atRevision(3)))
	equal(f, "the revision", f.revision("x"), 4)
}

// forgottenNames: 90 days after its deletion a name is as one that never was set, and no revision comes twice.
func forgottenNames(f *fixture) {
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	limit := chainstore.MaxHistoryAge * time.Millisecond
	f.move("x", []chainstore.ID{a, b}, 0, 6)
	f.commit(nil, point("y", a, anything()))
	f.commit(nil, remove("x", anything()), remove("y", anything()))
	equal(f, "a new name", f.commit(nil, point("new", a, mustNotExist())).Aliases[0].Revision, 1)
	f.clock.Advance(limit)
	equal(f, "the revision of x 90 days later", f.revision("x"), 7)
	f.clock.Advance(time.Millisecond)
	for _, name := range []string{"x", "y"} {
		equal(f, "the revision then", f.revision(name), 0)
		_, err := f.store.AliasHistory(f.ctx(), f.ns, name)
		f.fails(err, chainstore.ErrAliasNotFound)
	}
	_, err := f.try(nil, point("x", a, atRevision(7)))
	f.fails(err, chainstore.ErrAliasMoved)
	f.became("deleted again", f.commit(nil, remove("x", anything())).Aliases[0], chainstore.PutAlias{})
	equal(f, "the revision of the deletion", f.commit(nil, remove("x", anything())).Aliases[0].Revision, 0)
	out := f.commit(nil, point("x", a, mustNotExist()))
	equal(f, "x begins again", out.Aliases[0].Revision, 8)
	equal(f, "the states", len(f.states("x")), 1)
	equal(f, "y begins above x", f.commit(nil, point("y", b, anything())).Aliases[0].Revision, 8)
	equal(f, "as does a name never set", f.commit(nil, point("z", b, anything())).Aliases[0].Revision, 8)
	equal(f, "a name that stayed goes on", f.commit(nil, point("new", b, anything())).Aliases[0].Revision, 2)
	f.commit(nil, point("x", b, atRevision(8)))
	f.commit(nil, remove("x", atRevision(9)))
	equal(f, "the states", len(f.states("x")), 3)
	f.clock.Advance(2 * limit)
	equal(f, "x begins once more", f.commit(nil, point("x", a, anything())).Aliases[0].Revision, 11)
	equal(f, "the states", len(f.states("x")), 1)
	equal(f, "in another namespace", f.in("other").commit([]Node{root(user("a"))}, set("x", 0, anything())).Aliases[0].Revision, 1)
	f.clean()
}

// forgottenRepeats: what was before a name was forgotten makes no repeat.
func forgottenRepeats(f *fixture) {
	base := f.put(root(system("s")), set("turn", 0, anything()))
	turn := under(byID(base), user("u"))
	aliases := []chainstore.AliasChange{set("turn", 0, headIs(base)), set("chat", 0, anything())}
	id := f.commit([]Node{turn}, aliases...).Nodes[0].ID
	f.commit(nil, remove("chat", anything()))
	f.commit([]Node{turn}, aliases...)
	f.gone("chat")
	f.clock.Advance(2 * chainstore.MaxHistoryAge * time.Millisecond)
	f.commit([]Node{turn}, aliases...)
	f.points("chat", id)
	f.commit(nil, point("chat", base, anything()))
	f.commit([]Node{turn}, aliases...)
	f.points("chat", base)
	f.commit(nil, remove("chat", anything()))
	f.clock.Advance(2 * chainstore.MaxHistoryAge * time.Millisecond)
	f.commit(nil, point("chat", base, anything()))
	f.commit([]Node{turn}, aliases...)
	f.points("chat", id)
}

// increments: callers that read a label, and set the next on condition of the revision that they read, lose none. Two that set the same
// both succeed, and one of them is told that it revised the alias.
func increments(f *fixture) {
	const each = 10
	id := f.put(root(user("x")), set("counter", 0, anything()))
	errs := atOnce(callers/4, func(int) error {
		for range each {
			if err := f.increment("counter", id); err != nil {
				return err
			}
		}
		return nil
	})
	f.ok(errors.Join(errs...))
	total := callers / 4 * each
	equal(f, "the label", f.alias("counter").Labels["n"], strconv.Itoa(total))
	equal(f, "the revision", f.revision("counter"), int64(total)+1)
	f.clean()
}

// increment adds 1 to the label of an alias.
func (f *fixture) increment(name string, id chainstore.ID) error {
	for {
		a, err := f.store.Alias(f.ctx(), f.ns, name)
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(a.Labels["n"])
		c := f.labelled(name, id, map[string]string{"n": strconv.Itoa(n + 1)})
		c.Condition = atRevision(a.Revision)
		out, err := f.try(nil, c)
		if err != nil && !errors.Is(err, chainstore.ErrAliasMoved) || err == nil && out.Aliases[0].Revised {
			return err
		}
	}
}

// retryRevisions: a change on condition of a revision, whose reply got lost, holds again and changes nothing.
func retryRevisions(f *fixture) {
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	label := map[string]string{"k": "v"}
	revision := f.commit(nil, point("x", a, mustNotExist())).Aliases[0].Revision
	twice := func(change chainstore.AliasChange) {
		f.Helper()
		change.Condition.Revision = revision
		first := f.commit(nil, change).Aliases[0]
		revision++
		equal(f, "the revision", first.Revision, revision)
		equal(f, "revised at first", first.Revised, true)
		for range 2 {
			again := f.commit(nil, change).Aliases[0]
			equal(f, "changed by a repeat", again.Changed || again.Revised, false)
			equal(f, "the revision after a repeat", again.Revision, revision)
		}
	}
	twice(point("x", b, headIs(a)))
	twice(f.labelled("x", b, label))
	twice(f.labelled("x", a, label))
	twice(chainstore.AliasChange{
		Name: "x", Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: aliasRef("x")}, SetLabels: true,
	})
	twice(remove("x", headIs(a)))
	twice(point("x", b, anything()))
	twice(remove("x", anything()))
	equal(f, "the states", len(f.states("x")), 6)
	// A repeat is a call as a whole: of several aliases, all are at the next revision.
	f.commit(nil, point("p", a, anything()), point("q", a, anything()))
	both := []chainstore.AliasChange{f.labelled("p", a, label), remove("q", atRevision(1))}
	both[0].Condition = atRevision(1)
	f.commit(nil, both...)
	f.commit(nil, both...)
	equal(f, "the revision of p", f.revision("p"), 2)
	equal(f, "the revision of q", f.revision("q"), 2)
	// What others set since is deleted again: that a call without nodes took place before is told by nothing.
	f.commit(nil, point("r", a, anything()))
	f.commit(nil, remove("q", atRevision(1)), remove("r", anything()))
	f.commit(nil, point("r", a, anything()))
	f.commit(nil, remove("q", atRevision(1)), remove("r", anything()))
	f.gone("r")
	f.clean()
}

// retryRevisionOfAParent: with a head beside the revision, a turn whose parent is the alias may be repeated, and once others moved
// on it fails.
func retryRevisionOfAParent(f *fixture) {
	base := f.put(root(system("s")), set("chat", 0, anything()))
	turn := under(byAlias("chat"), user("u"))
	first := f.commit([]Node{turn}, set("chat", 0, headAt(base, 1)))
	id := first.Nodes[0].ID
	again := f.commit([]Node{turn}, set("chat", 0, headAt(base, 1)))
	equal(f, "the id", again.Nodes[0].ID, id)
	equal(f, "created", again.Nodes[0].Created, false)
	equal(f, "the revision", again.Aliases[0].Revision, 2)
	alone := under(byAlias("chat"), user("v"))
	second := f.put(alone, set("chat", 0, atRevision(2)))
	_, err := f.try([]Node{alone}, set("chat", 0, atRevision(2))) // its parent is another now, and so is the node
	f.fails(err, chainstore.ErrAliasMoved)
	_, err = f.try([]Node{turn}, set("chat", 0, headAt(base, 1)))
	f.fails(err, chainstore.ErrAliasMoved)
	f.points("chat", second)
	equal(f, "the revision", f.revision("chat"), 3)
	f.clean()
}

// revisionLeavesWhatOthersMoved: an alias with a revision tells a repeat, too, which leaves what others moved since.
func revisionLeavesWhatOthersMoved(f *fixture) {
	base := f.put(root(system("s")), set("turn", 0, anything()), set("old", 0, anything()))
	turn := under(byID(base), user("u"))
	aliases := []chainstore.AliasChange{
		set("chat", 0, anything()), set("turn", 0, atRevision(1)), remove("old", anything()), set("kept", 0, anything()),
	}
	id := f.put(turn, aliases...)
	other := f.put(root(user("another")), set("chat", 0, anything()), set("old", 0, anything()))
	again := f.commit([]Node{turn}, aliases...)
	equal(f, "created", again.Nodes[0].Created, false)
	equal(f, "the revision", again.Aliases[1].Revision, 2)
	f.points("chat", other)
	f.points("old", other)
	f.points("kept", id)
	f.commit(nil, f.labelled("turn", id, map[string]string{"k": "v"})) // from now on it is no repeat
	_, err := f.try([]Node{turn}, aliases...)
	f.fails(err, chainstore.ErrAliasMoved)
	aliases[1].Condition = atRevision(3)
	f.commit([]Node{turn}, aliases...)
	f.points("chat", id)
	f.gone("old")
	equal(f, "the revision of what does not change", f.revision("turn"), 3)
	f.clean()
}

// retryDeletes: a put that deletes an alias, repeated.
func retryDeletes(f *fixture) {
	base := f.put(root(system("s")), set("draft", 0, anything()), set("chat", 0, anything()))
	turn := under(byID(base), user("u"))
	for name, draft := range map[string]chainstore.Condition{"any": anything(), "head": headIs(base), "revision": atRevision(1)} {
		g := f.in(name)
		g.put(root(system("s")), set("draft", 0, anything()), set("chat", 0, anything()))
		aliases := []chainstore.AliasChange{remove("draft", draft), set("chat", 0, headIs(base))}
		first := g.commit([]Node{turn}, aliases...)
		g.became("the first", first.Aliases[0], chainstore.PutAlias{Changed: true, Existed: true, Previous: base})
		again := g.commit([]Node{turn}, aliases...)
		g.became("the repeat", again.Aliases[0], chainstore.PutAlias{})
		equal(g, "the revision after the repeat", again.Aliases[0].Revision, 2)
		g.commit(nil, point("draft", base, anything()))
		again, err := g.try([]Node{turn}, aliases...)
		switch name {
		case "any": // others set it since
			g.ok(err)
			g.became("the repeat behind others", again.Aliases[0], chainstore.PutAlias{Existed: true, Previous: base})
			g.points("draft", base)
		case "head": // it is back where the condition says, which a revision would tell apart
			g.ok(err)
			g.gone("draft")
		default:
			g.fails(err, chainstore.ErrAliasMoved)
		}
	}
	// What deletes alone proves no repeat: it is not there either way.
	g := f.in("no proof")
	g.put(root(system("s")), set("chat", 0, anything()))
	id := g.put(turn, set("chat", 0, anything()))
	g.commit(nil, point("chat", base, anything()))
	g.commit([]Node{turn}, remove("draft", headIs(base)), set("chat", 0, anything()))
	g.points("chat", id)
}

// deletesWithNodes: a change puts a node and deletes aliases, on the conditions of deletes, all or nothing.
func deletesWithNodes(f *fixture) {
	base := f.put(root(system("s")), set("a", 0, anything()), set("b", 0, anything()), set("c", 0, anything()), set("d", 0, anything()))
	refused := []Node{root(user("refused"))}
	_, err := f.try(refused, remove("a", headIs(unknownID(1))), remove("b", anything()))
	f.conflicts(err, chainstore.ErrAliasMoved, chainstore.Conflict{Kind: chainstore.HeadIs, Exists: true, Node: base})
	_, err = f.try(refused, remove("never", mustExist()))
	f.conflicts(err, chainstore.ErrAliasNotFound, chainstore.Conflict{Kind: chainstore.MustExist})
	_, err = f.try(refused, set("new", 0, anything()), remove("a", atRevision(2)))
	f.fails(err, chainstore.ErrAliasMoved)
	f.absent(f.idOf(refused[0], nil))
	f.points("b", base)
	out := f.commit([]Node{under(byAlias("a"), user("u")), under(previous(), assistant("v"))},
		remove("a", headIs(base)), set("e", 1, anything()), remove("b", atRevision(1)), remove("c", mustExist()), remove("never", headIs(base)))
	equal(f, "the parent", f.all(aliasRef("e"))[0].header.ID, base)
	for i, want := range []chainstore.PutAlias{
		{Changed: true, Revised: true, Existed: true, Previous: base, Revision: 2}, {Changed: true, Revised: true, Revision: 1},
		{Changed: true, Revised: true, Existed: true, Previous: base, Revision: 2},
		{Changed: true, Revised: true, Existed: true, Previous: base, Revision: 2}, {},
	} {
		equal(f, "what became of an alias", out.Aliases[i], want)
	}
	for _, name := range []string{"a", "b", "c", "never"} {
		f.gone(name)
	}
	f.points("d", base)
	// Aliases alone, too: one is set to where another points that the change deletes.
	out = f.commit(nil, remove("d", atRevision(1)), chainstore.AliasChange{
		Name: "renamed", Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: aliasRef("d")}, Condition: mustNotExist(),
	})
	f.became("the name of before", out.Aliases[0], chainstore.PutAlias{Changed: true, Existed: true, Previous: base})
	f.gone("d")
	f.points("renamed", base)
	f.clean()
}
