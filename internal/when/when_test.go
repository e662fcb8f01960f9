package when_test

import (
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/internal/when"
)

// TestParse: each form is read, to the second, and what is none is refused.
func TestParse(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"0s":                        now,
		"90m":                       now.Add(-90 * time.Minute),
		"2h":                        now.Add(-2 * time.Hour),
		"1d":                        now.AddDate(0, 0, -1),
		"3w":                        now.AddDate(0, 0, -21),
		"106751d":                   now.AddDate(0, 0, -106751),
		"15250w":                    now.AddDate(0, 0, -7*15250),
		"2026-11-23":                time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC),
		"2026-11-23T15:04:05Z":      time.Date(2026, 11, 23, 15, 4, 5, 0, time.UTC),
		"2026-11-23t15:04:05z":      time.Date(2026, 11, 23, 15, 4, 5, 0, time.UTC),
		"2026-11-23T15:04:05+02:00": time.Date(2026, 11, 23, 13, 4, 5, 0, time.UTC),
		"9999-12-31":                time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	} {
		if got, ok := when.Parse(text, now); !ok || !got.Equal(want) {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"", " ", "d", "w", "2", "-2h", "-1d", "1.5d", "+1d", "yesterday", "2026-13-01", "2026-11-23 15:04", "0000-01-01", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00",
		"106752d", "15251w", "16000w", "65535w", "4294967295w", "99999999999w", "999999999h", "١d",
	} {
		if got, ok := when.Parse(text, now); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// FuzzParse: what is read is a time that a request can have, and never after now where it is so long ago.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"2h", "3d", "65535w", "2026-11-23", "2026-11-23T15:04:05Z", "0000-01-01", "-1ns", "1e9h"} {
		f.Add(text)
	}
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := when.Parse(text, now)
		if !ok {
			return
		}
		if y := at.UTC().Year(); y < 1 || y > 9999 {
			t.Errorf("%q: %v", text, at)
		}
		if len(text) > 0 && text[len(text)-1] >= 'a' && text[len(text)-1] <= 'y' && at.After(now) {
			t.Errorf("%q: %v is after now", text, at)
		}
	})
}
