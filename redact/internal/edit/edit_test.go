package edit_test

import (
	"testing"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/redact/internal/edit"
)

// Spans of any bytes leave valid UTF-8, and what is before and behind them.
func TestSpansTakeWholeCodePoints(t *testing.T) {
	const s = "aé密🔑z"
	for a := range len(s) {
		for b := a; b <= len(s); b++ {
			for c := b; c <= len(s); c++ {
				got := edit.Replace(s, []edit.Span{{Start: a, End: b}, {Start: c, End: len(s), Text: "-"}})
				if !utf8.ValidString(got) || got[len(got)-1] != '-' || a > 0 && got[0] != 'a' {
					t.Errorf("[%d, %d) and what is after %d gone: %q", a, b, c, got)
				}
			}
		}
	}
}
