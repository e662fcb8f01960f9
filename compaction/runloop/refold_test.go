package runloop_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	"pgregory.net/rapid"
)

// folded is a chain with compaction nodes, folded node by node as a store does: a compaction node from what is kept of
// the nodes before it, their states and briefs.
type folded struct {
	nodes  []runloop.Node
	states []runloop.State
	marks  [][]runloop.Mark
	briefs [][]runloop.Brief
	stubs  [][]runloop.Call
	// covers has the last node that each compaction node covers, nearest the nearest compaction node, -1 without one.
	covers  map[int]int
	nearest []int
}

func (c *folded) add(n runloop.Node, s runloop.State, marks []runloop.Mark, stubs []runloop.Call, nearest int) {
	briefs := make([]runloop.Brief, len(marks))
	for i := range marks {
		briefs[i] = runloop.BriefOf(&n.Messages[i], marks[i])
	}
	c.nodes, c.states, c.marks = append(c.nodes, n), append(c.states, s), append(c.marks, marks)
	c.briefs, c.stubs, c.nearest = append(c.briefs, briefs), append(c.stubs, stubs), append(c.nearest, nearest)
}

// next is the next node of the chain, without messages.
func (c *folded) next() runloop.Node {
	n := len(c.nodes)
	return runloop.Node{Seq: uint32(n), Prefix: fmt.Sprintf("%012x", n), Times: timesOf(n)}
}

// head is the state and the nearest compaction node that the chain ends in.
func (c *folded) head() (s runloop.State, nearest int) {
	if n := len(c.nodes); n > 0 {
		return c.states[n-1], c.nearest[n-1]
	}
	return s, -1
}

// plain are the nodes through the last, compaction nodes left out, from node i on.
func (c *folded) plain(i int) []runloop.Node {
	var out []runloop.Node
	for ; i < len(c.nodes); i++ {
		if _, is := c.covers[i]; !is {
			out = append(out, c.nodes[i])
		}
	}
	return out
}

func (c *folded) put(messages []runloop.Facts, outcome ...runloop.Outcome) error {
	n := c.next()
	n.Messages = messages
	for _, o := range outcome {
		n.Outcome = o
	}
	s, nearest := c.head()
	marks, stubs, err := s.Fold(n, earlier(c.plain(0)))
	if err == nil {
		c.add(n, s, marks, stubs, nearest)
	}
	return err
}

// folded is node i as it is kept.
func (c *folded) folded(i int) runloop.Folded {
	n := &c.nodes[i]
	return runloop.Folded{Seq: n.Seq, Times: n.Times, Messages: c.briefs[i], Stubs: c.stubs[i], Outcome: n.Outcome}
}

func (c *folded) compact(through int, n runloop.Node) error {
	parent, _ := c.head()
	var preamble runloop.State
	end := parent.PreambleEnd
	if end.Seq > 0 {
		preamble = c.states[end.Seq-1]
	}
	r := runloop.NewRefold(preamble)
	if end.Index > 0 {
		part := c.folded(int(end.Seq))
		part.Messages, part.Stubs, part.Outcome = part.Messages[:end.Index], nil, runloop.NoOutcome
		r.Add(part)
	}
	marks, err := r.Compaction(n)
	if err != nil {
		return err
	}
	for i := through + 1; i < len(c.nodes); i++ {
		if _, is := c.covers[i]; !is {
			r.Add(c.folded(i))
		}
	}
	c.covers[len(c.nodes)] = through
	c.add(n, r.End(&parent), marks, nil, len(c.nodes))
	return nil
}

// mayCover lists what a compaction node at the end of the chain may cover.
func (c *folded) mayCover() []int {
	head, nearest := c.head()
	if !head.PreambleClosed {
		return nil
	}
	from := int(head.PreambleEnd.Seq)
	if nearest >= 0 {
		from = max(from, c.covers[nearest])
	}
	var out []int
	for i := from; i < len(c.nodes); i++ {
		if c.states[i].Group.Unanswered() == 0 {
			out = append(out, i)
		}
	}
	return out
}

// preamble are the nodes that are preamble, the last of them perhaps in part.
func (c *folded) preamble() []runloop.Node {
	head, _ := c.head()
	end := head.PreambleEnd
	out := slices.Clone(c.nodes[:end.Seq])
	if end.Index > 0 {
		part := c.nodes[end.Seq]
		part.Messages, part.Outcome = part.Messages[:end.Index], runloop.NoOutcome
		out = append(out, part)
	}
	return out
}

// shown are the nodes of the effective view.
func (c *folded) shown() []runloop.Node {
	_, nearest := c.head()
	if nearest < 0 {
		return c.nodes
	}
	return append(append(c.preamble(), c.nodes[nearest]), c.plain(c.covers[nearest]+1)...)
}

// check compares the last node's state and marks with what the rules say of the views that end in it.
func (c *folded) check(tb fataler) {
	last := len(c.nodes) - 1
	got, nearest := c.head()
	full, shown := newModel(c.plain(0)), newModel(c.shown())
	want := full.state
	want.Effective, want.Repairs, want.Group = shown.state.Effective, shown.state.Repairs, shown.state.Group
	if !reflect.DeepEqual(normal(got), normal(want)) {
		tb.Fatalf("node %d: the state is\n%+v, want\n%+v", last, got, want)
	}
	wantMarks := shown.marks
	if nearest == last {
		wantMarks = newModel(append(c.preamble(), c.nodes[last])).marks
	}
	wantMarks = wantMarks[len(wantMarks)-len(c.marks[last]):]
	for i, m := range c.marks[last] {
		w := wantMarks[i]
		if nearest < last { // findings are told of the full view
			w.Interrupts = full.marks[len(full.marks)-len(c.marks[last])+i].Interrupts
		}
		if nearest >= 0 && nearest < last { // what is told of ids is told of the path, and not of the view
			if (m.LeftOut == runloop.Shown) != (w.LeftOut == runloop.Shown) {
				tb.Fatalf("node %d: message %d is marked %+v, want %+v", last, i, m, w)
			}
			m.LeftOut, m.RepeatedIDs = w.LeftOut, w.RepeatedIDs
		}
		if !reflect.DeepEqual(m, w) {
			tb.Fatalf("node %d: message %d is marked\n%+v, want\n%+v", last, i, m, w)
		}
	}
}

// drawKept draws what a compaction node keeps: any messages that end with no call unanswered.
func drawKept(t *rapid.T) []runloop.Facts {
	kept := make([]runloop.Facts, rapid.IntRange(0, 6).Draw(t, "kept"))
	for i := range kept {
		kept[i] = drawFacts(t)
	}
	if i := rapid.IntRange(0, 4).Draw(t, "open loop"); i > 0 && len(kept) > 0 { // a summary, and a question alone at the end
		kept[0] = runloop.Facts{Role: runloop.User, Length: 50, Summary: true}
		kept = append(kept, runloop.Facts{Role: runloop.User, Length: 9})
	}
	var s runloop.State
	if _, _, err := s.Fold(runloop.Node{Messages: kept}, earlier(nil)); err != nil {
		t.Fatal(err)
	}
	if s.Group.Unanswered() > 0 {
		kept = append(kept, runloop.Facts{Role: runloop.Assistant, Length: 9})
	}
	return kept
}

// drawLoops draws where loops begin in what is kept, and how the last of them stands; or nothing of it.
func drawLoops(t *rapid.T, kept []runloop.Facts) *runloop.Loops {
	if rapid.IntRange(0, 3).Draw(t, "version 1") == 0 {
		return nil
	}
	l := &runloop.Loops{Begins: make([]bool, len(kept))}
	for i, m := range kept {
		if m.Role >= runloop.User && !m.Summary && !m.LeftOutLine && rapid.Bool().Draw(t, "begins") {
			l.Begins[i], l.Phase = true, runloop.Asked
		}
	}
	if l.Phase != runloop.None {
		l.Phase = runloop.Phase(rapid.IntRange(1, 3).Draw(t, "stands"))
	}
	return l
}

// drawChain draws a chain with compaction nodes and calls each after every node.
func drawChain(t *rapid.T, each func(*folded)) *folded {
	c := &folded{covers: map[int]int{}}
	for range rapid.IntRange(1, 14).Draw(t, "nodes") {
		may := c.mayCover()
		if len(may) > 0 && rapid.Bool().Draw(t, "compacts") {
			n := c.next()
			n.Messages = drawKept(t)
			n.Loops = drawLoops(t, n.Messages)
			n.PutAt = drawPutAt(t, len(n.Messages))
			if err := c.compact(rapid.SampledFrom(may).Draw(t, "through"), n); err != nil {
				t.Fatal(err)
			}
		} else {
			var messages []runloop.Facts
			for range rapid.IntRange(0, 4).Draw(t, "messages") {
				messages = append(messages, drawFacts(t))
			}
			if err := c.put(messages, drawOutcome(t)); err != nil {
				t.Fatal(err)
			}
		}
		each(c)
	}
	return c
}

// TestRefoldIsTheModel: behind any compaction nodes, the folds continue as if the messages of each view had been folded
// from nothing. These mutations of the rules were caught by it and by the examples below: the tail's nodes, its stubs, or
// what it leaves out are not counted, in the view or as repairs; what it leaves out is shown; the group is always the
// parent's, always the node's own, the node's own behind a tail of anything but users, or of system messages alone; places
// of the tail lose their index, times their first put; marks tell of ids outside of the node; the preamble is left out,
// or what is shown of its last node counts as tail; repairs, last loop, latest user or full fold are the other fold's;
// PutAt, or Made, is ignored.
func TestRefoldIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawChain(t, func(c *folded) { c.check(t) })
	})
}

// TestRefoldLeavesOthersAlone: neither the states nor the briefs that it is given change, nor those that it gave before.
func TestRefoldLeavesOthersAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var kept []string
		drawChain(t, func(c *folded) {
			for i := range c.nodes {
				now := fmt.Sprintf("%+v %+v %+v", c.nodes[i], c.states[i], c.briefs[i])
				if i == len(kept) {
					kept = append(kept, now)
				} else if kept[i] != now {
					t.Fatalf("node %d was\n%s, is\n%s", i, kept[i], now)
				}
			}
		})
	})
}

// TestRefoldGroupTooLarge: the group of a compaction node's own messages is bounded as any.
func TestRefoldGroupTooLarge(t *testing.T) {
	var calls runloop.Facts
	for range runloop.MaxGroupCalls + 1 {
		calls.Calls = append(calls.Calls, runloop.Call{})
	}
	calls.Role = runloop.Assistant
	c := &folded{covers: map[int]int{}}
	if err := c.put(parse(t, "s u a")); err != nil {
		t.Fatal(err)
	}
	for _, messages := range [][]runloop.Facts{{calls}, append(parse(t, "m u"), calls, parse(t, "u")[0])} {
		n := c.next()
		n.Messages = messages
		if err := c.compact(0, n); !errors.Is(err, runloop.ErrGroupTooLarge) {
			t.Errorf("error is %v, want %v", err, runloop.ErrGroupTooLarge)
		}
	}
}

// TestRefoldRules: what a compaction makes of some chains, by example. Each is a plain chain in nodes, the node covered,
// what is kept, and then the loops, depth, repairs and open calls, and how the last loop stands.
func TestRefoldRules(t *testing.T) {
	for _, r := range []struct {
		chain   []string
		through int
		kept    string
		loops   int64
		depth   int64
		repairs int64
		open    int
		loop    string
	}{
		{[]string{"s u c:1", "r:1 a"}, 1, "u a", 1, 2, 0, 0, "closed"},
		{[]string{"s u c:1", "r:1"}, 1, "m u", 1, 2, 0, 0, "asked"},
		{[]string{"s u c:1", "r:1", "c:2"}, 1, "m u", 1, 3, 0, 1, "open"},
		{[]string{"s u c:1", "r:1", "u a"}, 1, "m u", 1, 4, 0, 0, "closed"}, // joins the question that is kept
		{[]string{"s u c:1", "r:1", "u a"}, 1, "u c:1 r:1", 2, 4, 0, 0, "closed"},
		{[]string{"s u c:1", "u", "r:1 a"}, 1, "u u", 1, 3, 1, 0, "closed"},       // the late result is not in a group
		{[]string{"s u c:1", "u", "c:2", "u"}, 1, "u", 2, 3, 1, 0, "asked"},       // the tail's stub
		{[]string{"s u c:1", "u", "c:2", "u"}, 3, "u c:2 u", 2, 3, 1, 0, "asked"}, // a stub between copies
		{[]string{"r:9 s r:8 u a", "u"}, 0, "m", 1, 2, 2, 0, "asked"},             // orphans in the preamble
		{[]string{"s u c:1", "r:1 a", "s"}, 1, "u c:1 r:1", 1, 2, 0, 0, "open"},   // system messages end groups too
		{[]string{"s u c:1", "r:1", "s", "r:1"}, 1, "u c:1 r:1", 1, 2, 1, 0, "open"},
		{[]string{"s u", "a", "c:1"}, 1, "m", 0, 2, 0, 1, "lead-in"},
		{[]string{"s u", "a"}, 1, "", 0, 0, 0, 0, "none"},
	} {
		c := &folded{covers: map[int]int{}}
		for _, messages := range r.chain {
			if err := c.put(parse(t, messages)); err != nil {
				t.Fatal(err)
			}
		}
		n := c.next()
		n.Messages = parse(t, r.kept)
		if err := c.compact(r.through, n); err != nil {
			t.Fatal(err)
		}
		c.check(t)
		s, _ := c.head()
		got := fmt.Sprint(s.Effective.Loops, s.Effective.Depth, s.Repairs, s.Group.Unanswered(), " ", standing(&s.Effective.Loop))
		if want := fmt.Sprint(r.loops, r.depth, r.repairs, r.open, " ", r.loop); got != want {
			t.Errorf("%q through %d, keeping %q: %s, want %s", r.chain, r.through, r.kept, got, want)
		}
	}
}

func standing(l *runloop.Loop) string {
	switch {
	case l.Phase == runloop.None:
		return "none"
	case l.LeadIn:
		return "lead-in"
	case l.Closed():
		return "closed"
	case l.Phase == runloop.Asked:
		return "asked"
	default:
		return "open"
	}
}

// TestLinesOfCopies: no line replaces what the server made, and a copy's line names the index where it was put first.
func TestLinesOfCopies(t *testing.T) {
	result := runloop.Facts{Role: runloop.Tool, Length: 1000, BareLength: 10, PartsLength: 980, CallID: runloop.Some("1")}
	length := func(made bool, putAt ...uint32) int {
		var s runloop.State
		r := result
		r.Made = made
		n := runloop.Node{Prefix: "0123456789ab", Messages: append(parse(t, "c:1"), r), PutAt: putAt}
		marks, _, err := s.Fold(n, earlier(nil))
		if err != nil {
			t.Fatal(err)
		}
		if marks[1].LeftOut != runloop.Shown {
			t.Fatal("the result is left out")
		}
		return marks[1].LineLength
	}
	own := length(false)
	for _, c := range []struct{ got, want int }{
		{length(true), 0}, {length(true, 0, 5), 0}, {length(false, 100, 1), own}, {length(false, 0, 9), own},
		{length(false, 0, 10), own + 1}, {length(false, 0, 4_294_967_295), own + 9},
	} {
		if c.got != c.want || own == 0 {
			t.Errorf("a line of %d bytes, want %d", c.got, c.want)
		}
	}
}
