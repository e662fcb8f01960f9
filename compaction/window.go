package compaction

import "github.com/transcriptd/transcriptd/compaction/runloop"

// window is where the loops shown begin, as far as MaxRunLoops, MaxBytes and MaxTokens tell, with the sizes that the
// limits are held against: those of the conversation so far, whatever is planned.
type window struct {
	// start is the first loop shown; it never moves back.
	start int64
	// fixed is what is always shown but for the last loop, and the largest left-out line that may be due; shown is fixed, the loops from start on and the last.
	fixed, shown size
	// weights are those of the loops, numbered as they are; none where sizes are not needed.
	weights queue[weight]

	// final is what the last loop's final reply so far takes when condensed.
	final size
}

// weight is the sizes of a loop so far when shown whole, condensed with its calls, and condensed without them; counted is the
// one that the window counts.
type weight struct{ whole, traced, condensed, counted size }

// reset begins with the loop of a number, before which there is none.
func (w *window) reset(first int64) {
	w.start = first
	w.weights.reset(first)
}

// weigh adds an item to the last loop, which gets shorter by what was cleared, and holds the limits.
func (p *Planner) weigh(i item, full, short, saved size) {
	w := &p.window
	last := w.weights.at(p.last())
	last.whole = last.whole.plus(full).minus(saved)
	switch i.kind() {
	case system, summary:
		last.condense(full)
	case user:
		last.condense(short)
	case reply:
		last.condense(short.minus(w.final))
		w.final = short
	case calls, result:
		last.traced = last.traced.plus(short)
	case partly:
		last.traced, last.condensed = last.traced.plus(short), last.condensed.plus(full)
	case answered:
		last.condense(short)
	case answer:
		last.traced, last.condensed = last.traced.plus(full), last.condensed.plus(short)
	default:
	}
	p.recount(p.last())
	p.hold()
}

// condense adds to what is shown of a condensed loop, with its calls and without.
func (w *weight) condense(more size) {
	w.traced, w.condensed = w.traced.plus(more), w.condensed.plus(more)
}

// recount lets the window count loop n as it is shown now.
func (p *Planner) recount(n int64) {
	s := p.window.weights.at(n)
	as := s.condensed
	switch {
	case n >= p.last()-int64(p.o.Policy.KeepWholeRunLoops) && n >= p.recent, n == p.last():
		as = s.whole
	case p.o.Policy.TraceRequests && n >= p.recent:
		as = s.traced
	}
	p.window.shown = p.window.shown.plus(as).minus(s.counted)
	s.counted = as
}

// hold moves the start on, if what is shown exceeds a limit, until it is at most half of each limit that it exceeded.
func (p *Planner) hold() {
	w, policy := &p.window, &p.o.Policy
	bytes := policy.MaxBytes > 0 && w.shown.bytes > policy.MaxBytes
	tokens := policy.MaxTokens > 0 && w.shown.tokens > policy.MaxTokens
	if !bytes && !tokens || w.start >= p.last() {
		return
	}
	for w.start < p.last() && (bytes && w.shown.bytes > policy.MaxBytes/2 || tokens && w.shown.tokens > policy.MaxTokens/2) {
		p.moveTo(w.start + 1)
	}
	p.forget()
}

// moveTo moves the start to loop n, unless it is there.
func (p *Planner) moveTo(n int64) {
	w := &p.window
	for ; w.start < n; w.start++ {
		if !p.o.Policy.NeedsSizes() {
			continue
		}
		w.shown = w.shown.minus(w.weights.at(w.start).counted)
	}
}

// weighAnew, when a loop has begun, begins to weigh it, and condenses the loop that KeepWholeRunLoops has reached and those that are too
// old now to be shown richer.
func (p *Planner) weighAnew() {
	w := &p.window
	w.final = size{}
	for p.recent < p.last() && p.tooOld(p.recent) {
		p.recent++
		p.reshape(p.recent - 1)
	}
	p.reshape(p.last() - 1 - int64(p.o.Policy.KeepWholeRunLoops))
}

// tooOld tells whether loop n is more than MaxAge older than the last.
func (p *Planner) tooOld(n int64) bool {
	age := p.o.Policy.MaxAge
	return age > 0 && (n < p.spans.first || p.spans.at(n).time < p.spans.at(p.last()).time-age)
}

// reshape lets the window count loop n otherwise, if it counts it.
func (p *Planner) reshape(n int64) {
	if n >= p.window.start && p.o.Policy.NeedsSizes() {
		p.recount(n)
	}
}

// exceeds tells whether what is always shown alone, with the left-out line of a size, exceeds a limit.
func (p *Planner) exceeds(line size) bool {
	always, policy := p.window.fixed.plus(line), &p.o.Policy
	if p.tellsLeftOut() {
		always = always.minus(leftOutSize(runloop.MaxLeftOut))
	}
	if !p.window.weights.empty() {
		always = always.plus(p.window.weights.at(p.last()).whole)
	}
	return policy.MaxBytes > 0 && always.bytes > policy.MaxBytes || policy.MaxTokens > 0 && always.tokens > policy.MaxTokens
}
