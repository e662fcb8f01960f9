package compaction_test

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// put is a message with what stands beside it.
type put struct {
	m    *transcriptv1.Message
	note runloop.Note
	// entry, in what a view shows, is the place of the message among entries, or of the one that a stub stands before.
	entry int
}

// node is what one node of a chain holds.
type node struct {
	times    runloop.Times
	messages []put
	outcome  runloop.Outcome
}

// ending is the outcome of a node, with the calls whose stubs stand at its end.
type ending struct {
	stubs   []runloop.Call
	outcome runloop.Outcome
}

// entry is a message of a view behind the preamble, as a caller of the planner has it.
type entry struct {
	put
	brief runloop.Brief
	facts runloop.Facts
	at    runloop.Place
	times runloop.Times
	// name is the result's own, else that of the call that it answers; from is where it was put.
	name runloop.Optional
	// tool is the name of the call that it answers.
	tool runloop.Optional
	from runloop.Source
	// ends are the outcomes that stand behind it, before the next; loop is the last run loop there.
	ends []ending
	loop runloop.Loop
}

// view is an effective view: of a chain without compaction nodes, or, where a summary is among the messages, behind one.
type view struct {
	preamble []put
	entries  []entry
	state    runloop.State
}

type failer interface{ Fatalf(string, ...any) }

// viewOf folds a chain and keeps what the planner is given. What marks say of loops is spoilt: behind a compaction it is
// that of another view.
func viewOf(t failer, nodes []node) *view {
	v := &view{}
	seen := map[runloop.Optional]bool{}
	var all []entry
	for seq, n := range nodes {
		f := runloop.Node{Seq: uint32(seq), Prefix: fmt.Sprintf("%012x", seq+1), Times: n.times, Outcome: n.outcome}
		for _, p := range n.messages {
			facts := canonical.FactsOf(p.m)
			facts.Note = p.note
			f.Messages = append(f.Messages, facts)
		}
		marks, stubs, err := v.state.Fold(f, func(id runloop.Optional) bool { return seen[id] })
		if err != nil {
			t.Fatalf("%v", err)
		}
		for i, p := range n.messages {
			for _, c := range f.Messages[i].Calls {
				seen[c.ID] = true
			}
			marks[i].BeginsLoop, marks[i].Interrupts, marks[i].LeadIn = i%2 == 0, i%3 == 0, i%5 == 0
			all = append(all, entry{
				put: p, brief: runloop.BriefOf(&f.Messages[i], marks[i]), facts: f.Messages[i], times: n.times,
				at: runloop.Place{Seq: uint32(seq), Index: uint32(i)}, from: runloop.Source{Node: f.Prefix, Index: i},
			})
		}
		if last := len(all) - 1; last >= 0 && n.outcome != runloop.NoOutcome {
			all[last].ends = append(all[last].ends, ending{stubs, n.outcome})
		}
	}
	nameResults(all)
	for _, e := range all {
		switch {
		case !v.state.PreambleClosed || e.at.Before(v.state.PreambleEnd):
			if e.brief.Shown() {
				v.preamble = append(v.preamble, e.put)
			}
		default:
			e.at.Seq = uint32(len(nodes)) - e.at.Seq // behind a compaction the order of places is not that of the view
			v.entries = append(v.entries, e)
		}
	}
	v.followLoops()
	return v
}

// followLoops tells how the last loop stands behind each entry.
func (v *view) followLoops() {
	var l runloop.Loop
	for i := range v.entries {
		e := &v.entries[i]
		for range e.brief.Mark.Stubs {
			l.Stub()
		}
		if e.brief.Shown() {
			l.Next(&e.brief, e.at)
		}
		for _, end := range e.ends {
			for range end.stubs {
				l.Stub()
			}
			l.End(end.outcome)
		}
		e.loop = l
	}
}

// loopBehind is the last run loop behind the first n entries.
func (v *view) loopBehind(n int) runloop.Loop {
	if n == 0 {
		return runloop.Loop{}
	}
	return v.entries[n-1].loop
}

// nameResults finds the tool that each result that is shown answers, and the name that a line gives it.
func nameResults(all []entry) {
	var open []runloop.Call
	results := false
	for i := range all {
		e := &all[i]
		switch {
		case !e.brief.Shown():
		case e.facts.Role == runloop.Tool:
			results = true
			for k, c := range open {
				if c.ID == e.facts.CallID {
					e.tool, e.name = c.Name, c.Name
					open = append(open[:k:k], open[k+1:]...)
					break
				}
			}
			if e.facts.Name.Present {
				e.name = e.facts.Name
			}
		default:
			if results || len(e.facts.Calls) == 0 {
				open, results = nil, false
			}
			open = append(open[:len(open):len(open)], e.facts.Calls...)
		}
		if len(e.ends) > 0 {
			open, results = nil, false
		}
	}
}

// encodedSize is the size of a message as an entry of a payload.
func encodedSize(m *transcriptv1.Message) int64 { return int64(len(canonical.AppendMessage(nil, m))) }

func sizeOf(puts []put) compaction.Size {
	var s compaction.Size
	for _, p := range puts {
		s.Messages++
		s.Bytes += encodedSize(p.m)
		s.Tokens += tokensOf(p.m, p.note)
	}
	return s
}

func tokensOf(m *transcriptv1.Message, n runloop.Note) int64 {
	if n.HasTokens {
		return int64(n.Tokens)
	}
	return (encodedSize(m) + 3) / 4
}

// options are a policy's, with the view's preamble.
func (v *view) options(p compaction.Policy) compaction.Options {
	return compaction.Options{Policy: p, Preamble: sizeOf(v.preamble)}
}

// plan plans the view as it is.
func (v *view) plan(o compaction.Options) *compaction.Plan { return v.planThrough(o, len(v.entries)) }

// planThrough plans the view of an ancestor: of the first n entries.
func (v *view) planThrough(o compaction.Options, n int) *compaction.Plan {
	p := compaction.NewPlanner(o)
	for i := range n {
		v.add(p, i)
	}
	l := v.loopBehind(n)
	return p.Plan(l.Closed())
}

// add adds entry i, and spoils it afterwards: the planner only borrows it.
func (v *view) add(p *compaction.Planner, i int) {
	b := v.entries[i].brief
	b.Mark.Stubs = append([]runloop.Call(nil), b.Mark.Stubs...)
	p.Add(&b, v.entries[i].at, v.entries[i].times)
	for k := range b.Mark.Stubs {
		b.Mark.Stubs[k] = runloop.Call{ID: runloop.Some("spoilt")}
	}
	b = runloop.Brief{Role: 99, Length: -1 << 40}
	for _, end := range v.entries[i].ends {
		p.End(end.stubs, end.outcome)
	}
}

// apply does what a plan says: the messages behind the preamble.
func (v *view) apply(t failer, policy compaction.Policy, plan *compaction.Plan) []put {
	var out []put
	byPlace := map[runloop.Place]int{}
	for i := range v.entries {
		byPlace[v.entries[i].at] = i
	}
	for _, e := range plan.Early {
		out = v.act(t, policy, out, byPlace[e.At], e.Action)
	}
	line := func(i int) {
		if plan.LeftOut > 0 {
			out = append(out, put{m: canonical.LeftOut(plan.LeftOut), entry: i})
		}
	}
	if !plan.HasLoops {
		line(len(v.entries) - 1)
	}
	actions := plan.Actions
	next := func() compaction.Action {
		if len(actions) == 0 {
			t.Fatalf("there are too few actions: %v", plan.Actions)
		}
		a := actions[0]
		actions = actions[1:]
		return a
	}
	stubs := func(i int, calls []runloop.Call) {
		for _, c := range calls {
			switch a := next(); a {
			case compaction.Keep:
				out = append(out, put{m: canonical.Stub(c), entry: i})
			case compaction.Drop:
			default:
				t.Fatalf("a stub's action is %d", a)
			}
		}
	}
	started := false
	for i := range v.entries {
		e := &v.entries[i]
		started = started || plan.HasLoops && e.at == plan.Start
		if !started {
			continue
		}
		if e.at == plan.Start {
			line(i)
		} else {
			stubs(i, e.brief.Mark.Stubs)
		}
		if e.brief.Shown() {
			out = v.act(t, policy, out, i, next())
		}
		for _, end := range e.ends {
			stubs(i, end.stubs)
		}
	}
	if len(actions) > 0 {
		t.Fatalf("%d actions are left", len(actions))
	}
	return out
}

// act does one action on a copy of entry i.
func (v *view) act(t failer, policy compaction.Policy, out []put, i int, a compaction.Action) []put {
	e := &v.entries[i]
	p := put{m: proto.Clone(e.m).(*transcriptv1.Message), note: e.note, entry: i}
	p.note.SentAt, p.note.HasSentAt = e.times.Of(&e.brief), true // as a compaction node keeps it
	switch a {
	case compaction.Drop:
		return out
	case compaction.CutUser:
		cutText(p.m, policy.MaxUserChars)
	case compaction.CutReply:
		cutText(p.m, policy.MaxReplyChars)
	case compaction.Answer:
		p.m = answerOf(t, policy, p.m, &e.brief)
	case compaction.Shorten:
		p.m = shortOf(t, policy, p.m)
	case compaction.Line:
		if e.brief.Mark.LineLength == 0 {
			t.Fatalf("a line that is not shorter")
		}
		compaction.MakeLine(p.m, &e.facts, e.name, e.from)
	}
	return append(out, p)
}

// answerOf is the message with its calls that are part of the answer.
func answerOf(t failer, policy compaction.Policy, m *transcriptv1.Message, b *runloop.Brief) *transcriptv1.Message {
	bytes, ok := policy.AppendAnswer(nil, canonical.AppendMessage(nil, m), b)
	if !ok {
		t.Fatalf("no answer of %v", m)
	}
	out, err := canonical.DecodePayload(bytes)
	if err != nil {
		t.Fatalf("the answer does not parse: %v", err)
	}
	return out[0]
}

// shortOf is the message with its arguments shortened.
func shortOf(t failer, policy compaction.Policy, m *transcriptv1.Message) *transcriptv1.Message {
	bytes, ok := policy.AppendShort(nil, canonical.AppendMessage(nil, m))
	if !ok {
		t.Fatalf("nothing gets shorter of %v", m)
	}
	out, err := canonical.DecodePayload(bytes)
	if err != nil {
		t.Fatalf("what got shorter does not parse: %v", err)
	}
	return out[0]
}

// messagesOf are the messages alone.
func messagesOf(puts []put) []*transcriptv1.Message {
	out := make([]*transcriptv1.Message, len(puts))
	for i := range puts {
		out[i] = puts[i].m
	}
	return out
}

func same(a, b []*transcriptv1.Message) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !proto.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}
