package compaction_test

import (
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// BenchmarkAdd is the cost of a message, in loops of four calls each, and in one loop that goes on and on.
func BenchmarkAdd(b *testing.B) {
	work := []runloop.Brief{
		{Role: runloop.Assistant, Calls: 1, Length: 400, Savings: runloop.Savings{250}},
		{Role: runloop.Tool, Length: 3000, Mark: runloop.Mark{LineLength: 120}},
	}
	loop := []runloop.Brief{{Role: runloop.User, Length: 300, TextOctets: 280, TextPoints: 280}}
	loop = append(loop, slices.Repeat(work, 4)...)
	loop = append(loop, runloop.Brief{Role: runloop.Assistant, Length: 900, TextOctets: 880, TextPoints: 880})
	bytes, all := compaction.Chat(), compaction.Frugal()
	bytes.MaxBytes = 100_000
	all.MaxBytes, all.MaxTokens, all.TraceRequests, all.KeepWholeRunLoops = 100_000, 25_000, true, 2
	for _, c := range []struct {
		name     string
		policy   compaction.Policy
		messages []runloop.Brief
	}{
		{"unbounded", compaction.Unbounded(), loop}, {"chat", compaction.Chat(), loop}, {"coding", compaction.Coding(), loop},
		{"frugal", compaction.Frugal(), loop}, {"max_bytes", bytes, loop}, {"everything", all, loop},
		{"one loop: chat", compaction.Chat(), work}, {"one loop: coding", compaction.Coding(), work},
		{"one loop: frugal", compaction.Frugal(), work}, {"one loop: everything", all, work},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			p := compaction.NewPlanner(compaction.Options{Policy: c.policy})
			p.Add(&loop[0], runloop.Place{}, runloop.Times{})
			for i := range b.N {
				p.Add(&c.messages[i%len(c.messages)], runloop.Place{Seq: uint32(i)}, runloop.Times{})
			}
		})
	}
}
