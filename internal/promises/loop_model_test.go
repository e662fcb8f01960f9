package promises

import (
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// loop is a run loop.
type loop struct {
	leadIn   bool
	messages []*message
	// awaits says that nobody has answered, and no outcome ended it.
	awaits bool
	// ended is the outcome that ended it, unless more came; replied says of a copied one that it was closed when it was copied.
	ended   transcriptv1.RunOutcome
	replied bool
	// cut says that a call has neither a result nor an outcome behind it.
	cut bool
}

// loopsOf finds the run loops of repaired messages, and what comes before any. Those of copies are as they were where they were put.
func loopsOf(messages []*message, ended map[*message]transcriptv1.RunOutcome) (early []*message, loops []*loop) {
	asked := false
	for _, m := range messages {
		switch {
		case m.copied():
			if m.begins {
				loops = append(loops, &loop{leadIn: m.Role != user})
			}
			asked = len(loops) > 0 && m.home.awaits // a view may show copies of before the loops, and none of these
		case m.speaksForSystem() || m.aside():
		case m.Role == user:
			if !asked {
				loops = append(loops, &loop{})
			}
			asked = true
		default:
			if len(loops) == 0 {
				loops = append(loops, &loop{leadIn: true})
			}
			asked = false
		}
		if len(loops) == 0 {
			early = append(early, m)
			continue
		}
		last := loops[len(loops)-1]
		last.messages, last.awaits = append(last.messages, m), asked
		if m.Origin == asStub && m.home == nil {
			last.cut = true
		}
		switch {
		case m.copied():
			last.replied = m.home.closed
		case m.Role == assistant || m.Role == tool:
			last.ended, last.replied = 0, false
		}
		if o := ended[m]; o != 0 {
			if last.cut = false; !last.leadIn {
				last.ended, asked, last.awaits = o, false, false
			}
		}
	}
	return early, loops
}

// final is the index of the final reply, or -1.
func (l *loop) final() int {
	for i := len(l.messages) - 1; i >= 0; i-- {
		if l.messages[i].isReply() {
			return i
		}
	}
	return -1
}

// closed tells whether the loop is closed though it is the last.
func (l *loop) closed() bool {
	if l.ended != 0 || l.replied {
		return true
	}
	for i := len(l.messages) - 1; i >= 0 && !l.leadIn; i-- {
		if m := l.messages[i]; !m.speaksForSystem() && !m.aside() {
			return i == l.final()
		}
	}
	return false
}

// interrupted tells whether the loop, no longer open, was interrupted.
func (l *loop) interrupted() bool {
	return l.cut || l.final() < 0 && l.ended == 0
}

// findingsBehind are the findings of a chain without compactions at the messages of nodes behind a depth, as a report lists
// them.
func (c *chain) findingsBehind(depth int) (out []*transcriptv1.Finding) {
	of := map[*message][]finding{}
	for _, f := range c.findings {
		of[f.at] = append(of[f.at], f)
	}
	_, loops := loopsOf(c.shown, c.ended)
	for i, l := range loops {
		first := l.messages[0]
		if i > 0 && loops[i-1].interrupted() {
			of[first] = append(of[first], finding{first, transcriptv1.FindingKind_FINDING_KIND_INTERRUPTED_LOOP, 1})
		}
		if l.leadIn {
			of[first] = append(of[first], finding{first, transcriptv1.FindingKind_FINDING_KIND_LEAD_IN, 1})
		}
	}
	for _, m := range c.all {
		for _, f := range of[m] {
			if m.home.depth > depth {
				out = append(out, &transcriptv1.Finding{Kind: f.kind, NodeId: m.home.id, MessageIndex: int32(m.index), Count: int32(f.count)})
			}
		}
	}
	return out
}

// repairs is what repair does to the effective view at nodes behind a depth: messages left out, and stubs.
func (n *node) repairs(depth int) (out int64) {
	body, full, c := n.body(n), n.full(), n.compaction()
	for m := range body.out {
		if m.home.depth > depth {
			out++
		}
	}
	for _, f := range body.findings {
		if f.kind == transcriptv1.FindingKind_FINDING_KIND_UNANSWERED_CALL && f.at.home.depth > depth {
			out += int64(f.count)
		}
	}
	for end, stubs := range body.stubs {
		if end.depth > depth {
			out += int64(stubs)
		}
	}
	if c == nil {
		return out
	}
	end := full.shown[full.preamble]
	for m := range full.out { // those in the preamble's nodes, of which more than the preamble is not shown
		if m.home.depth > depth && (m.home.depth < end.home.depth || m.home == end.home && m.index < end.index) {
			out++
		}
	}
	return out
}
