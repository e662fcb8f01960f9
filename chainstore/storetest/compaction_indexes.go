package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// compactionRecall: a compaction node's messages are in no recall row and no table; what lies before is found through
// any number of compactions.
func compactionRecall(f *fixture) {
	ids := f.talk()
	copies := []Message{user("q"), calling("read", "c1", "new"), result("c1", "output 1"), result("new", "2")}
	id := f.put(compacted(ids[9], ids[9], copies...))
	check := func(head chainstore.ID, c1, unknown string, tools ...chainstore.ToolCount) {
		f.Helper()
		equal(f, "the places of c1", f.places(head, runloop.Some("c1"), 10), c1)
		equal(f, "the places of a copy's call", f.places(head, runloop.Some("new"), 10), unknown)
		equalSlices(f, "the tools", f.tables(idRef(head)).Tools, tools)
	}
	base := []chainstore.ToolCount{tool("read", 2), tool("write", 1)}
	check(id, "3:r0 2:c0", "", base...)
	n := under(byID(id), calling("read", "c1"), result("c1", "other"), result("new", "orphan"))
	n.Metadata = []Entry{{"var/x", "1"}}
	on := f.put(n)
	check(on, "11:c0r1 3:r0 2:c0", "11:r-2", tool("read", 3), tool("write", 1))
	second := f.put(compacted(on, id, summary("so far"), calling("other", "c9"), result("c9", "r")))
	third := f.put(compacted(second, second, summary("so far")))
	check(third, "11:c0r1 3:r0 2:c0", "11:r-2", tool("read", 3), tool("write", 1))
	equal(f, "the places of another copy's call", f.places(third, runloop.Some("c9"), 10), "")
	equalSlices(f, "the variables", f.tables(idRef(third)).Variables, []chainstore.Variable{variable("x", 11)})
	last := f.put(under(byID(third), calling("exec", "c10")))
	check(last, "11:c0r1 3:r0 2:c0", "11:r-2", tool("read", 3), tool("write", 1), tool("exec", 1))
	f.clean()
}

// compactionRepeatedIDs: copies make no id a repeated one, nor a result late; the calls copied do.
func compactionRepeatedIDs(f *fixture) {
	ids := f.talk()
	copies := []Message{calling("t", "c1"), result("c1", "r"), calling("t", "made up"), result("made up", "r"), user("q")}
	id := f.put(compacted(ids[9], ids[9], copies...))
	for i, m := range f.header(id).Messages {
		equal(f, fmt.Sprint("the repeated ids of copy ", i), m.Mark.RepeatedIDs, 0)
	}
	n := under(byID(id), result("made up", "orphan"), result("c1", "late"), calling("t", "made up", "c1", "c1", "fresh"))
	for at, h := range map[string]*chainstore.Header{
		"behind":            f.header(f.put(n)),
		"behind a child":    f.header(f.put(under(byID(f.put(under(byID(id), assistant("x")))), n.Messages...))),
		"behind two copies": f.header(f.put(under(byID(f.put(compacted(id, id, copies...))), n.Messages...))),
	} {
		equal(f, at+": the result of a copied call", h.Messages[1].Mark.LeftOut, runloop.Late)
		equal(f, at+": the result of a copy's call", h.Messages[0].Mark.LeftOut, runloop.Orphan)
		equal(f, at+": the repeated ids", h.Messages[2].Mark.RepeatedIDs, 2)
	}
	f.clean()
}

// compactionAnsweredAgain: one more result of a copied call is left out as such, and does not make a call of what has only a
// copy on the path.
func compactionAnsweredAgain(f *fixture) {
	ids := f.talk()
	id := f.put(compacted(ids[9], ids[9], calling("t", "c1", "made up"), result("c1", "r"), result("made up", "r")))
	again := f.put(under(byID(id), result("made up", "again"), result("c1", "again")))
	for i, m := range f.header(again).Messages {
		equal(f, fmt.Sprint("result ", i), m.Mark.LeftOut, runloop.Duplicate)
	}
	other := f.put(under(byID(again), calling("t", "other"), result("other", "r")))
	for call, want := range map[string]int{"made up": 0, "c1": 1} {
		h := f.header(f.put(under(byID(other), calling("t", call))))
		equal(f, "the repeated ids of a call of "+call, h.Messages[0].Mark.RepeatedIDs, want)
	}
	f.clean()
}

// compactionJudged: the judge is told what a compaction node covers, and heard; other nodes cover nothing.
func compactionJudged(f *fixture) {
	ids := f.talk()
	covered := map[chainstore.ID]chainstore.ID{}
	for _, k := range []int{1, 5, 9} {
		covered[f.put(compacted(ids[9], ids[k], summary("so far"), calling("t", "c"), result("c", "r")))] = ids[k]
	}
	second := f.put(compacted(f.put(compacted(ids[8], ids[6], summary("one"))), ids[8], summary("two")))
	covered[second] = ids[8]
	covered[idsOf(f.all(idRef(second)))[9]] = ids[6]
	judged := 0
	judge := func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
		want, is := covered[h.ID]
		if is != (covers != nil) || is && *covers != want {
			f.Errorf("a node is said to cover %v, want %v", covers, want)
		}
		if is {
			judged++
		}
		return f.cfg.Encoding.Judge(h, payload, metadata, parent, covers)
	}
	problems := func(judge chainstore.Judge) (nodes []chainstore.ID) {
		f.ok(f.store.Verify(f.ctx(), chainstore.Check{Namespace: f.ns}, judge, func(r chainstore.VerifyReport) error {
			for _, p := range r.Problems {
				nodes = append(nodes, p.Node)
			}
			return nil
		}))
		return nodes
	}
	equal(f, "the problems", len(problems(judge)), 0)
	equal(f, "the compaction nodes judged", judged, len(covered))
	for _, spoilOne := range []func(*chainstore.Judgement){
		func(j *chainstore.Judgement) { j.ID[0] ^= 1 },
		func(j *chainstore.Judgement) { j.Messages = j.Messages[1:] },
		func(j *chainstore.Judgement) { j.Messages[0].Length++ },
		func(j *chainstore.Judgement) { j.Messages[0].Summary = false },
	} {
		found := problems(func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
			j, err := f.cfg.Encoding.Judge(h, payload, metadata, parent, covers)
			if h.ID == second {
				spoilOne(&j)
			}
			return j, err
		})
		if !slices.Contains(found, second) {
			f.Errorf("problems are found at %v, want at %v", found, second)
		}
	}
}

// compactionReopening: compactions outlive a Close, and the chain goes on behind them.
func compactionReopening(f *fixture) {
	if f.cfg.Reopen == nil {
		f.TB.(*testing.T).Skip("Config.Reopen is not set")
	}
	ids := f.talk()
	first := f.put(compacted(ids[9], ids[5], summary("so far"), calling("t", "c"), result("c", "r")), set("chat", 0, anything()))
	second := f.put(compacted(first, ids[7+1], summary("more")))
	below := f.put(under(byID(first), user("on"), calling("read", "c1")))
	d := dumper{f: f, ids: append(slices.Clone(ids), first, second, below), names: []string{"chat"}, calls: []string{"c", "c1"}}
	before, err := d.dump(f.store)
	f.ok(err)
	f.ok(f.bare.Close())
	f.bare = f.cfg.Reopen(f.TB, Options{Now: f.clock.Now})
	f.store = Mangle(f.TB, f.bare)
	again, err := d.dump(f.store)
	f.ok(err)
	if line := firstDifference(again, before); line != "" {
		f.Fatal(line)
	}
	next := f.put(under(byAlias("chat"), result("c", "again"), calling("t", "c")), set("chat", 0, extending(first)))
	equal(f, "the repeated ids", f.header(next).Messages[1].Mark.RepeatedIDs, 0)
	third := f.put(compacted(below, first, summary("three")))
	f.shows(third, []Message{system("be kind")}, []Message{summary("three")}, []Message{user("on"), calling("read", "c1")})
	_, err = f.try([]Node{compacted(second, ids[7], summary("x"))})
	f.fails(err, chainstore.ErrAlreadyCovered)
	f.clean()
}
