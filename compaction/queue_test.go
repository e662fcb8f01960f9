package compaction

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// TestQueue compares a queue with a list that forgets nothing.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(-1, 1).Draw(t, "first")
		var q queue[int]
		q.reset(first)
		var all []int
		gone := 0
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				q.push(len(all))
				all = append(all, len(all))
			} else {
				to := rapid.IntRange(0, len(all)).Draw(t, "forget")
				gone = max(gone, to)
				q.forget(first + int64(to))
			}
			if q.end() != first+int64(len(all)) || q.empty() != (gone == len(all)) || q.first != first+int64(gone) {
				t.Fatalf("from %d to %d, want %d left of %d", q.first, q.end(), gone, len(all))
			}
			for i := gone; i < len(all); i++ {
				if n := first + int64(i); *q.at(n) != all[i] || len(q.between(n, q.end())) != len(all)-i {
					t.Fatalf("entry %d is %d", n, *q.at(n))
				}
			}
			if len(q.list) > 2*(len(all)-gone)+1 {
				t.Fatalf("%d entries take the room of %d", len(all)-gone, len(q.list))
			}
		}
	})
}

// TestMemory: what lies before the start is forgotten, whichever bound moves it.
func TestMemory(t *testing.T) {
	for name, o := range map[string]Options{
		"max_run_loops":       {Policy: Policy{MaxRunLoops: 10}},
		"max_bytes":           {Policy: Policy{MaxBytes: 10_000}},
		"max_tokens":          {Policy: Policy{MaxTokens: 2_500, KeepWholeRunLoops: 3}},
		"max_age, max_tokens": {Policy: Policy{MaxAge: 1000, MaxTokens: 2_500}},
		"clear_tool_results":  {Policy: Frugal()},
		"summary_only":        {Policy: Unbounded(), Compact: &Compact{SummaryOnly: true}},
	} {
		p := NewPlanner(o)
		for i := range uint32(20_000) {
			at := runloop.Place{Seq: i}
			p.Add(&runloop.Brief{Role: runloop.User, Length: 100}, at, runloop.Times{})
			p.Add(&runloop.Brief{Role: runloop.Assistant, Calls: 1, Length: 100}, at, runloop.Times{})
			p.Add(&runloop.Brief{Role: runloop.Tool, Length: 1000, Mark: runloop.Mark{LineLength: 50}}, at, runloop.Times{})
			p.Add(&runloop.Brief{Role: runloop.Assistant, Length: 100}, at, runloop.Times{})
		}
		clearing := cap(p.clearing.candidates.list) + cap(p.clearing.results.list)
		if cap(p.items.list) > 2000 || cap(p.spans.list) > 500 || cap(p.window.weights.list) > 500 || clearing > 10 {
			t.Errorf("%s: room for %d items, %d loops, %d weights, %d of clearing", name, cap(p.items.list), cap(p.spans.list),
				cap(p.window.weights.list), clearing)
		}
	}
}

// TestClearingMemory: of a long loop a clearing remembers the results kept, and what can still be cleared.
func TestClearingMemory(t *testing.T) {
	const steps = 20_000
	for _, c := range []struct {
		name       string
		clear      Clear
		length     int // of a result, whose line has 120 bytes
		candidates int // room for them
	}{
		{"nothing is cleared", Clear{}, 1000, 0},
		{"results", Clear{On: true, Keep: 5, CachedPercent: 10}, 1000, 100},
		{"arguments too", Clear{On: true, Keep: 5, CachedPercent: 10, Arguments: true}, 1000, 100},
		{"a line saves enough", Clear{On: true, Keep: 5, CachedPercent: 10}, 320, 200},
		{"a line saves too little", Clear{On: true, Keep: 5, CachedPercent: 10}, 319, 0},
		{"all at once", Clear{On: true, Keep: 5, CachedPercent: 100}, 1000, 20},
		{"cached bytes cost nothing", Clear{On: true, Keep: 5}, 1000, 2 * steps},
	} {
		p := NewPlanner(Options{Policy: Policy{Clear: c.clear}})
		p.Add(&runloop.Brief{Role: runloop.User, Length: 100}, runloop.Place{}, runloop.Times{})
		results, candidates := 0, 0
		for i := range uint32(steps) {
			at := runloop.Place{Seq: i + 1}
			p.Add(&runloop.Brief{Role: runloop.Assistant, Calls: 1, Length: 600, Savings: runloop.Savings{500}}, at, runloop.Times{})
			p.Add(&runloop.Brief{Role: runloop.Tool, Length: c.length, Mark: runloop.Mark{LineLength: 120}}, at, runloop.Times{})
			results, candidates = max(results, cap(p.clearing.results.list)), max(candidates, cap(p.clearing.candidates.list))
		}
		if results > 4*(c.clear.Keep+2) || candidates > c.candidates {
			t.Errorf("%s: room for %d results, %d candidates", c.name, results, candidates)
		}
	}
}
