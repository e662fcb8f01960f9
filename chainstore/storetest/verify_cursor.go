package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

// reported is a report with all problems that were told until then, and how many nodes were judged.
type reported struct {
	chainstore.VerifyReport
	problems []chainstore.Problem
	judged   int
}

// reports runs a check, with a second between two nodes, so that there are many reports. Nodes that are bad are problems; at each
// report, meanwhile is called.
func (f *fixture) reports(check chainstore.Check, bad map[chainstore.ID]bool, meanwhile func()) (all []reported) {
	f.Helper()
	now := reported{}
	judge := func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
		now.judged++
		f.clock.Advance(time.Second)
		if bad[h.ID] {
			return chainstore.Judgement{}, errors.New("not a node's")
		}
		return f.cfg.Encoding.Judge(h, payload, metadata, parent, covers)
	}
	f.ok(f.store.Verify(f.ctx(), check, judge, func(r chainstore.VerifyReport) error {
		now.VerifyReport, now.problems = r, append(now.problems[:len(now.problems):len(now.problems)], r.Problems...)
		now.Cursor = bytes.Clone(r.Cursor)
		all = append(all, now)
		meanwhile()
		return nil
	}))
	return all
}

// verifyGoesOn: a check that goes on at any report's cursor finds what that report and those before it did not tell, judges no node
// again, and counts on.
func verifyGoesOn(f *fixture) {
	bad := map[chainstore.ID]bool{}
	for _, name := range []string{"a", "b", "c"} {
		ids := f.in(name).fill()
		f.in(name).spawns(ids[2], "of "+name)
		for i, id := range ids {
			bad[id] = i%5 == 3
		}
	}
	for _, check := range []chainstore.Check{{WholeStore: true}, {Namespace: "b"}} {
		whole := f.reports(check, bad, func() {})
		end := whole[len(whole)-1]
		if len(whole) < 5 || len(end.problems) == 0 || end.Cursor != nil {
			f.Fatalf("%d reports, %d problems, the last cursor is %x", len(whole), len(end.problems), end.Cursor)
		}
		for i, at := range whole[:len(whole)-1] {
			if check.Cursor = at.Cursor; at.Cursor == nil {
				continue
			}
			rest := f.reports(check, bad, func() {})
			last := rest[len(rest)-1]
			equal(f, fmt.Sprint("the problems through report ", i, " and behind it"),
				fmt.Sprint(append(at.problems[:len(at.problems):len(at.problems)], last.problems...)), fmt.Sprint(end.problems))
			equal(f, "the nodes judged", at.judged+last.judged, end.judged)
			last.Problems, end.Problems = nil, nil
			equal(f, "the last report", fmt.Sprint(last.VerifyReport), fmt.Sprint(end.VerifyReport))
		}
	}
}

// verifyAmidWrites: what is written while a check runs, or between two that belong together, is no problem and is not judged.
func verifyAmidWrites(f *fixture) {
	ids := f.fill()
	f.spawns(ids[1], "before")
	f.spawns(unknownID(3), "awaited")
	before, err := f.store.Stats(f.ctx(), f.ns)
	f.ok(err)
	n := 0
	write := func() {
		if n++; n > 60 {
			return // a check that reports as it reads would meet what each report wrote, and not end
		}
		id := f.put(under(byID(ids[n%len(ids)]), user(fmt.Sprint("meanwhile ", n)), calling("t", "c9")))
		f.put(under(byID(id), result("c9", "r")))
		f.spawns(ids[n%len(ids)], fmt.Sprint("spawned ", n))
		f.spawns(id, fmt.Sprint("spawned anew ", n))
		f.commit(nil, point(fmt.Sprint("new/", n), id, anything()), point("chat", id, anything()))
		if n > 2 {
			f.commit(nil, remove(fmt.Sprint("new/", n-2), anything()))
		}
	}
	all := f.reports(chainstore.Check{Namespace: f.ns}, nil, write)
	last := all[len(all)-1]
	equal(f, "the problems", fmt.Sprint(last.problems), "[]")
	equal(f, "the nodes judged", int64(last.judged), before.Nodes)
	for i, at := range all {
		if at.Cursor == nil || i%3 > 0 {
			continue
		}
		rest := f.reports(chainstore.Check{Namespace: f.ns, Cursor: at.Cursor}, nil, write)
		last := rest[len(rest)-1]
		equal(f, "the problems of one that went on", fmt.Sprint(last.problems), "[]")
		equal(f, "the nodes judged by one that went on", int64(at.judged+last.judged), before.Nodes)
	}
	f.clean()
}

// verifyBadCursors: a cursor of another check, and what is none, is refused.
func verifyBadCursors(f *fixture) {
	f.in("a").fill()
	f.in("b").fill()
	cursor := func(check chainstore.Check) []byte {
		for _, r := range f.reports(check, nil, func() {}) {
			if r.Nodes > 3 && r.Cursor != nil {
				return r.Cursor
			}
		}
		f.Fatal("there is no cursor")
		return nil
	}
	a, store := cursor(chainstore.Check{Namespace: "a"}), cursor(chainstore.Check{WholeStore: true})
	refused := func(check chainstore.Check) {
		f.Helper()
		err := f.store.Verify(f.ctx(), check, f.cfg.Encoding.Judge, func(chainstore.VerifyReport) error { return nil })
		f.fails(err, chainstore.ErrBadCursor)
	}
	refused(chainstore.Check{Namespace: "b", Cursor: a})
	refused(chainstore.Check{WholeStore: true, Cursor: a})
	refused(chainstore.Check{Namespace: "a", Cursor: store})
	refused(chainstore.Check{Namespace: "a", Cursor: []byte{}})
	refused(chainstore.Check{Namespace: "a", Cursor: append(bytes.Clone(a), 0xff)})
	for n := range a {
		refused(chainstore.Check{Namespace: "a", Cursor: a[:n]})
	}
}
