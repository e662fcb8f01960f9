package compaction

// window is where the loops shown begin, as far as MaxRunLoops, MaxBytes and MaxTokens tell, with the sizes that the
// limits are held against: those of the conversation so far, whatever is planned.
type window struct {
	// start is the first loop shown; it never moves back.
	start int64
	// fixed is what is always shown but for the last loop; shown is fixed, the loops from start on and the last.
	fixed, shown size

	// Of the last loop: saved is what each result not yet a line would save as one, and results counts all of them;
	// final is what its final reply so far takes when condensed.
	saved   queue[size]
	results int64
	final   size
}

// weigh adds an item to the last loop and holds the limits.
func (p *Planner) weigh(i item, full, short size) {
	w, policy := &p.window, &p.o.Policy
	last := p.spans.at(p.last())
	before := last.whole
	last.whole = last.whole.plus(full)
	switch i.kind() {
	case system, summary:
		last.condensed = last.condensed.plus(full)
	case user:
		last.condensed = last.condensed.plus(short)
	case reply:
		last.condensed = last.condensed.plus(short).minus(w.final)
		w.final = short
	case calls, result:
		if policy.TraceRequests {
			last.condensed = last.condensed.plus(short)
		}
	default:
	}
	if i.kind() == result && policy.KeepToolResults >= 0 {
		w.results++
		w.saved.push(full.minus(short))
	}
	if i.assistant() {
		for lines := policy.lines(w.results); w.saved.first < lines; {
			last.whole = last.whole.minus(*w.saved.at(w.saved.first))
			w.saved.forget(w.saved.first + 1)
		}
	}
	w.shown = w.shown.plus(last.whole).minus(before)
	p.hold()
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
		s := p.spans.at(w.start)
		if w.start < p.last()-int64(p.o.Policy.KeepFullRuns) {
			w.shown = w.shown.minus(s.condensed)
		} else {
			w.shown = w.shown.minus(s.whole)
		}
	}
}

// endWhole, when a loop has begun, condenses the one that KeepFullRuns has reached, and begins to weigh the new one.
func (p *Planner) endWhole() {
	w := &p.window
	w.saved.reset(0)
	w.results, w.final = 0, size{}
	if n := p.last() - 1 - int64(p.o.Policy.KeepFullRuns); n >= w.start && p.o.Policy.NeedsSizes() {
		s := p.spans.at(n)
		w.shown = w.shown.plus(s.condensed).minus(s.whole)
	}
}

// exceeds tells whether what is always shown alone exceeds a limit.
func (p *Planner) exceeds() bool {
	always, policy := p.window.fixed, &p.o.Policy
	if !p.spans.empty() {
		always = always.plus(p.spans.at(p.last()).whole)
	}
	return policy.MaxBytes > 0 && always.bytes > policy.MaxBytes || policy.MaxTokens > 0 && always.tokens > policy.MaxTokens
}
