package compaction_test

import (
	"testing"

	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// BenchmarkAdd is the cost of a message, in loops of four calls each.
func BenchmarkAdd(b *testing.B) {
	chat := compaction.Chat()
	all := compaction.Unbounded()
	bytes, traced := compaction.Chat(), compaction.Chat()
	bytes.MaxBytes = 100_000
	traced.MaxBytes, traced.MaxTokens, traced.TraceRequests = 100_000, 25_000, true
	traced.Clear, traced.KeepFullRuns = compaction.Frugal().Clear, 2
	loop := []runloop.Brief{{Role: runloop.User, Length: 300, TextOctets: 280, TextPoints: 280}}
	for range 4 {
		loop = append(loop, runloop.Brief{Role: runloop.Assistant, Calls: 1, Length: 400, Savings: runloop.Savings{250}},
			runloop.Brief{Role: runloop.Tool, Length: 3000, Mark: runloop.Mark{LineLength: 120}})
	}
	loop = append(loop, runloop.Brief{Role: runloop.Assistant, Length: 900, TextOctets: 880, TextPoints: 880})
	for name, policy := range map[string]compaction.Policy{
		"unbounded": all, "chat": chat, "coding": compaction.Coding(), "frugal": compaction.Frugal(), "max_bytes": bytes, "everything": traced,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			p := compaction.NewPlanner(compaction.Options{Policy: policy})
			for i := range b.N {
				p.Add(&loop[i%len(loop)], runloop.Place{Seq: uint32(i)}, runloop.Times{})
			}
		})
	}
}
