package storetest

import (
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
)

// extending is the condition that an alias points to a node or was moved on from it by plain appends.
func extending(id chainstore.ID) chainstore.Condition {
	return chainstore.Condition{Kind: chainstore.Extends, Head: id}
}

// extends: of an alias at every kind of node, whether it extends every kind of head.
func extends(f *fixture) {
	ids := f.talk()
	c := f.put(compacted(ids[5], ids[5], summary("so far")))
	on := f.chain(byID(c), user("on"), assistant("yes"))
	c2 := f.put(compacted(on[1], c, summary("more")))
	other := f.put(compacted(ids[5], ids[1], summary("otherwise")))
	fork := f.put(under(byID(ids[3]), user("another way")))
	target := f.put(root(user("target")))
	for i, at := range []struct {
		alias, head chainstore.ID
		holds       bool
	}{
		{ids[5], ids[5], true}, {ids[9], ids[5], true}, {ids[9], ids[0], true}, {fork, ids[3], true}, {fork, ids[1], true},
		{ids[5], ids[9], false}, {fork, ids[4], false}, {ids[4], fork, false}, {ids[9], fork, false},
		{c, ids[5], false}, {c, ids[0], false}, {on[1], ids[5], false}, {on[1], ids[0], false}, {other, ids[5], false},
		{c, c, true}, {on[0], c, true}, {on[1], c, true}, {on[1], on[0], true}, {on[1], other, false}, {other, c, false},
		{c2, c2, true}, {c2, c, false}, {c2, on[1], false}, {c2, ids[5], false}, {ids[9], c, false}, {ids[9], c2, false},
		{ids[5], unknownID(1), false}, {c, unknownID(1), false}, {target, unknownID(1), true}, {target, ids[5], true},
	} {
		name := fmt.Sprint("alias/", i)
		f.commit(nil, point(name, at.alias, anything()))
		out, err := f.try(nil, point(name, target, extending(at.head)))
		if !at.holds {
			f.conflicts(err, chainstore.ErrAliasMoved, chainstore.Conflict{
				Kind: chainstore.Extends, Exists: true, Node: at.alias, Compaction: slices.Contains([]chainstore.ID{c, c2, other}, at.alias),
			})
			f.points(name, at.alias)
			continue
		}
		if err != nil {
			f.Fatalf("case %d: error is %v", i, err)
		}
		f.became("what became of the alias", out.Aliases[0], chainstore.PutAlias{
			Changed: at.alias != target, Existed: true, Previous: at.alias,
		})
	}
	for _, head := range []chainstore.ID{ids[5], unknownID(1), {}} {
		_, err := f.try(nil, point("nobody", target, extending(head)))
		f.conflicts(err, chainstore.ErrAliasMoved, chainstore.Conflict{Kind: chainstore.Extends})
		f.gone("nobody")
	}
	f.clean()
}

// extendsAmongOthers: with conditions of other kinds that fail, the error is that of an alias that points elsewhere.
func extendsAmongOthers(f *fixture) {
	ids := f.talk()
	f.commit(nil, point("at-3", ids[3], anything()), point("at-9", ids[9], anything()))
	late := point("at-3", ids[1], extending(ids[5]))
	exists := point("at-9", ids[1], mustNotExist())
	_, err := f.try(nil, late, exists)
	f.conflicts(err, chainstore.ErrAliasMoved,
		chainstore.Conflict{Index: 0, Kind: chainstore.Extends, Exists: true, Node: ids[3]},
		chainstore.Conflict{Index: 1, Kind: chainstore.MustNotExist, Exists: true, Node: ids[9]})
	missing := point("nobody", ids[1], mustExist())
	_, err = f.try(nil, missing, late)
	f.conflicts(err, chainstore.ErrAliasMoved,
		chainstore.Conflict{Index: 0, Kind: chainstore.MustExist},
		chainstore.Conflict{Index: 1, Kind: chainstore.Extends, Exists: true, Node: ids[3]})
	_, err = f.try(nil, point("at-9", ids[1], extending(ids[5])), late)
	f.conflicts(err, chainstore.ErrAliasMoved, chainstore.Conflict{Index: 1, Kind: chainstore.Extends, Exists: true, Node: ids[3]})
	f.points("at-9", ids[9])
	f.clean()
}

// conflictTellsCompaction: whatever the condition that fails, it is told whether the alias points to a compaction node.
func conflictTellsCompaction(f *fixture) {
	ids := f.talk()
	c := f.put(compacted(ids[9], ids[5], summary("so far")))
	on := f.put(under(byID(c), user("on")))
	for _, at := range []struct {
		node       chainstore.ID
		compaction bool
	}{{ids[9], false}, {c, true}, {on, false}} {
		f.commit(nil, point("chat", at.node, anything()))
		for _, condition := range []chainstore.Condition{headIs(ids[0]), mustNotExist(), extending(unknownID(1))} {
			want := chainstore.ErrAliasMoved
			if condition.Kind == chainstore.MustNotExist {
				want = chainstore.ErrAliasExists
			}
			_, err := f.try([]Node{under(byID(ids[0]), user("late"))}, set("chat", 0, condition))
			f.conflicts(err, want, chainstore.Conflict{Kind: condition.Kind, Exists: true, Node: at.node, Compaction: at.compaction})
		}
	}
	f.clean()
}

// extendsFromBehind: a compaction that was planned at one head goes on the head that the alias was moved on to; not
// where another compaction came first, or the alias was moved away. The node of the change itself is a child of what it
// extends by now.
func extendsFromBehind(f *fixture) {
	ids := f.talk()
	f.commit(nil, point("chat", ids[9], anything()))
	compact := func(covers, seen chainstore.ID, text string) (chainstore.ID, error) {
		n := compacted(chainstore.ID{}, covers, summary(text))
		n.Parent = byAlias("chat")
		out, err := f.try([]Node{n}, set("chat", 0, extending(seen)))
		if err != nil {
			return chainstore.ID{}, err
		}
		return out.Nodes[0].ID, nil
	}
	on := f.put(under(byAlias("chat"), user("question 3")), set("chat", 0, extending(ids[9])))
	first, err := compact(ids[9], ids[9], "so far")
	f.ok(err)
	f.points("chat", first)
	f.shows(first, []Message{system("be kind")}, []Message{summary("so far")}, []Message{user("question 3")})
	equalSlices(f, "the chain", idsOf(f.all(idRef(first)))[9:], []chainstore.ID{ids[9], on, first})

	next := f.put(under(byAlias("chat"), assistant("answer 3")), set("chat", 0, extending(first)))
	moved := chainstore.Conflict{Kind: chainstore.Extends, Exists: true, Node: next}
	for _, seen := range []chainstore.ID{ids[9], on} {
		_, err = compact(on, seen, "too late")
		f.conflicts(err, chainstore.ErrAliasMoved, moved)
	}
	_, err = f.try([]Node{under(byAlias("chat"), user("x"))}, set("chat", 0, extending(on)))
	f.conflicts(err, chainstore.ErrAliasMoved, moved)
	f.points("chat", next)
	f.commit(nil, point("chat", ids[5], anything()))
	_, err = compact(ids[5], next, "moved away")
	f.conflicts(err, chainstore.ErrAliasMoved, chainstore.Conflict{Kind: chainstore.Extends, Exists: true, Node: ids[5]})
	f.clean()
}
