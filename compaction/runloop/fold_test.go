package runloop_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	"pgregory.net/rapid"
)

// earlier looks for a call in the nodes before the one being folded.
func earlier(nodes []runloop.Node) runloop.Earlier {
	return func(id runloop.Optional) bool {
		for _, n := range nodes {
			for _, f := range n.Messages {
				if slices.ContainsFunc(f.Calls, func(c runloop.Call) bool { return c.ID == id }) {
					return true
				}
			}
		}
		return false
	}
}

// foldAll folds a chain node by node.
func foldAll(tb fataler, nodes []runloop.Node) (runloop.State, []runloop.Mark) {
	s, marks, _ := foldEnds(tb, nodes)
	return s, marks
}

// foldEnds also returns the stubs at the end of each node.
func foldEnds(tb fataler, nodes []runloop.Node) (runloop.State, []runloop.Mark, [][]runloop.Call) {
	var s runloop.State
	var marks []runloop.Mark
	var ends [][]runloop.Call
	for i, n := range nodes {
		m, stubs, err := s.Fold(n, earlier(nodes[:i]))
		if err != nil {
			tb.Fatalf("node %d: %v", i, err)
		}
		marks, ends = append(marks, m...), append(ends, stubs)
	}
	return s, marks, ends
}

// timesOf are the times of node n: of every third its messages count as they were sent.
func timesOf(n int) runloop.Times {
	return runloop.Times{FirstPut: 1000 + int64(n), AsSent: n%3 == 2}
}

type fataler interface {
	Fatalf(format string, args ...any)
}

// nodesOf puts messages into nodes, of which the k-th ends before message ends[k].
func nodesOf(messages []runloop.Facts, ends ...int) []runloop.Node {
	var nodes []runloop.Node
	from := 0
	for _, end := range append(ends, len(messages)) {
		n := runloop.Node{
			Seq: uint32(len(nodes)), Prefix: fmt.Sprintf("%012x", len(nodes)), Times: timesOf(len(nodes)),
			Messages: messages[from:end],
		}
		nodes, from = append(nodes, n), end
	}
	return nodes
}

func drawOptional(t *rapid.T, label string) runloop.Optional {
	return rapid.SampledFrom([]runloop.Optional{
		{}, runloop.Some(""), runloop.Some("1"), runloop.Some("2"), runloop.Some("1"), runloop.Some("long enough to count"),
	}).Draw(t, label)
}

func drawFacts(t *rapid.T) runloop.Facts {
	f := runloop.Facts{
		Role: rapid.SampledFrom([]runloop.Role{
			runloop.System, runloop.Developer, runloop.User, runloop.User, runloop.Assistant, runloop.Assistant,
			runloop.Assistant, runloop.Tool, runloop.Tool, runloop.Tool, runloop.Tool,
		}).Draw(t, "role"),
		Length:      rapid.SampledFrom([]int{2, 3, 4, 5, 90, 125, 127, 128, 130, 300, 20_000}).Draw(t, "length"),
		BareLength:  rapid.SampledFrom([]int{2, 8, 40, 90, 150}).Draw(t, "bare"),
		PartsLength: rapid.SampledFrom([]int{0, 9, 10, 99, 100, 12_345}).Draw(t, "parts"),
		Empty:       rapid.Bool().Draw(t, "empty"),
		Partial:     rapid.IntRange(0, 5).Draw(t, "partial") == 0,
		Name:        drawOptional(t, "name"),
	}
	f.Opaque = f.Role != runloop.Tool && rapid.IntRange(0, 7).Draw(t, "opaque") == 7
	switch f.Role {
	case runloop.Assistant:
		if f.Opaque {
			break
		}
		for range rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3}).Draw(t, "calls") {
			f.Calls = append(f.Calls, runloop.Call{ID: drawOptional(t, "id"), Name: drawOptional(t, "called")})
		}
	case runloop.Tool:
		f.CallID, f.Error = drawOptional(t, "call id"), rapid.Bool().Draw(t, "error")
		f.Made = rapid.IntRange(0, 4).Draw(t, "made") == 4
	case runloop.User:
		f.Summary = !f.Opaque && rapid.IntRange(0, 9).Draw(t, "summary") == 0
		f.LeftOutLine = !f.Opaque && !f.Summary && rapid.IntRange(0, 9).Draw(t, "left-out line") == 0
	}
	if rapid.IntRange(0, 3).Draw(t, "sent") == 0 {
		f.Note.HasSentAt, f.Note.SentAt = true, rapid.SampledFrom([]int64{-1, 0, 999, 1002, 5000}).Draw(t, "at")
	}
	if rapid.IntRange(0, 3).Draw(t, "counted") == 0 {
		f.Note.HasTokens, f.Note.Tokens = true, rapid.Uint32().Draw(t, "tokens")
		f.Note.Estimated = rapid.Bool().Draw(t, "estimated")
	}
	return f
}

func drawMessages(t *rapid.T) []runloop.Facts {
	messages := make([]runloop.Facts, rapid.IntRange(0, 24).Draw(t, "messages"))
	for i := range messages {
		messages[i] = drawFacts(t)
	}
	return messages
}

// drawPutAt is nil, or an index for each of n messages.
func drawPutAt(t *rapid.T, n int) []uint32 {
	if rapid.IntRange(0, 2).Draw(t, "put elsewhere") < 2 {
		return nil
	}
	at := make([]uint32, n)
	for i := range at {
		at[i] = rapid.SampledFrom([]uint32{0, 9, 10, 1000}).Draw(t, "put at")
	}
	return at
}

// drawOutcome is none, mostly.
func drawOutcome(t *rapid.T) runloop.Outcome {
	return runloop.Outcome(max(0, rapid.IntRange(-6, 4).Draw(t, "outcome")))
}

func drawEnds(t *rapid.T, n int) []int {
	ends := make([]int, rapid.IntRange(0, 6).Draw(t, "nodes"))
	for i := range ends {
		ends[i] = rapid.IntRange(0, n).Draw(t, "end")
	}
	slices.Sort(ends)
	return ends
}

// TestFoldIsTheModel: folding gives what the rules say of the whole chain, for any chain in any nodes.
func TestFoldIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := drawMessages(t)
		nodes := nodesOf(messages, drawEnds(t, len(messages))...)
		for i := range nodes {
			nodes[i].PutAt = drawPutAt(t, len(nodes[i].Messages))
			nodes[i].Outcome = drawOutcome(t)
		}
		state, marks, ends := foldEnds(t, nodes)
		want := newModel(nodes)
		if !reflect.DeepEqual(ends, want.stubs) {
			t.Fatalf("at the ends of nodes stand %v, want %v", ends, want.stubs)
		}
		for i := range marks {
			if !reflect.DeepEqual(marks[i], want.marks[i]) {
				t.Fatalf("message %d is marked\n%+v, want\n%+v", i, marks[i], want.marks[i])
			}
		}
		if !reflect.DeepEqual(normal(state), normal(want.state)) {
			t.Fatalf("the state is\n%+v, want\n%+v", state, want.state)
		}
	})
}

// normal is a state whose empty slices are nil.
func normal(s runloop.State) runloop.State {
	if len(s.Group.Calls) == 0 {
		s.Group.Calls, s.Group.Answered = nil, nil
	}
	return s
}

// TestFoldContinues: a chain cut into nodes in any way folds to the same, but for the places and what shows them.
func TestFoldContinues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := drawMessages(t)
		whole := nodesOf(messages)
		cut := nodesOf(messages, drawEnds(t, len(messages))...)
		for i := range cut {
			cut[i].Times = whole[0].Times
		}
		want, wantMarks := foldAll(t, whole)
		got, gotMarks := foldAll(t, cut)
		if got.Full.Nodes != int64(len(cut)) || got.Effective.Nodes != int64(len(cut)) {
			t.Fatalf("%+v of %d nodes", got, len(cut))
		}
		flat := map[runloop.Place]runloop.Place{}
		for _, n := range cut {
			for k := range n.Messages {
				flat[runloop.Place{Seq: n.Seq, Index: uint32(k)}] = runloop.Place{Index: uint32(len(flat))}
			}
		}
		got.Full.Nodes, got.Effective.Nodes = 1, 1
		for _, p := range []*runloop.Place{&got.Full.Loop.Start, &got.Effective.Loop.Start, &got.PreambleEnd} {
			*p = flat[*p]
		}
		if !reflect.DeepEqual(normal(got), normal(want)) {
			t.Fatalf("the state is\n%+v, want\n%+v", got, want)
		}
		for i := range gotMarks {
			gotMarks[i].LineLength, wantMarks[i].LineLength = 0, 0 // they hold an index
			if !reflect.DeepEqual(gotMarks[i], wantMarks[i]) {
				t.Fatalf("message %d is marked\n%+v, want\n%+v", i, gotMarks[i], wantMarks[i])
			}
		}
	})
}

// TestFoldLeavesCopiesAlone: folding on from a copy changes neither the state it was copied from nor other copies.
func TestFoldLeavesCopiesAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type held struct {
			state runloop.State
			text  string
		}
		states := []held{{}}
		states[0].text = fmt.Sprintf("%+v", states[0].state)
		for range rapid.IntRange(1, 12).Draw(t, "folds") {
			s := rapid.SampledFrom(states).Draw(t, "from").state
			var messages []runloop.Facts
			for range rapid.IntRange(0, 4).Draw(t, "messages") {
				messages = append(messages, drawFacts(t))
			}
			before := fmt.Sprintf("%+v", messages)
			marks, _, err := s.Fold(runloop.Node{Prefix: "000000000000", Messages: messages}, func(runloop.Optional) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, held{s, fmt.Sprintf("%+v", s)})
			if fmt.Sprintf("%+v", messages) != before {
				t.Fatal("the facts were changed")
			}
			for i := range messages { // facts are borrowed, marks are the caller's
				for k := range messages[i].Calls {
					messages[i].Calls[k] = runloop.Call{ID: runloop.Some("spoilt")}
				}
				marks[i] = runloop.Mark{}
			}
			for i, h := range states {
				if got := fmt.Sprintf("%+v", h.state); got != h.text {
					t.Fatalf("state %d was\n%s, is\n%s", i, h.text, got)
				}
			}
		}
	})
}

// TestFoldLeavesSiblingsAlone: two ways on from one state, whatever room its slices have behind their ends.
func TestFoldLeavesSiblingsAlone(t *testing.T) {
	on := func(s runloop.State, call string) runloop.State {
		f := runloop.Facts{Role: runloop.Assistant, Calls: []runloop.Call{{ID: runloop.Some(call)}}}
		if _, _, err := s.Fold(runloop.Node{Messages: []runloop.Facts{f}}, earlier(nil)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	var s runloop.State
	for n := range 40 {
		left := on(s, "left")
		answer := runloop.Facts{Role: runloop.Tool, CallID: runloop.Some("left")}
		if _, _, err := left.Fold(runloop.Node{Messages: []runloop.Facts{answer}}, earlier(nil)); err != nil {
			t.Fatal(err)
		}
		right := on(s, "right")
		if left.Group.Calls[n].ID.Value != "left" || !left.Group.Answered[n] || right.Group.Answered[n] {
			t.Fatalf("behind %d calls: %+v and %+v", n, left.Group, right.Group)
		}
		s = on(s, "both")
	}
}

// TestFoldAsksSparingly: earlier is asked only about present ids and about results that answer nothing in their group.
func TestFoldAsksSparingly(t *testing.T) {
	var s runloop.State
	messages := parse(t, "u c:-,1 r:1 r:- u c:2 r:2 a")
	asked := map[runloop.Optional]bool{}
	if _, _, err := s.Fold(runloop.Node{Messages: messages}, func(id runloop.Optional) bool {
		asked[id] = true
		return false
	}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(asked, map[runloop.Optional]bool{runloop.Some("1"): true, runloop.Some("2"): true}) {
		t.Errorf("asked about %v", asked)
	}
}

func TestGroupTooLarge(t *testing.T) {
	calls := func(n, size int) runloop.Facts {
		f := runloop.Facts{Role: runloop.Assistant}
		for i := range n {
			f.Calls = append(f.Calls, runloop.Call{
				ID: runloop.Some(fmt.Sprintf("%0*d", size/2, i)), Name: runloop.Some(strings.Repeat("n", size-size/2)),
			})
		}
		return f
	}
	most, mostBytes := calls(runloop.MaxGroupCalls, 20), calls(64, runloop.MaxGroupBytes/64)
	user, result := runloop.Facts{Role: runloop.User}, runloop.Facts{Role: runloop.Tool, CallID: most.Calls[0].ID}
	for name, c := range map[string]struct {
		nodes [][]runloop.Facts
		fails bool // the last node
	}{
		"as many calls as may be":        {[][]runloop.Facts{{most}}, false},
		"one call more":                  {[][]runloop.Facts{{most}, {calls(1, 2)}}, true},
		"one call more, in the node":     {[][]runloop.Facts{{user}, {most, calls(1, 2)}}, true},
		"behind a result that is none":   {[][]runloop.Facts{{most}, {{Role: runloop.Tool}, calls(1, 2)}}, true},
		"in another group":               {[][]runloop.Facts{{most}, {user, most}}, false},
		"in another group by a result":   {[][]runloop.Facts{{most}, {result, most}}, false},
		"as many bytes as may be":        {[][]runloop.Facts{{mostBytes}}, false},
		"one byte more":                  {[][]runloop.Facts{{mostBytes}, {{Role: runloop.Assistant, Calls: []runloop.Call{{ID: runloop.Some("x")}}}}}, true},
		"an empty call more":             {[][]runloop.Facts{{mostBytes}, {{Role: runloop.Assistant, Calls: []runloop.Call{{}}}}}, false},
		"too large and ended by its end": {[][]runloop.Facts{{most, calls(1, 2), user}}, true},
	} {
		var s runloop.State
		for i, messages := range c.nodes {
			before := fmt.Sprintf("%+v", s)
			marks, _, err := s.Fold(runloop.Node{Seq: uint32(i), Messages: messages}, func(runloop.Optional) bool { return false })
			if c.fails && i == len(c.nodes)-1 {
				if !errors.Is(err, runloop.ErrGroupTooLarge) || marks != nil || fmt.Sprintf("%+v", s) != before {
					t.Errorf("%s: error is %v, or something was changed", name, err)
				}
			} else if err != nil {
				t.Errorf("%s: error is %v at node %d", name, err, i)
			}
		}
	}
}
