package storetest

import (
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func conditionChecks() []check {
	return []check{
		{Conditions, "EveryKind", everyCondition},
		{Conditions, "SeveralFail", severalFail},
		{Conditions, "OrderOfErrors", orderOfErrors},
		{Conditions, "SeeTheStateBefore", conditionsSeeTheStateBefore},
		{Mixed, "NodesAndOtherAliases", mixedChange},
		{Mixed, "NewNodesByID", mixedByID},
		{Mixed, "OrderOfErrors", mixedOrderOfErrors},
		{Mixed, "SeveralDeletes", severalDeletes},
	}
}

// rule is what becomes of an alias that is absent, points to the target T already, to X, or to Y.
type rule struct {
	condition               string
	remove                  bool
	absent, target, x, y    bool // whether the condition holds
	failsAbsent, failsOther error
}

// everyRule is design 2 "Retries" as a table; X is the head that a condition names.
var everyRule = []rule{
	{condition: "any", absent: true, target: true, x: true, y: true},
	{condition: "must not exist", absent: true, target: true, failsOther: chainstore.ErrAliasExists},
	{condition: "must exist", target: true, x: true, y: true, failsAbsent: chainstore.ErrAliasNotFound},
	{condition: "head is X", target: true, x: true, failsAbsent: chainstore.ErrAliasMoved, failsOther: chainstore.ErrAliasMoved},
	{condition: "head is T", target: true, failsAbsent: chainstore.ErrAliasMoved, failsOther: chainstore.ErrAliasMoved},
	{condition: "any", remove: true, absent: true, target: true, x: true, y: true},
	{condition: "must exist", remove: true, target: true, x: true, y: true, failsAbsent: chainstore.ErrAliasNotFound},
	{condition: "head is X", remove: true, absent: true, x: true, failsOther: chainstore.ErrAliasMoved},
}

func everyCondition(f *fixture) {
	ids := map[string]chainstore.ID{}
	for _, name := range []string{"T", "X", "Y"} {
		ids[name] = f.put(root(user(name)))
	}
	conditions := map[string]chainstore.Condition{
		"any": anything(), "must not exist": mustNotExist(), "must exist": mustExist(),
		"head is X": headIs(ids["X"]), "head is T": headIs(ids["T"]),
	}
	for i, r := range everyRule {
		for state, holds := range map[string]bool{"": r.absent, "T": r.target, "X": r.x, "Y": r.y} {
			name := fmt.Sprintf("alias/%d/%s", i, state)
			if state != "" {
				f.commit(nil, point(name, ids[state], anything()))
			}
			change := point(name, ids["T"], conditions[r.condition])
			if r.remove {
				change = remove(name, conditions[r.condition])
			}
			out, err := f.try(nil, change)
			what := fmt.Sprintf("%s, remove %t, state %q", r.condition, r.remove, state)
			if holds {
				f.ok(err)
				want := chainstore.PutAlias{Existed: state != "", Previous: ids[state]}
				want.Changed = r.remove && want.Existed || !r.remove && state != "T"
				f.became(what, out.Aliases[0], want)
				continue
			}
			want := r.failsOther
			if state == "" {
				want = r.failsAbsent
			}
			f.conflicts(err, want, chainstore.Conflict{
				Kind: conditions[r.condition].Kind, Exists: state != "", Node: ids[state],
			})
		}
	}
	f.clean()
}

func severalFail(f *fixture) {
	a, b, target := f.put(root(user("a"))), f.put(root(user("b"))), f.put(root(user("t")))
	f.commit(nil, point("at-a", a, anything()), point("at-b", b, anything()), point("there", target, anything()))
	exists := point("at-a", target, mustNotExist())
	exists2 := point("at-b", target, mustNotExist())
	missing := point("none", target, mustExist())
	missing2 := point("none2", target, mustExist())
	moved := point("at-b", target, headIs(a))
	fine := point("fine", target, mustNotExist())
	there := point("there", target, mustNotExist())
	existsAt := func(i int, id chainstore.ID) chainstore.Conflict {
		return chainstore.Conflict{Index: i, Kind: chainstore.MustNotExist, Exists: true, Node: id}
	}
	missingAt := func(i int) chainstore.Conflict { return chainstore.Conflict{Index: i, Kind: chainstore.MustExist} }
	movedAt := func(i int) chainstore.Conflict {
		return chainstore.Conflict{Index: i, Kind: chainstore.HeadIs, Exists: true, Node: b}
	}
	for _, c := range []struct {
		aliases   []chainstore.AliasChange
		want      error
		conflicts []chainstore.Conflict
	}{
		{[]chainstore.AliasChange{exists, fine}, chainstore.ErrAliasExists, []chainstore.Conflict{existsAt(0, a)}},
		{[]chainstore.AliasChange{fine, exists, exists2}, chainstore.ErrAliasExists, []chainstore.Conflict{existsAt(1, a), existsAt(2, b)}},
		{[]chainstore.AliasChange{missing, there, missing2}, chainstore.ErrAliasNotFound, []chainstore.Conflict{missingAt(0), missingAt(2)}},
		{[]chainstore.AliasChange{fine, moved}, chainstore.ErrAliasMoved, []chainstore.Conflict{movedAt(1)}},
		{[]chainstore.AliasChange{exists, missing}, chainstore.ErrAliasMoved, []chainstore.Conflict{existsAt(0, a), missingAt(1)}},
		{[]chainstore.AliasChange{missing, fine, moved}, chainstore.ErrAliasMoved, []chainstore.Conflict{missingAt(0), movedAt(2)}},
		{[]chainstore.AliasChange{moved, exists, missing}, chainstore.ErrAliasMoved, []chainstore.Conflict{movedAt(0), existsAt(1, a), missingAt(2)}},
	} {
		_, err := f.try(nil, c.aliases...)
		f.conflicts(err, c.want, c.conflicts...)
		f.gone("fine")
		f.points("at-a", a)
		f.points("at-b", b)
	}
}

// tooManyCalls is a chain of nodes whose open group passes the limit with the last.
func tooManyCalls(parent chainstore.Parent) []Node {
	var nodes []Node
	for i := range 5 {
		m := Message{Role: runloop.Assistant}
		for k := range 256 {
			m.Calls = append(m.Calls, runloop.Call{ID: runloop.Some(fmt.Sprintf("%d.%d", i, k))})
		}
		nodes = append(nodes, under(previous(), m))
	}
	nodes[0].Parent = parent
	return nodes
}

// orderOfErrors: parents before conditions, groups before conditions, targets before conditions.
func orderOfErrors(f *fixture) {
	id := f.put(root(user("x")), set("x", 0, anything()))
	_, err := f.try([]Node{under(byID(unknownID(1)), user("y"))}, set("x", 0, mustNotExist()))
	f.fails(err, chainstore.ErrParentNotFound)
	_, err = f.try([]Node{under(byAlias("nobody"), user("y"))}, set("x", 0, headIs(unknownID(1))))
	f.fails(err, chainstore.ErrParentNotFound)
	_, err = f.try(tooManyCalls(byID(id)), set("x", 0, mustNotExist()))
	f.fails(err, chainstore.ErrGroupTooLarge)
	_, err = f.try(nil, point("x", unknownID(1), mustNotExist()))
	f.fails(err, chainstore.ErrNodeNotFound)
	_, err = f.try(nil, point("x", unknownID(1), anything()), point("y", id, mustExist()))
	f.missing(err, chainstore.ErrNodeNotFound, 0)
	_, err = f.try(nil, point("y", id, anything()), point("x", unknownID(1), anything()))
	f.missing(err, chainstore.ErrNodeNotFound, 1)
	toNobody := chainstore.AliasChange{Name: "x", Condition: mustNotExist()}
	toNobody.Target = chainstore.Target{Kind: chainstore.TargetRef, Ref: aliasRef("nobody")}
	_, err = f.try(nil, toNobody)
	f.fails(err, chainstore.ErrAliasNotFound)
	f.points("x", id)
}

// conditionsSeeTheStateBefore: conditions and targets that are aliases see what was before the change.
func conditionsSeeTheStateBefore(f *fixture) {
	a := f.put(root(user("a")), set("a", 0, anything()))
	b := f.put(root(user("b")), set("b", 0, anything()))
	to := func(name, target string, c chainstore.Condition) chainstore.AliasChange {
		return chainstore.AliasChange{
			Name: name, Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: aliasRef(target)}, Condition: c,
		}
	}
	out := f.commit(nil, to("a", "b", headIs(a)), to("b", "a", headIs(b)))
	f.became("the first", out.Aliases[0], chainstore.PutAlias{Changed: true, Existed: true, Previous: a})
	f.became("the second", out.Aliases[1], chainstore.PutAlias{Changed: true, Existed: true, Previous: b})
	f.points("a", b)
	f.points("b", a)
	_, err := f.try(nil, point("c", a, anything()), to("d", "c", anything()))
	f.fails(err, chainstore.ErrAliasNotFound)
	f.gone("c")
}

func mixedChange(f *fixture) {
	a := f.put(root(user("a")), set("a", 0, anything()), set("old", 0, anything()))
	out := f.commit([]Node{under(byAlias("a"), user("b")), under(byAlias("a"), user("c"))},
		set("a", 0, headIs(a)),
		chainstore.AliasChange{Name: "was", Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: aliasRef("a")}},
		remove("old", mustExist()), set("new", 1, mustNotExist()), remove("never", anything()))
	f.points("a", out.Nodes[0].ID)
	f.points("was", a)
	f.gone("old")
	f.points("new", out.Nodes[1].ID)
	f.became("the deleted", out.Aliases[2], chainstore.PutAlias{Changed: true, Existed: true, Previous: a})
	f.became("the never set", out.Aliases[4], chainstore.PutAlias{})
	equal(f, "both parents", f.all(aliasRef("new"))[0].header.ID, a)
	f.clean()
}

// mixedByID: a node that the change puts is there for its aliases, by id too.
func mixedByID(f *fixture) {
	n := root(user("new"))
	id := f.idOf(n, nil)
	f.put(n, point("by-id", id, mustNotExist()), set("by-place", 0, anything()))
	f.points("by-id", id)
	f.points("by-place", id)
	f.clean()
}

func mixedOrderOfErrors(f *fixture) {
	id := f.put(root(user("x")), set("x", 0, anything()))
	dangling := point("y", unknownID(1), anything())
	_, err := f.try([]Node{under(byID(unknownID(2)), user("y"))}, dangling)
	f.fails(err, chainstore.ErrParentNotFound)
	_, err = f.try(tooManyCalls(byID(id)), dangling)
	f.fails(err, chainstore.ErrGroupTooLarge)
	_, err = f.try([]Node{root(user("new"))}, set("x", 0, mustNotExist()), dangling)
	f.fails(err, chainstore.ErrNodeNotFound)
	_, err = f.try([]Node{root(user("new"))}, set("n", 0, anything()), remove("x", headIs(unknownID(1))))
	f.conflicts(err, chainstore.ErrAliasMoved, chainstore.Conflict{Index: 1, Kind: chainstore.HeadIs, Exists: true, Node: id})
	f.absent(f.idOf(root(user("new")), nil))
	f.gone("n")
}

func severalDeletes(f *fixture) {
	id := f.put(root(user("x")), set("a", 0, anything()), set("b", 0, anything()))
	_, err := f.try(nil, remove("a", anything()), remove("c", mustExist()))
	f.conflicts(err, chainstore.ErrAliasNotFound, chainstore.Conflict{Index: 1, Kind: chainstore.MustExist})
	f.points("a", id)
	f.commit(nil, remove("a", anything()), remove("b", headIs(id)), remove("c", anything()))
	f.gone("a")
	f.gone("b")
	f.gone("c")
	f.clean()
}
