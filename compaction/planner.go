package compaction

import (
	"slices"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Planner plans a view, or what a compaction keeps, over the messages of the effective view behind the preamble. It
// remembers a byte for each message from the start of the window on, and a little for each loop. One goroutine at a time.
type Planner struct {
	o Options
	// latest is the latest time of a user message so far, if heard.
	latest int64
	heard  bool
	// recent is the first loop that is not older than MaxAge allows to be shown richer than condensed. It never moves back.
	recent int64

	early []Planned
	// older are the left-out lines so far, passed the loops that Skip passed over.
	older  older
	passed int64

	// begun says that a loop began; loop is the last, and closed says whether it is.
	begun  bool
	closed bool
	loop   runloop.Loop
	// answers follows the calls that are part of the answer.
	answers answers
	// spans are the loops that may be shown, numbered from 0, the lead-in -1; items, what they consist of.
	spans  queue[span]
	items  queue[item]
	window window
	// clearing is that of the last loop, lastBytes what it takes when shown whole.
	clearing  clearing
	lastBytes int64
}

// span is a loop that may be shown.
type span struct {
	// at is the place of its first message, item the number of its first item.
	at   runloop.Place
	item int64
	// time is the latest time of a user message through its first message.
	time int64
}

// NewPlanner begins a plan.
func NewPlanner(o Options) *Planner {
	p := &Planner{o: o}
	p.window.fixed = size{o.Preamble.Bytes, o.Preamble.Tokens}
	if p.replacesSummary() {
		p.window.fixed = p.window.fixed.plus(size{o.Compact.Summary.Bytes, o.Compact.Summary.Tokens})
	}
	if p.tellsLeftOut() {
		p.window.fixed = p.window.fixed.plus(leftOutSize(runloop.MaxLeftOut))
	}
	p.window.shown = p.window.fixed
	return p
}

func (p *Planner) replacesSummary() bool { return p.o.Compact != nil && p.o.Compact.Summary != nil }

// Add adds the next message of the effective view behind the preamble, in order, also one that is not shown; stubs
// due before it come with it. at is its place, times are its node's. m stays the caller's. The work is constant for each
// message, taken over all of them.
func (p *Planner) Add(m *runloop.Brief, at runloop.Place, times runloop.Times) {
	for _, c := range m.Mark.Stubs {
		p.stub(c)
	}
	if !m.Shown() {
		return
	}
	p.tell(m)
	p.hear(m, times)
	if begins, _ := p.loop.Next(m, at); begins {
		p.begin(at)
	}
	p.add(m, at)
}

// AddCopy is Add for a message of a compaction node whose header tells where run loops begin; Stand says how the last of them
// stands.
func (p *Planner) AddCopy(m *runloop.Brief, at runloop.Place, times runloop.Times) {
	for _, c := range m.Mark.Stubs {
		p.stub(c)
	}
	if !m.Shown() {
		return
	}
	p.tell(m)
	p.hear(m, times)
	if m.Mark.BeginsLoop {
		p.loop = runloop.Loop{Phase: runloop.Asked, LeadIn: m.Mark.LeadIn, Start: at}
		p.begin(at)
	}
	p.add(m, at)
}

// Stand says how the last run loop of copies stands behind them.
func (p *Planner) Stand(phase runloop.Phase) {
	if p.loop.Phase != runloop.None {
		p.loop.Phase = phase
	}
}

// End says that an outcome stands behind what was added, with stubs for calls of the group that it ends.
func (p *Planner) End(stubs []runloop.Call, outcome runloop.Outcome) {
	for _, c := range stubs {
		p.stub(c)
	}
	p.answers.end()
	p.loop.End(outcome)
}

// add adds a message that is shown, after the loop that it begins.
func (p *Planner) add(m *runloop.Brief, at runloop.Place) {
	of := p.answers.next(&p.o.Policy, m)
	if !p.begun {
		p.addEarly(m, at)
		return
	}
	if p.spans.empty() {
		return // behind Skip, before the loop that was to come
	}
	i := p.o.Policy.itemOf(m, of)
	full := p.fullSize(i, m)
	p.take(i, full, p.o.Policy.shortSize(i, m, full), m.Calls)
}

// take takes an item into the last loop: a message with so many calls, or a stub.
func (p *Planner) take(i item, full, short size, calls int) {
	p.items.push(i)
	saved := p.clear(i, full, short, calls)
	p.lastBytes += full.bytes - saved.bytes
	if p.o.Policy.NeedsSizes() {
		p.weigh(i, full, short, saved)
	}
}

// hear lets a message act on the latest time of a user.
func (p *Planner) hear(m *runloop.Brief, times runloop.Times) {
	if m.Role != runloop.User || m.Aside() {
		return
	}
	if at := times.Of(m); !p.heard || at > p.latest {
		p.latest, p.heard = at, true
	}
}

// stub adds a stub to the last loop.
func (p *Planner) stub(c runloop.Call) {
	of := p.answers.stub()
	if p.spans.empty() {
		return
	}
	p.loop.Stub()
	i := result
	if of == all {
		i = answered
	}
	p.take(i, stubSize(c), stubSize(c), 0)
}

func (p *Planner) addEarly(m *runloop.Brief, at runloop.Place) {
	action := Keep
	if m.Summary && p.replacesSummary() || m.LeftOutLine {
		action = Drop // a line that is to stay is kept by Plan
	}
	p.early = append(p.early, Planned{At: at, Action: action})
	full := p.fullSize(p.o.Policy.itemOf(m, none), m)
	p.window.fixed = p.window.fixed.plus(full)
	p.window.shown = p.window.shown.plus(full)
}

// fullSize is that of the message shown as it is; 0 for a summary that another one replaces, and for a left-out line, which is
// counted from the beginning.
func (p *Planner) fullSize(i item, m *runloop.Brief) size {
	if i.kind() == summary && p.replacesSummary() || i.kind() == leftOut {
		return size{}
	}
	return fullSize(m)
}

// last is the number of the last loop.
func (p *Planner) last() int64 { return p.spans.end() - 1 }

// begin begins a loop. The lead-in goes once another begins.
func (p *Planner) begin(at runloop.Place) {
	p.begun = true
	if p.loop.LeadIn {
		p.spans.reset(-1)
		p.window.reset(-1)
	}
	p.spans.push(span{at: at, item: p.items.end(), time: p.latest})
	p.clearing.begin()
	p.lastBytes = 0
	if p.o.Policy.NeedsSizes() {
		p.window.weights.push(weight{})
	}
	if p.loop.LeadIn {
		return
	}
	p.weighAnew()
	p.moveTo(p.o.Policy.FirstLoop(p.last()))
	p.forget()
}

// forget forgets what lies before the loops that can still be shown.
func (p *Planner) forget() {
	from := p.window.start
	if p.o.Compact != nil && p.o.Compact.SummaryOnly {
		from = p.last()
	}
	p.items.forget(p.spans.at(from).item)
	if p.o.Policy.NeedsSizes() {
		from = p.window.start // loops that are not kept go on counting for the limits
		p.window.weights.forget(from)
	}
	p.spans.forget(from)
}

// Begun tells whether a loop or the lead-in has begun.
func (p *Planner) Begun() bool { return p.begun }

// Skip says that the caller passed over so many loops: the next message added is the first of the first loop shown, and stubs due
// before it are not shown. MaxRunLoops is applied already. latest is the
// latest time of a user message before the next one, if there was one (heard). Not where Policy.NeedsSizes.
func (p *Planner) Skip(loops, latest int64, heard bool) {
	p.passed = loops
	p.o.Policy.MaxRunLoops = 0
	p.latest, p.heard, p.recent = latest, heard, 0
	p.begun, p.loop = true, runloop.Loop{}
	p.spans.reset(0)
	p.items.reset(0)
	p.window.reset(0)
}

// Plan is what becomes of the messages added so far. closed says whether the last run loop is closed, as the full view tells: not
// all of it may have been added. A lead-in is not, though it may go on from a loop of which nothing was kept.
func (p *Planner) Plan(closed bool) *Plan {
	p.closed = closed && !p.loop.LeadIn
	out := &Plan{Early: append([]Planned(nil), p.early...)}
	p.planLoops(out)
	p.planLine(out)
	return out
}

// planLoops plans the loops.
func (p *Planner) planLoops(out *Plan) {
	out.Dropped = p.passed
	if p.spans.empty() {
		return
	}
	last, n := p.last(), p.settled()
	start := last
	if last >= 0 {
		start = p.start(n)
		out.Dropped += start
	}
	if start > last {
		return
	}
	out.HasLoops, out.Start, out.Phase = true, p.spans.at(start).at, p.loop.Phase
	out.Actions = make([]Action, 0, p.items.end()-p.spans.at(start).item)
	if p.o.Compact != nil {
		out.Starts = make([]runloop.Place, 0, last-start+1)
	}
	for i := start; i <= last; i++ {
		p.show(out, i, n)
	}
}

// settled is the number of loops that the policy counts: those before the last, in a compaction those that are closed.
func (p *Planner) settled() int64 {
	n := max(p.last(), 0)
	if p.o.Compact != nil && p.closed {
		n++
	}
	return n
}

// start is the first loop shown, if n count.
func (p *Planner) start(n int64) int64 {
	if p.o.Compact != nil && p.o.Compact.SummaryOnly {
		return n
	}
	return max(p.window.start, p.o.Policy.FirstLoop(n))
}

// show plans loop i, if n count.
func (p *Planner) show(out *Plan, i, n int64) {
	end := p.items.end()
	if i < p.last() {
		end = p.spans.at(i + 1).item
	}
	from := len(out.Actions)
	loop := p.items.between(p.spans.at(i).item, end)
	settled, shown := i >= 0 && i < n, &out.Whole
	switch {
	case !settled && p.replacesSummary():
		out.Actions = asked(out.Actions, loop)
		if slices.ContainsFunc(loop, func(i item) bool { return !isAsked(i) && !i.aside() }) {
			shown = &out.Condensed
		}
	case settled && (i < n-int64(p.o.Policy.KeepWholeRunLoops) || i < p.recent), !settled && p.o.CondenseLast && p.closed:
		out.Actions = p.o.Policy.condensed(out.Actions, loop, p.o.Policy.TraceRequests && i >= p.recent)
		shown = &out.Condensed
	default:
		out.Actions = whole(out.Actions, loop)
		if i == p.last() {
			out.LastBytes = p.lastBytes
		}
	}
	if p.o.Compact != nil {
		out.Starts = append(out.Starts, p.spans.at(i).at)
	}
	if out.LeadIn = i < 0; !out.LeadIn {
		*shown++
	}
	if p.replacesSummary() {
		dropSummaries(out.Actions[from:], loop)
	}
}

func dropSummaries(actions []Action, loop []item) {
	for n, i := range loop {
		if i.kind() == summary {
			actions[n] = Drop
		}
	}
}
