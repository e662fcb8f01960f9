package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/places"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// column is the place of a cell in the rows of a table, and the name at its head.
type column struct {
	cell int
	name string
	kind names.Kind
}

// columns gives the values below names in tables with '|' between their cells, as Markdown, psql and mysql write them. A rule
// follows the row of names, and the table ends with a line that has no cells.
func columns(s string, own names.Own) (found []edit.Span) {
	if strings.IndexByte(s, '|') < 0 {
		return nil
	}
	var cols []column
	head := ""
	for i := 0; i < len(s); {
		line := chars.FirstLine(s[i:])
		switch isRow := strings.IndexByte(line, '|') >= 0 && len(line) <= chars.MaxHeader; {
		case places.IsRule(line):
			if len(cols) == 0 {
				cols = columnsOf(head, own)
			}
			head = ""
		case isRow:
			found = appendCells(found, line, i, cols)
			head = line
		default:
			cols, head = nil, ""
		}
		i += len(line) + 1
	}
	return found
}

// columnsOf are the columns of a row of names whose names mean secrets.
func columnsOf(row string, own names.Own) (out []column) {
	for n, cell := range strings.Split(row, "|") {
		name := strings.Trim(cell, lines.Marks+": \t\r")
		if k := own.Kind(name); k != names.None {
			out = append(out, column{n, name, k})
		}
	}
	return out
}

// appendCells appends what is secret in the columns' cells of a row that begins at offset i.
func appendCells(spans []edit.Span, row string, i int, cols []column) []edit.Span {
	n := 0
	for _, c := range cols {
		for ; n < c.cell; n++ {
			at := strings.IndexByte(row, '|') + 1
			if at == 0 {
				return spans
			}
			row, i = row[at:], i+at
		}
		cell, _, _ := strings.Cut(row, "|")
		a, b := chars.TrimSpace(cell)
		a, b = lines.Unmarked(cell, a, b)
		t := cell[a:b]
		if (c.kind == names.Secret || c.kind == names.Token) && !looks.Random(t) {
			continue // the name of one
		}
		if from, to, ok := values.Judge(c.kind, t, values.InINI, c.name); ok && values.IsBelow(t, c.kind) {
			spans = append(spans, edit.Span{Start: i + a + from, End: i + a + to})
		}
	}
	return spans
}
