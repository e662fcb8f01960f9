package compaction

import "github.com/transcriptd/transcriptd/compaction/runloop"

// clearing follows the last run loop, shown whole, and decides at its points which results become lines, and which calls are shortened. A
// point lies behind a result or stub after which no call of its group is open: nothing that follows changes what is decided there. The
// rule has a point behind each user message too, where nothing can go: in a loop users stand before all calls and results.
type clearing struct {
	// open is how many calls of the group have no result yet.
	open int
	// total is the bytes of the loop as put; changes before the first candidate are of no interest.
	total int64
	// candidates are the messages that can be shorter and are not yet; saves is what all so far save, the forgotten ones too.
	candidates queue[candidate]
	saves      size
	// results tell of each result, from the oldest one kept on, how many candidates come before it; seen is how many results stand
	// before the last assistant message, and spoken how many candidates do.
	results      queue[int64]
	seen, spoken int64
	// debt is what not clearing has cost so far, times 100.
	debt int64
}

// candidate is a message that can be shorter.
type candidate struct {
	// item is its number, before the bytes of the loop before it, saved what the candidates before it save.
	item, before int64
	saved        size
}

// begin begins with a loop.
func (c *clearing) begin() {
	candidates, results := c.candidates, c.results // whose memory serves again
	candidates.reset(0)
	results.reset(0)
	*c = clearing{candidates: candidates, results: results}
}

// clear lets the clearing act on the last item, a message with so many calls or a stub, and returns what becomes shorter by it.
func (p *Planner) clear(i item, full, short size, calls int) (saved size) {
	c, rule := &p.clearing, &p.o.Policy.Clear
	if !rule.On {
		return size{}
	}
	c.open += calls
	switch {
	case i.assistant():
		c.seen, c.spoken = c.results.end(), c.candidates.end()
	case i.kind() == result && rule.Keep > 0:
		c.results.push(c.candidates.end())
	}
	saves := full.minus(short)
	if i.kind() == result && i.shorter() && saves.bytes >= runloop.MinSaving || rule.Arguments && i.hasCalls() && i.shorter() {
		c.candidates.push(candidate{p.items.end() - 1, c.total, c.saves})
		c.saves = c.saves.plus(saves)
	}
	c.total += full.bytes
	if !i.isResult() {
		return size{}
	}
	if c.open = max(0, c.open-1); c.open > 0 {
		return size{}
	}
	return p.decide()
}

// decide clears at a point, if it pays there.
func (p *Planner) decide() (saved size) {
	c, rule := &p.clearing, &p.o.Policy.Clear
	first, through := c.candidates.first, c.goes(int64(rule.Keep))
	if through <= first {
		return size{}
	}
	saved = c.savedBefore(through).minus(c.savedBefore(first))
	suffix := c.total - c.candidates.at(first).before - saved.bytes
	c.debt += int64(rule.CachedPercent) * saved.bytes
	if c.debt < int64(100-rule.CachedPercent)*suffix {
		return size{}
	}
	for n := first; n < through; n++ {
		*p.items.at(c.candidates.at(n).item) |= cleared
	}
	c.candidates.forget(through)
	c.debt = 0
	return saved
}

// savedBefore is what the candidates before one of a number save.
func (c *clearing) savedBefore(n int64) size {
	if n == c.candidates.end() {
		return c.saves
	}
	return c.candidates.at(n).saved
}

// goes is the number of the first candidate that stays: what comes before the oldest result kept goes.
func (c *clearing) goes(keep int64) int64 {
	switch {
	case keep == 0:
		return c.spoken
	case c.seen == 0:
		return 0
	}
	oldest := max(0, c.seen-keep)
	c.results.forget(oldest)
	return *c.results.at(oldest)
}
