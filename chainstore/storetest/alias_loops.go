package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// standing tells where an alias's loop stands, as far as a list over the wire does; nothing where it was not asked for.
func standing(l *chainstore.AliasLoop) string {
	if l == nil {
		return ""
	}
	state := "closed"
	switch {
	case l.Phase == runloop.None:
		return fmt.Sprint(" no loop, put at ", l.LastPut)
	case l.Open():
		state = "open"
	case l.Interrupted():
		state = "interrupted"
	}
	return fmt.Sprintf(" %s outcome %d lead-in %v since %d, put at %d", state, l.Outcome, l.LeadIn, l.StartedAt, l.LastPut)
}

// stands asserts where an alias's loop stands, in the order of names and among all by last move. started and put are seconds after the clock began.
func (f *fixture) stands(name, state string, outcome runloop.Outcome, leadIn bool, started, put int) {
	f.Helper()
	at := func(seconds int) int64 { return millis(epoch().Add(time.Duration(seconds) * time.Second)) }
	want := fmt.Sprintf(" %s outcome %d lead-in %v since %d, put at %d", state, outcome, leadIn, at(started), at(put))
	if state == "no loop" {
		want = fmt.Sprint(" no loop, put at ", at(put))
	}
	for _, q := range []chainstore.AliasQuery{{Prefix: name, Limit: 1, Loops: true}, {ByFolder: true, Limit: 1000, Loops: true}} {
		page, _, err := f.store.Aliases(f.ctx(), f.ns, q)
		f.ok(err)
		i := slices.IndexFunc(page, func(a chainstore.Alias) bool { return a.Name == name })
		if i < 0 {
			f.Fatalf("%s is not in %q", name, names(page))
		}
		equal(f, name, standing(page[i].Loop), want)
	}
}

// epoch is when the clocks of fixtures begin.
func epoch() time.Time { return NewClock().Now() }

// listLoops: lists tell, where asked, of every alias's last loop, as the full fold has it. A compaction is no life sign.
func listLoops(f *fixture) {
	sent := user("sent before")
	sent.Note = runloop.Note{HasSentAt: true, SentAt: millis(epoch()) - 5000}
	end := func(outcome string, messages ...Message) Node {
		n := under(byAlias("l/x"), messages...)
		n.Metadata = []Entry{{"run/end", outcome}}
		return n
	}
	for i, step := range []struct {
		put     Node
		state   string
		outcome runloop.Outcome
		leadIn  bool
		started int
	}{
		{root(system("s")), "no loop", 0, false, 0},
		{under(byAlias("l/x"), assistant("nobody asked")), "open", 0, true, 1},
		{under(byAlias("l/x"), sent), "open", 0, false, -5},
		{under(byAlias("l/x"), calling("t", "1")), "open", 0, false, -5},
		{end("cancelled"), "closed", runloop.Cancelled, false, -5},
		{under(byAlias("l/x"), result("1", "late"), assistant("more")), "closed", 0, false, -5},
		{under(byAlias("l/x"), user("again"), calling("t", "2"), assistant("no result")), "interrupted", 0, false, 6},
		{end("failed", user("and again")), "closed", runloop.Failed, false, 7},
		{under(byAlias("l/x"), user("q"), assistant("a")), "closed", 0, false, 8},
		{under(byAlias("l/x"), user("last")), "open", 0, false, 9},
	} {
		f.commit([]Node{step.put}, set("l/x", 0, anything()))
		f.stands("l/x", step.state, step.outcome, step.leadIn, step.started, i)
		f.clock.Advance(time.Second)
	}
	page, _, err := f.store.Aliases(f.ctx(), f.ns, chainstore.AliasQuery{Limit: 1})
	f.ok(err)
	equal(f, "that nothing is told that nobody asked for", page[0].Loop == nil, true)
}

// listLoopsBehindForks: the loop began before forks, and before more of them than a row names.
func listLoopsBehindForks(f *fixture) {
	at := f.put(root(system("s"), user("q")))
	f.clock.Advance(time.Second)
	for i := range 70 {
		f.put(under(byID(at), assistant(fmt.Sprint("a first child, whose sibling goes on ", i))))
		at = f.put(under(byID(at), calling("t", fmt.Sprint(i))), set("deep", 0, anything()))
	}
	f.stands("deep", "open", 0, false, 0, 1)
	f.commit(nil, point("shallow", at, anything()))
	f.stands("shallow", "open", 0, false, 0, 1)
}

// compactionAliasLoops: no compaction changes what is told of an alias's loop, be it several in a row.
func compactionAliasLoops(f *fixture) {
	old := f.put(root(system("s"), user("old question"), assistant("old answer")))
	f.clock.Advance(time.Second)
	head := f.put(under(byID(old), user("q"), calling("t", "1"), result("1", "r")))
	for i := range 3 {
		f.clock.Advance(time.Second)
		f.commit(nil, point("chat", head, anything()))
		f.stands("chat", "open", 0, false, 1, 1)
		head = f.put(compacted(head, head, user(fmt.Sprint("a copy ", i)), assistant("of what was closed")))
	}
	f.clock.Advance(time.Second)
	head = f.put(under(byID(head), assistant("the answer")))
	f.commit(nil, point("chat", head, anything()))
	f.stands("chat", "closed", 0, false, 1, 5)
}

// listOpenLoops: a list of open ones has those alone, also where others beside them are closed, moved and deleted.
func listOpenLoops(f *fixture) {
	open, closed := f.put(root(user("q"))), f.put(root(user("q"), assistant("a")))
	var want []string
	for i := range 40 {
		f.clock.Advance(time.Second)
		name := fmt.Sprintf("f/%02d", i)
		head := closed
		if i%3 == 0 {
			head = open
		}
		f.commit(nil, point(name, head, anything()))
		switch {
		case i%5 == 0:
			f.commit(nil, remove(name, anything()))
		case i%3 == 0:
			want = append(want, name)
		}
	}
	for _, limit := range []int{1, 2, 100} {
		equalSlices(f, "the open ones", f.list(chainstore.AliasQuery{Prefix: "f/", Limit: limit, Loops: true, OpenOnly: true}), want)
		byMove := slices.Clone(want)
		slices.Reverse(byMove)
		equalSlices(f, "the open ones of a folder", f.list(chainstore.AliasQuery{ByFolder: true, Folder: "f", Limit: limit, Loops: true, OpenOnly: true}), byMove)
	}
}

// listOpenLoopsReach: a page that has looked at many heads ends, and the next goes on behind them.
func listOpenLoopsReach(f *fixture) {
	open, closed := f.put(root(user("q"))), f.put(root(user("q"), assistant("a")))
	for from := 0; from < chainstore.LoopReach; from += 500 {
		var set []chainstore.AliasChange
		for i := from; i < from+500; i++ {
			set = append(set, point(fmt.Sprintf("f/%06d", i), closed, anything()))
		}
		f.commit(nil, set...)
	}
	f.commit(nil, point("f/z", open, anything()))
	for _, q := range []chainstore.AliasQuery{{Prefix: "f/"}, {ByFolder: true, Folder: "f"}} {
		q.Limit, q.Loops, q.OpenOnly = 10, true, true
		page, next, err := f.store.Aliases(f.ctx(), f.ns, q)
		f.ok(err)
		equal(f, "the open ones among the first heads", len(page), 0)
		equal(f, "that the page is not the last", next != nil, true)
		q.After = next
		equalSlices(f, "the open ones behind", f.list(q), []string{"f/z"})
		equal(f, "the aliases of a list of all", len(f.list(chainstore.AliasQuery{ByFolder: q.ByFolder, Folder: "f", Limit: 1000})), chainstore.LoopReach+1)
	}
}

// compactionLoopsReach: a page that has read many ancestors for the loops of its aliases ends, and the next goes on behind them.
func compactionLoopsReach(f *fixture) {
	const behind, aliases = 120, 100 // compaction nodes in a row, each a row to read for each alias
	head := f.put(root(system("s"), user("q"), assistant("a")))
	for i := range behind {
		head = f.put(compacted(head, head, user(fmt.Sprint("a copy ", i)), assistant("of what was closed")))
	}
	var set []chainstore.AliasChange
	var want []string
	for i := range aliases {
		want = append(want, fmt.Sprintf("f/%03d", i))
		set = append(set, point(want[i], head, anything()))
	}
	f.commit(nil, set...)
	for _, q := range []chainstore.AliasQuery{{Prefix: "f/"}, {ByFolder: true, Folder: "f"}} {
		q.Limit, q.Loops = aliases, true
		page, next, err := f.store.Aliases(f.ctx(), f.ns, q)
		f.ok(err)
		equal(f, "that a page ends before all", len(page) < aliases && next != nil, true)
		equalSlices(f, "all aliases", f.list(q), want)
	}
}
