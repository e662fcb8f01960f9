package promises

import (
	"slices"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// compacted is what a compaction writes.
type compacted struct {
	before, after []*message
	shrinks       bool
	// begins are those of after with which a run loop begins; awaits says that the last of these awaits a first answer.
	begins         map[*message]bool
	awaits, closed bool
	report         *transcriptv1.CompactReport
}

// compact makes a compaction of what the effective view of head shows behind the preamble through a node.
func compact(head, through *node, p *policy, summary string, summaryOnly bool) *compacted {
	whole := head.body(through)
	body := whole.shown
	c := &compacted{before: body, begins: map[*message]bool{}, report: &transcriptv1.CompactReport{Policy: p.resolved()}}
	full := head.full()
	fixed := items(full.shown[:full.preamble])
	var given *message
	if summary != "" {
		given = newMessage(&transcriptv1.Message{
			Role: user, Origin: asSummary, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: summary}}},
		}, nil)
		fixed = append(fixed, keep(given))
		c.after = append(c.after, given)
	} else {
		fixed = append(fixed, p.room()...)
	}
	kept := body
	if given != nil {
		kept = slices.DeleteFunc(slices.Clone(body), func(m *message) bool { return m.aside() })
		c.report.SummaryReplaced = slices.ContainsFunc(body, (*message).isSummary)
	}
	early, loops := loopsOf(kept, whole.ended)
	loops = asked(loops)
	n := int64(len(loops))
	if n > 0 && !loops[n-1].closed() {
		n--
	}
	start := max(p.bySize(fixed, kept, whole.ended), p.byLoops(n))
	if summaryOnly {
		start = n
	}
	if len(loops) > 0 && !loops[0].leadIn {
		c.report.RunLoopsDropped = int32(start)
	}
	if given == nil {
		var line *message
		early, line = p.leftOut(early, int64(c.report.RunLoopsDropped))
		early = append(early, one(line)...)
	}
	c.after = append(c.after, early...)
	for i := start; i < int64(len(loops)); i++ {
		kept := c.loop(p, loops, i, n, given != nil)
		if asksAlone := loops[i].leadIn && i >= n && given != nil; !asksAlone && len(kept) > 0 {
			c.begins[kept[0]], c.awaits, c.closed = true, loops[i].awaits, loops[i].closed()
		}
		c.after = append(c.after, kept...)
	}
	c.finish(summaryOnly)
	return c
}

// loop is what a compaction keeps of loop i, if n are closed.
func (c *compacted) loop(p *policy, loops []*loop, i, n int64, summarized bool) (out []*message) {
	l := loops[i]
	switch {
	case i >= n && summarized:
		for _, m := range l.messages {
			if m.Role == user || m.speaksForSystem() {
				out = append(out, m)
			}
		}
		switch {
		case l.leadIn:
		case len(out) == len(l.messages):
			c.report.RunLoopsWhole++
		default:
			c.report.RunLoopsCondensed++
		}
	case i >= n || p.wholeOf(loops, i, n):
		if !l.leadIn {
			c.report.RunLoopsWhole++
		}
		out = taken(p.whole(l))
	default:
		c.report.RunLoopsCondensed++
		out = taken(p.condensed(l, p.recent(loops, i)))
	}
	for _, m := range out {
		if !slices.Contains(l.messages, m) {
			c.report.ShortenedMessages++
		}
	}
	return out
}

func (c *compacted) finish(mayBeEmpty bool) {
	r := c.report
	for _, m := range c.before {
		tokens, estimated := m.tokens()
		r.MessagesBefore, r.BytesBefore, r.TokensBefore = r.MessagesBefore+1, r.BytesBefore+int64(len(m.bytes)), r.TokensBefore+tokens
		r.TokensEstimated = r.TokensEstimated || estimated
	}
	for _, m := range c.after {
		tokens, estimated := m.tokens()
		r.MessagesAfter, r.BytesAfter, r.TokensAfter = r.MessagesAfter+1, r.BytesAfter+int64(len(m.bytes)), r.TokensAfter+tokens
		r.TokensEstimated = r.TokensEstimated || estimated
	}
	c.shrinks = r.BytesAfter < r.BytesBefore && (len(c.after) > 0 || mayBeEmpty)
}

// refusal is the reason for which a compaction through a node is refused, or "". Without a node it finds the last that can
// be covered.
func refusal(head, through *node) (*node, string) {
	full := head.full()
	first := 0 // where nothing follows the preamble there is nothing to shrink, but nothing to refuse either
	if full.preamble < len(full.shown) {
		// The node of the first message behind the preamble. A stub is never that.
		first = full.shown[full.preamble].home.depth
	}
	if c := head.compaction(); c != nil {
		first = c.covers.depth
	}
	if through == nil {
		for n := head; n != nil && n.depth >= first; n = n.parent {
			if len(n.full().open) == 0 {
				return n, ""
			}
		}
		return nil, "OPEN_TOOL_CALLS"
	}
	switch {
	case !through.isAncestorOf(head):
		return nil, "NOT_AN_ANCESTOR"
	case through.depth < first:
		return nil, "ALREADY_COVERED"
	case len(through.full().open) > 0:
		return nil, "OPEN_TOOL_CALLS"
	}
	return through, ""
}
