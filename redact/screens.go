package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// findOnScreen finds what is secret in a text with colours or with characters that are not seen: in what a terminal shows, and in
// the texts of sequences.
func (r *Redactor) findOnScreen(s string, depth int) ([]span, bool) {
	if depth >= maxDepth || !onScreen(s) {
		return nil, false
	}
	text, ok := view(screen).read(s)
	if !ok {
		return nil, false
	}
	var inside []span
	for _, t := range commandTexts(s) {
		for _, sp := range r.find(s[t.start:t.end], depth+1) {
			inside = append(inside, span{start: t.start + sp.start, end: t.start + sp.end, text: sp.text})
		}
	}
	return merge(view(screen).back(s, 0, r.find(text, depth+1)), inside), true
}

// escaped finds anew what is secret between JSON values where that has escapes or entities: in what they stand for. JSON has
// escapes of its own, which the walker knows. A mark that is a JSON string there has no quotes here: it is not known how they
// are written.
func (sc *scanner) escaped() {
	if sc.depth >= maxDepth || strings.IndexByte(sc.s, '\\') < 0 && strings.IndexByte(sc.s, '&') < 0 && !strings.Contains(sc.s, "^[[") {
		return
	}
	var out []span
	rest, from := sc.spans, 0
	next := func(to int) (spans []span) {
		n := 0
		for n < len(rest) && rest[n].start < to {
			n++
		}
		spans, rest = rest[:n], rest[n:]
		return spans
	}
	for _, v := range append(sc.walked, span{start: len(sc.s), end: len(sc.s)}) {
		between := next(v.start)
		gap, as := sc.s[from:v.start], view(literals)
		if strings.Contains(gap, `\"`) {
			as = quotedLiterals
		}
		if text, ok := as.read(gap); ok {
			between = merge(literalsOf(sc.s, between), as.back(gap, from, sc.r.find(text, sc.depth+1)))
			for i := range between {
				if strings.IndexByte(between[i].text, '"') >= 0 {
					between[i].text = ""
				}
			}
		}
		out = append(append(out, between...), next(v.end)...)
		from = v.end
	}
	sc.spans = out
}

// literalsOf are the spans that are all there is between two quotes: there an escape is part of the secret.
func literalsOf(s string, spans []span) (out []span) {
	for _, sp := range spans {
		at := sp.start
		for at > 0 && sp.start-at < chars.MaxBlanks && chars.IsBlank(s[at-1]) {
			at--
		}
		if at > 0 && sp.end < len(s) && chars.IsQuote(s[sp.end]) && s[at-1] == s[sp.end] && (at == 1 || s[at-2] != '\\') {
			out = append(out, sp)
		}
	}
	return out
}
