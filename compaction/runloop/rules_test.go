package runloop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// parse reads messages: s system, d developer, u user, m summary, a assistant, e empty assistant, c:1,2 assistant with
// calls, r:1 result; the id - is absent; os, od, ou, oa opaque.
func parse(t *testing.T, chain string) []runloop.Facts {
	t.Helper()
	id := func(s string) runloop.Optional {
		if s == "-" {
			return runloop.Optional{}
		}
		return runloop.Some(s)
	}
	roles := map[string]runloop.Role{
		"s": runloop.System, "d": runloop.Developer, "u": runloop.User, "m": runloop.User, "a": runloop.Assistant,
		"e": runloop.Assistant, "c": runloop.Assistant, "r": runloop.Tool,
		"os": runloop.System, "od": runloop.Developer, "ou": runloop.User, "oa": runloop.Assistant,
	}
	var out []runloop.Facts
	for _, word := range strings.Fields(chain) {
		kind, ids, _ := strings.Cut(word, ":")
		f := runloop.Facts{Role: roles[kind], Length: 10, Empty: kind == "e", Summary: kind == "m", Opaque: kind[0] == 'o'}
		switch kind {
		case "c":
			for _, s := range strings.Split(ids, ",") {
				f.Calls = append(f.Calls, runloop.Call{ID: id(s)})
			}
		case "r":
			f.CallID = id(ids)
		}
		if f.Role == 0 {
			t.Fatalf("what is %q?", word)
		}
		out = append(out, f)
	}
	return out
}

func showIDs(calls []runloop.Call) string {
	var out []string
	for _, c := range calls {
		if c.ID.Present {
			out = append(out, c.ID.Value)
		} else {
			out = append(out, "-")
		}
	}
	return strings.Join(out, ",")
}

// showMark writes a mark as what it says: dup, late, orphan; +1,2 stubs before it; again N; begin, lead, broken.
func showMark(m *runloop.Mark) string {
	var out []string
	add := func(yes bool, word string) {
		if yes {
			out = append(out, word)
		}
	}
	add(m.LeftOut == runloop.Duplicate, "dup")
	add(m.LeftOut == runloop.Late, "late")
	add(m.LeftOut == runloop.Orphan, "orphan")
	add(len(m.Stubs) > 0, "+"+showIDs(m.Stubs))
	add(m.RepeatedIDs > 0, fmt.Sprintf("again%d", m.RepeatedIDs))
	add(m.BeginsLoop && !m.LeadIn, "begin")
	add(m.LeadIn, "lead")
	add(m.Interrupts, "broken")
	if out == nil {
		return "."
	}
	return strings.Join(out, "/")
}

// showState writes where the last loop stands, and the open group: its calls, those answered with a !.
func showState(s *runloop.State) string {
	l := &s.Effective.Loop
	out := map[runloop.Phase]string{runloop.None: "none", runloop.Asked: "asked", runloop.Working: "working"}[l.Phase]
	if l.LeadIn {
		out += " lead-in"
	}
	if l.Closed() {
		out += " closed"
	}
	if l.Interrupted() {
		out += " interrupted"
	}
	for i, c := range s.Group.Calls {
		out += " " + showIDs([]runloop.Call{c})
		if s.Group.Answered[i] {
			out += "!"
		}
	}
	return out
}

// TestRules has a case for each rule of design 6 on groups, repair and run loops.
func TestRules(t *testing.T) {
	for _, c := range []struct{ rule, chain, marks, state string }{
		{"a plain loop", "u a", "begin .", "working closed"},
		{"a loop with a call", "u c:1 r:1 a", "begin . . .", "working closed"},
		{"nobody has answered", "u", "begin", "asked interrupted"},
		{"users join before an answer", "u u s u a", "begin . . . .", "working closed"},
		{"a user after an answer begins a loop", "u a u a", "begin . begin .", "working closed"},
		{"a user after an empty answer too", "u e u", "begin . begin/broken", "asked interrupted"},
		{"more work reopens", "u a c:1", "begin . .", "working 1"},
		{"and a reply closes again", "u a c:1 r:1 a", "begin . . . .", "working closed"},
		{"work after the reply leaves it open", "u a c:1 r:1", "begin . . .", "working 1!"},
		{"an empty message after the reply leaves it open", "u a e", "begin . .", "working"},
		{"system messages after the reply do not", "u a s d", "begin . . .", "working closed"},
		{"closed by the next without a reply", "u c:1 r:1 u", "begin . . begin/broken", "asked interrupted"},
		{"replied in the middle is replied", "u a c:1 r:1 u", "begin . . . begin", "asked interrupted"},

		{"several answers in order", "u c:1,2 r:1 r:2 a", "begin . . . .", "working closed"},
		{"several answers in any order", "u c:1,2 r:2 r:1 a", "begin . . . .", "working closed"},
		{"calls in a run of messages", "u c:1 c:2 r:2 r:1", "begin . . . .", "working interrupted 1! 2!"},
		{"a call after a result is another group", "u c:1,2 r:1 c:3", "begin . . +2", "working interrupted 3"},
		{"stubs in the order of calls", "u c:3,1 c:2 r:1 a", "begin . . . +3,2", "working closed interrupted"},
		{"stubs before a user, in the loop before", "u c:1,2 r:1 u", "begin . . +2/begin/broken", "asked interrupted"},
		{"stubs before a system message", "u c:1 s a", "begin . +1 .", "working closed interrupted"},
		{"stubs before an empty message", "u c:1 e", "begin . +1", "working interrupted"},
		{"stubs before a summary", "u c:1 m a", "begin . +1 .", "working closed interrupted"},
		{"the group at the head gets none", "u c:1,2 r:2", "begin . .", "working interrupted 1 2!"},
		{"a reply and an unanswered call", "u c:1 a u", "begin . +1 begin/broken", "asked interrupted"},
		{"a result after the stub is late", "u c:1 a r:1", "begin . +1 late", "working closed interrupted"},

		{"twice the same id, answered in order", "u c:1,1 r:1 r:1", "begin again1 . .", "working interrupted 1! 1!"},
		{"one of two", "u c:1,1 r:1 a", "begin again1 . +1", "working closed interrupted"},
		{"three answers to two", "u c:1,1 r:1 r:1 r:1 a", "begin again1 . . dup .", "working closed"},
		{"an id again in another group", "u c:1 r:1 c:1 r:1 r:1 a", "begin . . again1 . dup .", "working closed"},
		{"absent equals absent", "u c:-,- r:- a", "begin . . +-", "working closed interrupted"},
		{"absent is not empty", "u c:- r: a", "begin . orphan +-", "working closed interrupted"},
		{"absent ids do not count as repeated", "u c:-,- c:-", "begin . .", "working interrupted - - -"},
		{"empty ids do", "u c:,", "begin again1", "working interrupted  "},

		{"a duplicate", "u c:1 r:1 r:1 a", "begin . . dup .", "working closed"},
		{"a duplicate with others open", "u c:1,2 r:1 r:1 r:2 a", "begin . . dup . .", "working closed"},
		{"late, after a user", "u c:1 r:1 a u r:1", "begin . . . begin late", "asked interrupted"},
		{"late, in another group", "u c:1 r:1 c:2 r:1 r:2", "begin . . . late .", "working interrupted 2!"},
		{"an orphan", "u r:1 a", "begin orphan .", "working closed"},
		{"an orphan whose call comes later", "u r:1 c:1 r:1 a", "begin orphan . . .", "working closed"},
		{"an orphan with an absent id", "u r:- a", "begin orphan .", "working closed"},
		{"a late one with an absent id", "u c:- r:- a r:-", "begin . . . late", "working closed"},

		{"left out, it does not end a run of calls", "u c:1 r:9 c:2 r:2 r:1 a", "begin . orphan . . . .", "working closed"},
		{"left out, it begins no lead-in", "s r:1 u", ". orphan begin", "asked interrupted"},
		{"left out, it does not reopen", "u a r:1", "begin . orphan", "working closed"},
		{"left out, it does not answer the user", "u r:1 u", "begin orphan .", "asked interrupted"},
		{"left out behind a group, it does not end it", "u c:1,2 r:1 r:1 r:2 a", "begin . . dup . .", "working closed"},

		{"a lead-in", "s a", ". lead", "working lead-in"},
		{"a lead-in is open though it replied", "a s", "lead .", "working lead-in"},
		{"a lead-in by a call", "c:1 r:1", "lead .", "working lead-in interrupted 1!"},
		{"a user ends the lead-in", "a u", "lead begin", "asked interrupted"},
		{"a user ends a lead-in without a reply", "c:1 u", "lead +1/begin/broken", "asked interrupted"},
		{"early system messages begin nothing", "s d u s a", ". . begin . .", "working closed"},
		{"a summary is in no loop", "s m u a", ". . begin .", "working closed"},
		{"a summary does not answer", "u m u", "begin . .", "asked interrupted"},
		{"a summary does not reopen", "u a m", "begin . .", "working closed"},
		{"opaque, it begins nothing", "ou oa od os", ". . . .", "none"},
		{"opaque, it begins no lead-in", "s oa u", ". . begin", "asked interrupted"},
		{"opaque, it answers no user", "u oa u", "begin . .", "asked interrupted"},
		{"opaque, it is no reply", "u c:1 r:1 oa u", "begin . . . begin/broken", "asked interrupted"},
		{"opaque, it does not reopen", "u a ou oa os", "begin . . . .", "working closed"},
		{"opaque between a call and its result", "u c:1 ou r:1 a", "begin . . . .", "working closed"},
		{"opaque between calls and between results", "u c:1 oa c:2 os r:2 od r:1 ou a", "begin . . . . . . . . .", "working closed"},
		{"opaque behind a call that gets no result", "u c:1 ou a", "begin . . +1", "working closed interrupted"},
		{"opaque, the group at the head goes on", "u c:1,2 r:2 oa", "begin . . .", "working interrupted 1 2!"},
		{"opaque, a duplicate stays one", "u c:1 r:1 oa r:1 a", "begin . . . dup .", "working closed"},
		{"nothing at all", "", "", "none"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			messages := parse(t, c.chain)
			for cut := range len(messages) + 1 {
				nodes := nodesOf(messages, cut)
				state, marks := foldAll(t, nodes)
				var got []string
				for i := range marks {
					got = append(got, showMark(&marks[i]))
				}
				if s := strings.Join(got, " "); s != c.marks {
					t.Errorf("%s: marks are %q, want %q", c.chain, s, c.marks)
				}
				if s := showState(&state); s != c.state {
					t.Errorf("%s: the state is %q, want %q", c.chain, s, c.state)
				}
			}
		})
	}
}

// TestPreamble: it ends at the first message that is shown and neither system nor developer, inside a node too.
func TestPreamble(t *testing.T) {
	for _, c := range []struct {
		chain  string
		ends   []int
		closed bool
		end    runloop.Place
	}{
		{"", nil, false, runloop.Place{}},
		{"s d s", []int{1, 2}, false, runloop.Place{}},
		{"u", nil, true, runloop.Place{}},
		{"s d u s", nil, true, runloop.Place{Index: 2}},
		{"s os ou oa s", nil, false, runloop.Place{}},
		{"s os d ou u", []int{1}, true, runloop.Place{Seq: 1, Index: 3}},
		{"s d s u", []int{2}, true, runloop.Place{Seq: 1, Index: 1}},
		{"s u s a", []int{1, 2, 3}, true, runloop.Place{Seq: 1}},
		{"s a", []int{1}, true, runloop.Place{Seq: 1}},
		{"s m", nil, true, runloop.Place{Index: 1}},
		{"s r:1 s u", nil, true, runloop.Place{Index: 3}},
		{"s r:1 s", []int{2}, false, runloop.Place{}},
	} {
		state, _ := foldAll(t, nodesOf(parse(t, c.chain), c.ends...))
		if state.PreambleClosed != c.closed || state.PreambleEnd != c.end {
			t.Errorf("%s: closed %t at %v, want %t at %v", c.chain, state.PreambleClosed, state.PreambleEnd, c.closed, c.end)
		}
	}
}

func TestTotals(t *testing.T) {
	messages := parse(t, "s u c:1,2 r:1 r:9 u a")
	messages[1].Note = runloop.Note{HasTokens: true, Tokens: 100}
	messages[4].Length = 13
	state, _ := foldAll(t, nodesOf(messages, 2, 3))
	full := runloop.Totals{Nodes: 3, Messages: 7, Depth: 4, Loops: 2, Bytes: 73, Tokens: 100 + 5*3 + 4, Estimated: true}
	if state.Full.Totals != full {
		t.Errorf("the full totals are %+v, want %+v", state.Full.Totals, full)
	}
	stub := int64(len(stubBytes(runloop.Call{ID: runloop.Some("2")})))
	effective := runloop.Totals{
		Nodes: 3, Messages: 7, Depth: 4, Loops: 2, Bytes: 60 + stub, Tokens: 100 + 5*3 + (stub+3)/4, Estimated: true,
	}
	if state.Effective.Totals != effective {
		t.Errorf("the effective totals are %+v, want %+v", state.Effective.Totals, effective)
	}
	if state.Repairs != 2 {
		t.Errorf("%d repairs, want 2", state.Repairs)
	}
}

// TestTokensEstimated: estimates are told from counts, and a stub is an estimate.
func TestTokensEstimated(t *testing.T) {
	counted := parse(t, "u c:1")
	for i := range counted {
		counted[i].Note = runloop.Note{HasTokens: true, Tokens: 1}
	}
	if s, _ := foldAll(t, nodesOf(counted)); s.Full.Estimated || s.Effective.Estimated || s.Full.Tokens != 2 {
		t.Errorf("%+v", s)
	}
	user := counted[0]
	if s, _ := foldAll(t, nodesOf(append(counted, user))); s.Full.Estimated || !s.Effective.Estimated {
		t.Errorf("with a stub: %+v", s)
	}
	user.Note.Estimated = true
	if s, _ := foldAll(t, nodesOf([]runloop.Facts{user})); !s.Full.Estimated {
		t.Errorf("with an estimate: %+v", s)
	}
}

func TestLatestUser(t *testing.T) {
	at := func(f runloop.Facts, ms int64) runloop.Facts {
		f.Note = runloop.Note{HasSentAt: true, SentAt: ms}
		return f
	}
	m := parse(t, "u u a m u")
	for _, c := range []struct {
		messages []runloop.Facts
		ends     []int
		has      bool
		want     int64
	}{
		{[]runloop.Facts{m[2]}, nil, false, 0},
		{[]runloop.Facts{m[0]}, nil, true, 1000},
		{[]runloop.Facts{m[0], m[2], m[4]}, []int{1, 2}, true, 1002},
		{[]runloop.Facts{at(m[0], 5000), m[2], m[4]}, []int{1, 2}, true, 1002},          // not later than it was put
		{[]runloop.Facts{m[2], m[2], at(m[0], 5000), m[2]}, []int{1, 2, 3}, true, 5000}, // but as it was sent
		{[]runloop.Facts{at(m[0], 5), at(m[1], -7)}, nil, true, 5},
		{[]runloop.Facts{at(m[0], -9)}, nil, true, -9},
		{[]runloop.Facts{at(m[0], 5), at(m[3], 9000), at(m[2], 9000)}, nil, true, 5},
	} {
		s, _ := foldAll(t, nodesOf(c.messages, c.ends...))
		for _, v := range []runloop.View{s.Full, s.Effective} {
			if v.HasLatestUser != c.has || v.LatestUser != c.want {
				t.Errorf("%t %d, want %t %d", v.HasLatestUser, v.LatestUser, c.has, c.want)
			}
		}
	}
}
