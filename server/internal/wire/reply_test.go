package wire

import (
	"math"
	"testing"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// A count that JSON would need a string for is told as the most that an int32 holds, and never as another.
func TestCountsStop(t *testing.T) {
	for given, want := range map[int64]int32{0: 0, 7: 7, math.MaxInt32: math.MaxInt32, math.MaxInt32 + 1: math.MaxInt32, 1 << 32: math.MaxInt32, math.MaxInt64: math.MaxInt32} {
		if got := Count(given); got != want {
			t.Errorf("%d is told as %d", given, got)
		}
	}
	if got := Count[uint32](math.MaxUint32); got != math.MaxInt32 {
		t.Errorf("the last place of a chain is told as %d", got)
	}
	full := counters(runloop.Totals{Nodes: 1 << 40, Messages: 1 << 40, Depth: 1 << 40, Loops: 1 << 40, Bytes: 1 << 40, Tokens: 1 << 40})
	if full.Nodes != math.MaxInt32 || full.Messages != math.MaxInt32 || full.Depth != math.MaxInt32 || full.RunLoops != math.MaxInt32 {
		t.Errorf("counts: %v", full)
	}
	if full.Bytes != 1<<40 || full.Tokens != 1<<40 {
		t.Errorf("sums: %v", full)
	}
	// A note that a store of format 1 keeps.
	if note := messageNote(&runloop.Note{HasTokens: true, Tokens: math.MaxUint32}, nil); note.GetTokenCount() != math.MaxInt32 {
		t.Errorf("a note: %v", note)
	}
}
