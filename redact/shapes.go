package redact

import (
	"regexp"
	"sort"
	"strings"
)

// withShapes gives spans and what shapes find outside of them in s, outside of the JSON values, which were walked, and outside of marks.
func withShapes(s string, shapes []*regexp.Regexp, spans, values []span) []span {
	var found []span
	from := 0
	for _, v := range append(values, span{start: len(s), end: len(s)}) {
		for _, re := range shapes {
			found = appendMatches(found, re, s, from, v.start)
		}
		from = v.end
	}
	if len(found) == 0 {
		return spans
	}
	all := append(spans, found...)
	sort.SliceStable(all, func(i, j int) bool { return all[i].start < all[j].start })
	kept := all[:0]
	end := -1
	for _, sp := range all {
		if sp.start >= end {
			kept = append(kept, sp)
			end = sp.end
		}
	}
	return kept
}

// appendMatches appends where re matches in s[from:to], its first group if it has groups.
func appendMatches(found []span, re *regexp.Regexp, s string, from, to int) []span {
	for _, m := range re.FindAllStringSubmatchIndex(s[from:to], -1) {
		a, b := m[0], m[1]
		if len(m) > 2 {
			a, b = m[2], m[3]
		}
		if a >= 0 && a < b && !touchesMark(s, from+a, from+b) {
			found = append(found, span{start: from + a, end: from + b})
		}
	}
	return found
}

// touchesMark says whether [a, b) overlaps a Mark.
func touchesMark(s string, a, b int) bool {
	from, to := max(0, a-len(mark)+1), min(len(s), b+len(mark)-1)
	return strings.Contains(s[from:to], mark)
}
