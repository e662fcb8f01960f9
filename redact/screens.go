package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/jsontext"
	"github.com/transcriptd/transcriptd/redact/internal/views"
)

// findOnScreen finds what is secret in a text with colours or with characters that are not seen: in what a terminal shows, and in
// the texts of sequences.
func (r *Redactor) findOnScreen(s string, depth int) ([]edit.Span, bool) {
	if depth >= jsontext.MaxDepth || !views.OnScreen(s) {
		return nil, false
	}
	text, ok := views.Screen.Read(s)
	if !ok {
		return nil, false
	}
	var inside []edit.Span
	for _, t := range views.CommandTexts(s) {
		for _, sp := range r.find(s[t.Start:t.End], depth+1) {
			inside = append(inside, edit.Span{Start: t.Start + sp.Start, End: t.Start + sp.End, Text: sp.Text})
		}
	}
	return edit.Merge(views.Screen.Back(s, 0, r.find(text, depth+1)), inside), true
}

// escaped finds anew what is secret between JSON values where that has escapes or entities: in what they stand for. JSON has
// escapes of its own, which the walker knows. A mark that is a JSON string there has no quotes here: it is not known how they
// are written.
func (sc *scanner) escaped() {
	if sc.depth >= jsontext.MaxDepth || strings.IndexByte(sc.s, '\\') < 0 && strings.IndexByte(sc.s, '&') < 0 && !strings.Contains(sc.s, "^[[") {
		return
	}
	var out []edit.Span
	rest, from := sc.spans, 0
	next := func(to int) (spans []edit.Span) {
		n := 0
		for n < len(rest) && rest[n].Start < to {
			n++
		}
		spans, rest = rest[:n], rest[n:]
		return spans
	}
	for _, v := range append(sc.walked, edit.Span{Start: len(sc.s), End: len(sc.s)}) {
		between := next(v.Start)
		gap, as := sc.s[from:v.Start], views.Literals
		if strings.Contains(gap, `\"`) {
			as = views.QuotedLiterals
		}
		if text, ok := as.Read(gap); ok {
			between = edit.Merge(literalsOf(sc.s, between), as.Back(gap, from, sc.r.find(text, sc.depth+1)))
			for i := range between {
				if strings.IndexByte(between[i].Text, '"') >= 0 {
					between[i].Text = ""
				}
			}
		}
		out = append(append(out, between...), next(v.End)...)
		from = v.End
	}
	sc.spans = out
}

// literalsOf are the spans that are all there is between two quotes: there an escape is part of the secret.
func literalsOf(s string, spans []edit.Span) (out []edit.Span) {
	for _, sp := range spans {
		at := sp.Start
		for at > 0 && sp.Start-at < chars.MaxBlanks && chars.IsBlank(s[at-1]) {
			at--
		}
		if at > 0 && sp.End < len(s) && chars.IsQuote(s[sp.End]) && s[at-1] == s[sp.End] && (at == 1 || s[at-2] != '\\') {
			out = append(out, sp)
		}
	}
	return out
}
