package storetest

import (
	"github.com/transcriptd/transcriptd/chainstore"
)

func retryChecks() []check {
	return []check{
		{Retries, "ByID", retryByID},
		{Retries, "ConditionedAlias", retryConditionedAlias},
		{Retries, "MustNotExist", retryMustNotExist},
		{Retries, "MustExist", retryMustExist},
		{Retries, "UnconditionedAliasAppends", unconditionedAppends},
		{Retries, "ConditionNamesTheParent", conditionNamesTheParent},
		{Retries, "Batch", retryBatch},
		{Retries, "FailureChangesNothing", failureChangesNothing},
		{Retries, "AliasesAlone", retryAliases},
		{Retries, "LeavesWhatOthersMoved", retryLeavesWhatOthersMoved},
		{Retries, "WhatIsNoRepeat", whatIsNoRepeat},
	}
}

func retryByID(f *fixture) {
	base := f.put(root(system("s")))
	n := under(byID(base), user("u"))
	first := f.commit([]Node{n})
	for range 2 {
		again := f.commit([]Node{n})
		equal(f, "the id", again.Nodes[0].ID, first.Nodes[0].ID)
		equal(f, "created", again.Nodes[0].Created, false)
		equal(f, "the totals", again.Nodes[0].Full, first.Nodes[0].Full)
		equal(f, "the effective totals", again.Nodes[0].Effective, first.Nodes[0].Effective)
	}
	equal(f, "created at first", first.Nodes[0].Created, true)
	f.clean()
}

// retryConditionedAlias: a turn is put at the end of a chat and the alias moved; the reply gets lost.
func retryConditionedAlias(f *fixture) {
	base := f.put(root(system("s")), set("chat", 0, anything()))
	turn := under(byAlias("chat"), user("u"))
	first := f.commit([]Node{turn}, set("chat", 0, headIs(base)))
	id := first.Nodes[0].ID
	f.became("the alias after the first", first.Aliases[0], chainstore.PutAlias{Changed: true, Existed: true, Previous: base})
	for range 2 {
		again := f.commit([]Node{turn}, set("chat", 0, headIs(base)))
		equal(f, "the id", again.Nodes[0].ID, id)
		equal(f, "created", again.Nodes[0].Created, false)
		f.became("the alias after a repeat", again.Aliases[0], chainstore.PutAlias{Existed: true, Previous: id})
	}
	winner := f.put(under(byAlias("chat"), user("someone else")), set("chat", 0, headIs(id)))
	_, err := f.try([]Node{turn}, set("chat", 0, headIs(base)))
	f.conflicts(err, chainstore.ErrAliasMoved, chainstore.Conflict{Kind: chainstore.HeadIs, Exists: true, Node: winner})
	f.points("chat", winner)
}

func retryMustNotExist(f *fixture) {
	n := root(user("message 7"))
	first := f.commit([]Node{n}, set("msg/7", 0, mustNotExist()))
	id := first.Nodes[0].ID
	f.became("the alias after the first", first.Aliases[0], chainstore.PutAlias{Changed: true})
	again := f.commit([]Node{n}, set("msg/7", 0, mustNotExist()))
	f.became("the alias after a repeat", again.Aliases[0], chainstore.PutAlias{Existed: true, Previous: id})
	loser := root(user("message 7, seen by another"))
	_, err := f.try([]Node{loser}, set("msg/7", 0, mustNotExist()))
	f.conflicts(err, chainstore.ErrAliasExists, chainstore.Conflict{Kind: chainstore.MustNotExist, Exists: true, Node: id})
	f.absent(f.idOf(loser, nil))
}

func retryMustExist(f *fixture) {
	n := root(user("u"))
	_, err := f.try([]Node{n}, set("a", 0, mustExist()))
	f.conflicts(err, chainstore.ErrAliasNotFound, chainstore.Conflict{Kind: chainstore.MustExist})
	f.absent(f.idOf(n, nil))
	base := f.put(root(user("before")), set("a", 0, anything()))
	first := f.commit([]Node{n}, set("a", 0, mustExist()))
	f.became("the alias after the first", first.Aliases[0], chainstore.PutAlias{Changed: true, Existed: true, Previous: base})
	again := f.commit([]Node{n}, set("a", 0, mustExist()))
	equal(f, "changed by a repeat", again.Aliases[0].Changed, false)
}

// idOf is the id that a node would have.
func (f *fixture) idOf(n Node, parent *chainstore.ID) chainstore.ID {
	return f.change([]Node{n}).Nodes[0].Identify(parent)
}

func unconditionedAppends(f *fixture) {
	base := f.put(root(system("s")), set("chat", 0, anything()))
	n := under(byAlias("chat"), user("again"))
	first := f.put(n, set("chat", 0, anything()))
	second := f.put(n, set("chat", 0, anything()))
	equal(f, "the first id", first, f.idOf(n, &base))
	equal(f, "the second id", second, f.idOf(n, &first))
	third := f.put(n)
	equal(f, "the third id", third, f.idOf(n, &second))
	f.points("chat", second)
}

// conditionNamesTheParent: with a condition on a head, that head is the parent, wherever the alias points.
func conditionNamesTheParent(f *fixture) {
	a := f.put(root(user("a")), set("x", 0, anything()))
	b := f.put(root(user("b")))
	n := under(byAlias("x"), user("next"))
	_, err := f.try([]Node{n}, set("x", 0, headIs(b)))
	f.conflicts(err, chainstore.ErrAliasMoved, chainstore.Conflict{Kind: chainstore.HeadIs, Exists: true, Node: a})
	f.absent(f.idOf(n, &a))
	f.absent(f.idOf(n, &b))
	_, err = f.try([]Node{under(byAlias("nobody"), user("next"))}, set("nobody", 0, headIs(b)))
	f.conflicts(err, chainstore.ErrAliasMoved, chainstore.Conflict{Kind: chainstore.HeadIs})
	_, err = f.try([]Node{n}, set("x", 0, headIs(unknownID(3))))
	f.fails(err, chainstore.ErrParentNotFound)
	id := f.put(under(byAlias("x"), user("next")), set("x", 0, headIs(a)), set("y", 0, mustNotExist()))
	equal(f, "the id", id, f.idOf(n, &a))
	f.points("y", id)
}

func retryBatch(f *fixture) {
	nodes := []Node{root(system("s")), under(previous(), user("u")), under(previous(), assistant("a"))}
	aliases := []chainstore.AliasChange{set("chat", 2, mustNotExist()), set("msg/1", 1, mustNotExist())}
	first := f.commit(nodes, aliases...)
	again := f.commit(nodes, aliases...)
	for i := range nodes {
		equal(f, "the id", again.Nodes[i].ID, first.Nodes[i].ID)
		equal(f, "created at first", first.Nodes[i].Created, true)
		equal(f, "created by a repeat", again.Nodes[i].Created, false)
	}
	for i := range aliases {
		equal(f, "changed at first", first.Aliases[i].Changed, true)
		equal(f, "changed by a repeat", again.Aliases[i].Changed, false)
	}
	longer := append(nodes, under(previous(), user("more")))
	more := f.commit(longer, set("chat", 3, headIs(first.Nodes[2].ID)))
	equal(f, "created, old", more.Nodes[2].Created, false)
	equal(f, "created, new", more.Nodes[3].Created, true)
	f.clean()
}

func failureChangesNothing(f *fixture) {
	old := f.put(root(user("old")), set("a", 0, anything()), set("b", 0, anything()))
	before, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	nodes := []Node{root(user("new")), under(previous(), user("newer"))}
	_, err = f.try(nodes, set("a", 0, mustExist()), set("c", 1, anything()), set("b", 1, mustNotExist()))
	f.conflicts(err, chainstore.ErrAliasExists, chainstore.Conflict{Index: 2, Kind: chainstore.MustNotExist, Exists: true, Node: old})
	_, err = f.try(append(nodes, under(byID(unknownID(1)), user("nowhere"))), set("a", 0, anything()))
	f.fails(err, chainstore.ErrParentNotFound)
	f.points("a", old)
	f.points("b", old)
	f.gone("c")
	id := f.idOf(nodes[0], nil)
	f.absent(id)
	f.absent(f.idOf(nodes[1], &id))
	stats, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the statistics", stats, before)
	f.clean()
}

func retryAliases(f *fixture) {
	a, b := f.put(root(user("a"))), f.put(root(user("b")))
	for _, want := range []bool{true, false, false} {
		out := f.commit(nil, point("x", a, mustNotExist()))
		equal(f, "changed", out.Aliases[0].Changed, want)
	}
	for _, want := range []bool{true, false} {
		out := f.commit(nil, point("x", b, headIs(a)))
		equal(f, "changed", out.Aliases[0].Changed, want)
	}
	for _, want := range []bool{true, false} {
		out := f.commit(nil, remove("x", headIs(b)))
		equal(f, "deleted", out.Aliases[0].Changed, want)
	}
	f.gone("x")
}

// retryLeavesWhatOthersMoved: an alias that a turn sets along, without a condition, was moved or deleted by others since, and so
// was a label.
func retryLeavesWhatOthersMoved(f *fixture) {
	base := f.put(root(system("s")), set("turn", 0, anything()))
	turn := under(byID(base), user("u"))
	aliases := []chainstore.AliasChange{set("turn", 0, headIs(base)), set("chat", 0, anything()), set("gone", 0, anything())}
	first := f.commit([]Node{turn}, aliases...)
	id := first.Nodes[0].ID
	other := f.put(root(user("another")), set("chat", 0, anything()))
	f.commit(nil, remove("gone", anything()))
	again := f.commit([]Node{turn}, aliases...)
	equal(f, "created", again.Nodes[0].Created, false)
	f.became("the conditioned alias", again.Aliases[0], chainstore.PutAlias{Existed: true, Previous: id})
	f.became("the alias that was moved", again.Aliases[1], chainstore.PutAlias{Existed: true, Previous: other})
	f.became("the alias that was deleted", again.Aliases[2], chainstore.PutAlias{})
	f.points("chat", other)
	f.gone("gone")
	f.clean()
}

// whatIsNoRepeat: a change sets its aliases where it may be another than the one that set the conditioned one.
func whatIsNoRepeat(f *fixture) {
	base := f.put(root(system("s")))
	turn := under(byID(base), user("u"))
	id := f.put(turn, set("turn", 0, anything()))
	f.commit([]Node{turn}, set("turn", 0, headIs(id)), set("a", 0, anything())) // it points to where the condition says
	f.points("a", id)
	f.commit([]Node{turn}, set("turn", 0, mustExist()), set("b", 0, anything()))
	f.points("b", id)
	f.commit([]Node{turn}, set("turn", 0, headIs(base)), set("new", 0, mustNotExist()), set("c", 0, anything()))
	f.points("c", id)
	f.commit([]Node{turn, under(previous(), user("more"))}, set("turn", 0, headIs(base)), set("d", 1, anything()))
	f.commit([]Node{turn}, set("turn", 0, headIs(base)), set("e", 0, anything())) // turn points to it since the first
	f.points("e", id)
	f.commit(nil, point("e", base, anything()))
	f.commit([]Node{turn}, set("turn", 0, headIs(base)), set("e", 0, anything())) // others moved it since
	f.points("e", base)
	other := f.put(root(user("other")))
	for i := range chainstore.RepeatReach { // beyond which nobody knows
		f.commit(nil, point("e", []chainstore.ID{other, base}[i%2], anything()))
	}
	f.commit([]Node{turn}, set("turn", 0, headIs(base)), set("e", 0, anything()))
	f.points("e", id)
	f.clean()
}
