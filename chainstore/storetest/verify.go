package storetest

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func verifyChecks() []check {
	return []check{
		{Verify, "Clean", verifyClean},
		{Verify, "ReportFails", verifyReportFails},
		{Verify, "WholeStore", verifyWholeStore},
		{Judging, "Problems", verifyProblems},
		{Judging, "ProblemsOfTheStore", verifyStoreProblems},
		{Judging, "Order", verifyOrder},
		{Judging, "GoesOn", verifyGoesOn},
		{Judging, "AmidWrites", verifyAmidWrites},
		{Judging, "BadCursors", verifyBadCursors},
	}
}

// fill puts some of everything and returns the ids.
func (f *fixture) fill() []chainstore.ID {
	f.Helper()
	nodes := everyKind()
	var ids []chainstore.ID
	for _, n := range f.commit(nodes, set("chat", len(nodes)-1, anything()), set("a/b", 0, anything())).Nodes {
		ids = append(ids, n.ID)
	}
	for _, i := range []int{0, 2, 2, 5} {
		ids = append(ids, f.put(under(byID(ids[i]), user("a fork"), calling("t", "c1"))))
		ids = append(ids, f.put(under(byID(ids[len(ids)-1]), result("c1", "r"))))
	}
	f.commit(nil, point("chat", ids[3], anything()), remove("a/b", anything()))
	return ids
}

func verifyClean(f *fixture) {
	f.clean()
	f.fill()
	f.clean()
	f.long(chainstore.Parent{}, 2500)
	f.clean()
}

func verifyReportFails(f *fixture) {
	f.fill()
	stop := errors.New("stop")
	reports := 0
	err := f.store.Verify(f.ctx(), chainstore.Check{Namespace: f.ns}, f.cfg.Encoding.Judge, func(chainstore.VerifyReport) error {
		reports++
		return stop
	})
	f.fails(err, stop)
	equal(f, "the reports", reports, 1)
	ctx, cancel := context.WithCancel(f.ctx())
	cancel()
	err = f.store.Verify(ctx, chainstore.Check{Namespace: f.ns}, f.cfg.Encoding.Judge, func(chainstore.VerifyReport) error { return nil })
	f.fails(err, context.Canceled)
}

// verifyWholeStore: every namespace that was written to is checked once, and no other; reports are obeyed.
func verifyWholeStore(f *fixture) {
	whole := func() (last chainstore.VerifyReport) {
		f.Helper()
		f.ok(f.store.Verify(f.ctx(), chainstore.Check{WholeStore: true}, f.cfg.Encoding.Judge, func(r chainstore.VerifyReport) error {
			for _, p := range r.Problems {
				f.Errorf("verify: %s (namespace %q, node %v)", p.What, p.Namespace, p.Node)
			}
			last = r
			return nil
		}))
		equal(f, "the namespace in the last report", last.Namespace, "")
		return last
	}
	empty := whole()
	equal(f, "the nodes of an empty store", empty.Nodes, 0)
	nodes := int64(0)
	for i, name := range []string{"a", "a.b", "b"} {
		g := f.in(name)
		g.fill()
		g.absent(unknownID(1))
		st, err := g.store.Stats(f.ctx(), name)
		f.ok(err)
		nodes += st.Nodes
		f.in("never").absent(unknownID(1))
		last := whole()
		equal(f, "the namespaces checked", last.Namespaces, int64(i+1))
		equal(f, "the nodes checked", last.Nodes, nodes)
	}
	stop, reports := errors.New("stop"), 0
	err := f.store.Verify(f.ctx(), chainstore.Check{WholeStore: true}, f.cfg.Encoding.Judge, func(chainstore.VerifyReport) error {
		reports++
		return stop
	})
	f.fails(err, stop)
	equal(f, "the reports", reports, 1)
}

// verifyStoreProblems: a problem names its namespace, and the judge sees the nodes of each.
func verifyStoreProblems(f *fixture) {
	a, b := f.in("a"), f.in("b")
	n := root(user("of both"))
	id := a.put(n)
	b.put(n)
	bad := b.put(root(user("of one")))
	judged := map[chainstore.ID]int{}
	judge := func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
		if judged[h.ID]++; h.ID == bad {
			return chainstore.Judgement{}, errors.New("not a node's")
		}
		return f.cfg.Encoding.Judge(h, payload, metadata, parent, covers)
	}
	found := 0
	f.ok(f.store.Verify(f.ctx(), chainstore.Check{WholeStore: true}, judge, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			if p.Namespace == "b" && p.HasNode && p.Node == bad {
				found++
			}
			equal(f, "the namespace of a problem", p.Namespace, "b")
		}
		return nil
	}))
	equal(f, "the problems that name the node", found, 1)
	equal(f, "how often the node of both was judged", judged[id], 2)
}

// verifyProblems: where the judge sees another node than the one stored, that node is named, and only that one.
func verifyProblems(f *fixture) {
	bad := f.fill()[3]
	for name, spoilOne := range map[string]func(*chainstore.Judgement) error{
		"error":    func(*chainstore.Judgement) error { return errors.New("not a node's") },
		"id":       func(j *chainstore.Judgement) error { j.ID[0] ^= 1; return nil },
		"messages": func(j *chainstore.Judgement) error { j.Messages = j.Messages[1:]; return nil },
		"role":     func(j *chainstore.Judgement) error { j.Messages[0].Role = runloop.System; return nil },
		"length":   func(j *chainstore.Judgement) error { j.Messages[0].Length++; return nil },
		"call id":  func(j *chainstore.Judgement) error { j.Messages[0].CallID = runloop.Some("zzz"); return nil },
		"variables": func(j *chainstore.Judgement) error {
			j.Variables = append(j.Variables, runloop.VariableChange{Name: "zzz"})
			return nil
		},
	} {
		judge := func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
			j, err := f.cfg.Encoding.Judge(h, payload, metadata, parent, covers)
			if err == nil && h.ID == bad {
				err = spoilOne(&j)
			}
			return j, err
		}
		found := 0
		f.ok(f.store.Verify(f.ctx(), chainstore.Check{Namespace: f.ns}, judge, func(r chainstore.VerifyReport) error {
			for _, p := range r.Problems {
				found++
				if p.HasNode && p.Node != bad {
					f.Errorf("%s: another node is named: %s", name, p.What)
				}
			}
			return nil
		}))
		if found == 0 {
			f.Errorf("%s: nothing was found", name)
		}
	}
}

// verifyOrder: the judge sees every node once, its parent before it, with its own bytes.
func verifyOrder(f *fixture) {
	ids := f.fill()
	seen := map[chainstore.ID]bool{}
	f.ok(f.store.Verify(f.ctx(), chainstore.Check{Namespace: f.ns}, func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
		if seen[h.ID] {
			f.Error("a node was judged twice")
		}
		if seen[h.ID] = true; (parent == nil) != (h.Seq == 0) || parent != nil && !seen[*parent] {
			f.Error("a node was judged before its parent")
		}
		if len(payload) != h.PayloadLength || len(metadata) != h.MetadataLength {
			f.Error("a node was judged without its bytes")
		}
		return f.cfg.Encoding.Judge(h, payload, metadata, parent, covers)
	}, func(chainstore.VerifyReport) error { return nil }))
	for _, id := range ids {
		equal(f, "that a node was judged", seen[id], true)
	}
}
