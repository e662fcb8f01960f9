package places

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// below is the value that stands alone on a line after the one that ends at j, under the name at i of kind k: on the next that is
// not empty. What tools put before the name on its line may stand before the value too. A list of lines, as source and JSON write
// one, is read as its lines. A word that could be another is none.
func (pg *Page) below(i, j int, k names.Kind) (Value, bool) {
	s := pg.s
	front := lines.Front(s, i)
	at := lines.Next(s, j, front)
	for n := 0; n < lines.MaxEmpty && at > j; n++ {
		end, ok := lines.Empty(s, at)
		if !ok {
			break
		}
		j, at = end, lines.Next(s, end, front)
	}
	if at == j {
		return Value{}, false
	}
	end := lines.TextEnd(s, at)
	if end-at >= chars.MaxBare {
		return Value{}, false
	}
	if strings.HasPrefix(s[at:end], "- ") {
		at += len("- ") // of a list of its own
	}
	start, end := pg.unmarked(i, at, end)
	if end-start > 2 && chars.IsQuote(s[start]) && s[start] == s[end-1] {
		start, end = start+1, end-1
	}
	return Value{Start: start, End: end, Place: values.InINI}, values.IsBelow(s[start:end], k)
}

// unmarked is the value [start, end) of the name at i without the marks around it, and without those at its end that close what
// was opened before the name.
func (pg *Page) unmarked(i, start, end int) (int, int) {
	start, end = lines.Unmarked(pg.s, start, end)
	if start == end || strings.IndexByte(lines.Marks, pg.s[end-1]) < 0 {
		return start, end
	}
	return start, start + len(strings.TrimSuffix(pg.s[start:end], pg.marksBefore(i)))
}

// marksBefore are the marks before the name at i, or before the words that lead to it.
func (pg *Page) marksBefore(i int) string {
	from := pg.LeadStart(i)
	to := from
	for from > 0 && to-from < 3 && strings.IndexByte(lines.Marks, pg.s[from-1]) >= 0 {
		from--
	}
	for to < i+3 && to < len(pg.s) && pg.s[to] == '_' {
		to++
	}
	return pg.s[from:to]
}
