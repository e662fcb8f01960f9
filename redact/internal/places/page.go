// Package places finds where the value of a name stands in a text: behind =, : or a blank, in quotes, in a header, on the next line,
// in a tag, in the cell of a table; and says which of these places it is. Whether it is a secret is said by package values.
package places

import "github.com/transcriptd/transcriptd/redact/internal/jsontext"

// Page is a text in which it is looked where the value of a name stands. What was looked for on a line is remembered, so that the
// time stays linear.
type Page struct {
	s        string
	notJSON  int // no JSON value begins before this offset that has not been tried
	eol      int // the end of the line that holds eolFrom
	eolFrom  int
	stop     int // where a header's value that begins in [stopFrom, stop] ends
	stopFrom int
}

func New(s string) Page { return Page{s: s, eol: -1, stop: -1} }

// IsJSON says whether a JSON value begins at i. What is none is gone over once, so that the time stays linear.
func (pg *Page) IsJSON(i int) bool {
	if i < pg.notJSON {
		return false
	}
	end, ok := jsontext.End(pg.s, i)
	if !ok {
		pg.notJSON = end
	}
	return ok
}
