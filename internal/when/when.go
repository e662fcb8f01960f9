// Package when reads the times that people and models write: so long ago, a day, or RFC 3339.
package when

import (
	"strconv"
	"strings"
	"time"
)

// The units of a time ago that are longer than those of a duration.
const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Parse reads a time: 2h, 3d or 1w before now, a day such as 2026-11-23, which begins in UTC, or RFC 3339. Not ok: it is none of these, or
// not of the years 1 to 9999, which no message can be.
func Parse(text string, now time.Time) (t time.Time, ok bool) {
	if ago, ok := parseAgo(text); ok {
		return now.Add(-ago), true
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			year := at.UTC().Year()
			return at, year >= 1 && year <= 9999
		}
	}
	return time.Time{}, false
}

// parseAgo reads a duration, of whole days or weeks, too. The longest is some 292 years.
func parseAgo(text string) (time.Duration, bool) {
	for suffix, unit := range map[string]time.Duration{"d": day, "w": week} {
		digits, cut := strings.CutSuffix(text, suffix)
		n, err := strconv.ParseUint(digits, 10, 32)
		if cut && err == nil {
			return time.Duration(n) * unit, time.Duration(n) <= (1<<63-1)/unit
		}
	}
	ago, err := time.ParseDuration(text)
	return ago, err == nil && ago >= 0
}
