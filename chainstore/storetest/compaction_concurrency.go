package storetest

import (
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
)

// compactionsAtOnce: writers that append to an alias wherever it points, and compactions of it as it was seen. A
// compaction comes to lie behind what was appended meanwhile; one that another overtook fails. Nothing is lost.
func compactionsAtOnce(f *fixture) {
	ids := f.talk()
	f.commit(nil, point("chat", ids[9], anything()))
	const rounds = 8
	type round struct{ appended, compacted, overtaken int }
	done := atOnce(16, func(i int) (r round) {
		for k := range rounds {
			seen, err := f.store.Alias(f.ctx(), f.ns, "chat")
			if err != nil {
				f.Error(err)
				return r
			}
			n := under(byAlias("chat"), user(fmt.Sprint(i, k)), assistant("a"))
			change := f.change([]Node{n}, set("chat", 0, anything()))
			compacts := i%4 == 0
			if compacts {
				n = compacted(chainstore.ID{}, seen.Node, summary(fmt.Sprint("by ", i, k)))
				n.Parent = byAlias("chat")
				change = f.change([]Node{n}, set("chat", 0, extending(seen.Node)))
			}
			_, err = f.store.Commit(f.ctx(), f.ns, change)
			switch {
			case compacts && errors.Is(err, chainstore.ErrAliasMoved), compacts && errors.Is(err, chainstore.ErrAlreadyCovered):
				r.overtaken++
			case err != nil:
				f.Errorf("unexpected error: %v", err)
			case compacts:
				r.compacted++
			default:
				r.appended++
			}
		}
		return r
	})
	var all round
	for _, r := range done {
		all.appended, all.compacted, all.overtaken = all.appended+r.appended, all.compacted+r.compacted, all.overtaken+r.overtaken
	}
	equal(f, "the appends", all.appended, 12*rounds)
	equal(f, "the compactions and those overtaken", all.compacted+all.overtaken, 4*rounds)
	if all.compacted == 0 {
		f.Fatal("every compaction was overtaken")
	}
	rows := f.all(aliasRef("chat"))
	equal(f, "the nodes on the path", len(rows), len(ids)+all.appended+all.compacted)
	equal(f, "the full nodes", rows[len(rows)-1].header.State.Full.Nodes, int64(len(ids)+all.appended))
	covered, seen := uint32(0), 0
	for _, r := range rows {
		if h := r.header; h.Covers.Present {
			seen++
			if h.Covers.Seq < covered || h.Covers.Seq >= h.Seq {
				f.Fatalf("the compaction at %d covers %d, the one before %d", h.Seq, h.Covers.Seq, covered)
			}
			covered = h.Covers.Seq
		}
	}
	equal(f, "the compaction nodes on the path", seen, all.compacted)
	last := rows[len(rows)-1].header
	tail := int64(0)
	for _, r := range rows[rows[last.Compaction.Seq].header.Covers.Seq+1:] {
		if !r.header.Covers.Present {
			tail++
		}
	}
	equal(f, "the effective nodes", last.State.Effective.Nodes, 2+tail)
	f.clean()
}

// badCompactionsAtOnce: compactions that are refused neither fail nor delay others that are put with them.
func badCompactionsAtOnce(f *fixture) {
	ids := f.talk()
	c := f.put(compacted(ids[9], ids[5], summary("so far")))
	for i, o := range f.tryAtOnce(callers, func(i int) *chainstore.Change {
		text := summary(fmt.Sprint("by ", i))
		return f.change([]Node{[]Node{
			compacted(ids[9], ids[7], text), compacted(c, ids[4], text), compacted(ids[5], ids[6], text),
			compacted(c, unknownID(1), text), compacted(c, c, text), compacted(ids[9], ids[6], text),
			under(byID(c), user(fmt.Sprint(i))), under(byID(ids[9]), user(fmt.Sprint(i))),
		}[i%8]})
	}) {
		want := []error{
			chainstore.ErrOpenCalls, chainstore.ErrAlreadyCovered, chainstore.ErrNotAncestor, chainstore.ErrNodeNotFound,
			nil, nil, nil, nil,
		}[i%8]
		if !errors.Is(o.err, want) {
			f.Errorf("caller %d: error is %v, want %v", i, o.err, want)
		}
	}
	st, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	equal(f, "the nodes", st.Nodes, int64(len(ids)+1+callers/2))
	f.clean()
}
