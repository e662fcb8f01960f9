package redact

import (
	"regexp"
	"sort"
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/edit"
)

// withShapes gives spans and what shapes find outside of them in s, outside of the JSON values, which were walked, and outside of marks.
func withShapes(s string, shapes []*regexp.Regexp, spans, values []edit.Span) []edit.Span {
	var found []edit.Span
	from := 0
	for _, v := range append(values, edit.Span{Start: len(s), End: len(s)}) {
		for _, re := range shapes {
			found = appendMatches(found, re, s, from, v.Start)
		}
		from = v.End
	}
	if len(found) == 0 {
		return spans
	}
	all := append(spans, found...)
	sort.SliceStable(all, func(i, j int) bool { return all[i].Start < all[j].Start })
	kept := all[:0]
	end := -1
	for _, sp := range all {
		if sp.Start >= end {
			kept = append(kept, sp)
			end = sp.End
		}
	}
	return kept
}

// appendMatches appends where re matches in s[from:to], its first group if it has groups.
func appendMatches(found []edit.Span, re *regexp.Regexp, s string, from, to int) []edit.Span {
	for _, m := range re.FindAllStringSubmatchIndex(s[from:to], -1) {
		a, b := m[0], m[1]
		if len(m) > 2 {
			a, b = m[2], m[3]
		}
		if a >= 0 && a < b && !touchesMark(s, from+a, from+b) {
			found = append(found, edit.Span{Start: from + a, End: from + b})
		}
	}
	return found
}

// touchesMark says whether [a, b) overlaps a Mark.
func touchesMark(s string, a, b int) bool {
	from, to := max(0, a-len(edit.Mark)+1), min(len(s), b+len(edit.Mark)-1)
	return strings.Contains(s[from:to], edit.Mark)
}
