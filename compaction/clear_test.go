package compaction_test

import (
	"testing"

	"github.com/transcriptd/transcriptd/compaction"
)

// clears is a policy's clear_tool_results.
func clears(keep, cachedPercent int) func(*compaction.Policy) {
	return func(p *compaction.Policy) {
		p.Clear = compaction.Clear{On: true, Keep: keep, CachedPercent: cachedPercent}
	}
}

// shortens is that with arguments.
func shortens(keep, cachedPercent int) func(*compaction.Policy) {
	return func(p *compaction.Policy) {
		clears(keep, cachedPercent)(p)
		p.Clear.Arguments = true
	}
}

// TestClear has a case for each rule of clear_tool_results. A result is put in 300 bytes of text and more, its line has about 100.
func TestClear(t *testing.T) {
	type P = *compaction.Policy
	checkRules(t, []rule{
		// The examples of docs/views.md.
		{"nobody has seen the last", "u c:1 r:1*600 c:2 r:2*600", clears(0, 100), "0 1 2l 3 4"},
		{"keep 1", "u c:1 r:1*600 c:2 r:2*600 c:3 r:3*600", clears(1, 100), "0 1 2l 3 4 5 6"},
		{"the point is still to come", "u c:1 r:1*600 c:2 r:2*600 c:3", clears(1, 100), "0 1 2 3 4 5"},
	}, nil)
}
