package storetest

import (
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// callFacts: a header tells the names of a message's calls, as long as they are not over a limit together, what shorter arguments of them
// would save, which call of its group each result answers, and what the server made; of copies it tells their own.
func callFacts(f *fixture) {
	calls := Message{Role: runloop.Assistant, Calls: []runloop.Call{
		{ID: runloop.Some("1"), Name: runloop.Some("read")}, {ID: runloop.Some("1"), Name: runloop.Some("reply")}, {},
		{ID: runloop.Some("2"), Name: runloop.Some("read")},
	}}
	ids := f.chain(chainstore.Parent{}, system("s"), user("q"), calls, calling("reply", "3"),
		result("3", "of the second message"), result("1", "of the first call"), result("2", "of the last"), result("9", "of none"),
		result("1", "of the call of an equal id"), assistant("a"))
	message := func(id chainstore.ID, i int) runloop.Brief { return f.header(id).Messages[i] }
	names := []runloop.Optional{runloop.Some("read"), runloop.Some("reply"), {}, runloop.Some("read")}
	equalSlices(f, "the names", message(ids[2], 0).Names, names)
	equalSlices(f, "the name of one", message(ids[3], 0).Names, []runloop.Optional{runloop.Some("reply")})
	for at, answers := range map[int]int{4: 5, 5: 1, 6: 4, 7: 0, 8: 2, 9: 0} {
		equal(f, "what is answered", message(ids[at], 0).Mark.Answers, answers)
	}

	made := result("3", "shortened")
	made.Made = true
	copies := compacted(ids[9], ids[9], user("q"), calling("reply", "1"), calling("reply", "3"), made, result("1", "second"), assistant("a"))
	id := f.put(copies)
	for i, answers := range []int{0, 0, 0, 2, 1, 0} {
		m := message(id, i)
		equal(f, "what a copy answers", m.Mark.Answers, answers)
		equal(f, "that a copy was made", m.Made, i == 3)
	}
	equalSlices(f, "the names of a copy", message(id, 2).Names, []runloop.Optional{runloop.Some("reply")})
	f.namesAtTheirLimit()
	f.savings()
	f.clean()
}

// savings: they are told of messages and of copies, none where nothing would be saved, as of a call that was made shorter.
func (f *fixture) savings() {
	f.Helper()
	saving := func(n ...int) Message {
		m := calling("write", "1", "2", "3")
		m.Savings = n
		return m
	}
	results := []Message{result("1", "r"), result("2", "r"), result("3", "r")}
	messages := slices.Concat([]Message{user("q"), saving(0, 200, 1<<20)}, results, []Message{saving(300, 0, 0)}, results, []Message{saving(), assistant("a")})
	messages[len(messages)-2].Calls = nil
	head := f.put(root(messages...))
	put := f.header(head).Messages
	equalSlices(f, "the savings", put[1].Savings, []int{0, 200, 1 << 20})
	equalSlices(f, "the savings of the next", put[5].Savings, []int{300, 0, 0})
	equal(f, "that a message without calls has none", put[9].Savings == nil, true)

	short := saving()
	short.Made = true
	copies := f.header(f.put(compacted(head, head, slices.Concat([]Message{user("q"), short}, results, []Message{saving(300, 0, 0)}, results, []Message{assistant("a")})...))).Messages
	equal(f, "that a copy that was made shorter saves nothing", copies[1].Savings == nil, true)
	equalSlices(f, "the savings of a copy", copies[5].Savings, []int{300, 0, 0})
	large := calling("write")
	for range runloop.MaxGroupCalls {
		large.Calls, large.Savings = append(large.Calls, runloop.Call{}), append(large.Savings, 1<<30)
	}
	equalSlices(f, "the savings of as many calls as there may be", f.header(f.put(root(user("q"), large))).Messages[1].Savings, large.Savings)
}

// namesAtTheirLimit: names are kept up to runloop.MaxNamesBytes, each counted once.
func (f *fixture) namesAtTheirLimit() {
	f.Helper()
	half := strings.Repeat("n", runloop.MaxNamesBytes/2)
	for last, unnamed := range map[string]bool{half[1:]: false, half + "m": true} {
		m := calling(half, "1", "2")
		m.Calls = append(m.Calls, runloop.Call{Name: runloop.Some(last)}, runloop.Call{Name: runloop.Some(last)})
		b := f.header(f.put(root(user(last), m))).Messages[1]
		equal(f, "that the names are over the limit", b.Unnamed, unnamed)
		equal(f, "that names are kept", slices.Contains(b.Names, runloop.Some(last)), !unnamed)
		equal(f, "the calls", b.Calls, 4)
	}
}
