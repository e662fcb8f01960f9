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
		"max_run_loops":       {Policy: Policy{MaxRunLoops: 10, KeepToolResults: AllResults}},
		"max_bytes":           {Policy: Policy{MaxBytes: 10_000}},
		"max_tokens":          {Policy: Policy{MaxTokens: 2_500, KeepFullRuns: 3}},
		"max_age, max_tokens": {Policy: Policy{MaxAge: 1000, MaxTokens: 2_500}},
		"summary_only":        {Policy: Unbounded(), Compact: &Compact{SummaryOnly: true}},
	} {
		p := NewPlanner(o)
		for i := range uint32(20_000) {
			at := runloop.Place{Seq: i}
			p.Add(&runloop.Brief{Role: runloop.User, Length: 100}, at, runloop.Times{})
			p.Add(&runloop.Brief{Role: runloop.Assistant, Calls: 1, Length: 100}, at, runloop.Times{})
			p.Add(&runloop.Brief{Role: runloop.Tool, Length: 100, Mark: runloop.Mark{LineLength: 50}}, at, runloop.Times{})
			p.Add(&runloop.Brief{Role: runloop.Assistant, Length: 100}, at, runloop.Times{})
		}
		if cap(p.items.list) > 2000 || cap(p.spans.list) > 500 || cap(p.window.weights.list) > 500 || cap(p.window.saved.list) > 500 {
			t.Errorf("%s: room for %d items, %d loops, %d weights, %d results", name, cap(p.items.list), cap(p.spans.list),
				cap(p.window.weights.list), cap(p.window.saved.list))
		}
	}
}
