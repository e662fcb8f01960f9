package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// column is the place of a cell in the rows of a table, and the name at its head.
type column struct {
	cell int
	name string
	kind names.Kind
}

// columns takes the values below names in tables with '|' between their cells, as Markdown, psql and mysql write them. A rule
// follows the row of names, and the table ends with a line that has no cells.
func (sc *scanner) columns() {
	if strings.IndexByte(sc.s, '|') < 0 {
		return
	}
	var found []span
	var cols []column
	head := ""
	for i := 0; i < len(sc.s); {
		line := chars.FirstLine(sc.s[i:])
		switch isRow := strings.IndexByte(line, '|') >= 0 && len(line) <= maxHeader; {
		case isRule(line):
			if len(cols) == 0 {
				cols = sc.r.columnsOf(head)
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
	sc.spans = merge(sc.spans, found)
}

// isRule says whether a line of a table is none of its rows: |---|:-:|, +----+ and ----+----.
func isRule(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) > 2 && strings.Trim(line, "|+-: \t>") == "" && strings.Contains(line, "-") && strings.ContainsAny(line, "|+")
}

// columnsOf are the columns of a row of names whose names mean secrets.
func (r *Redactor) columnsOf(row string) (out []column) {
	for n, cell := range strings.Split(row, "|") {
		name := strings.Trim(cell, lines.Marks+": \t\r")
		if k := r.names.Kind(name); k != names.None {
			out = append(out, column{n, name, k})
		}
	}
	return out
}

// appendCells appends what is secret in the columns' cells of a row that begins at offset i.
func appendCells(spans []span, row string, i int, cols []column) []span {
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
		if from, to, ok := judge(c.kind, t, inINI, c.name); ok && isBelow(t, c.kind) {
			spans = append(spans, span{start: i + a + from, end: i + a + to})
		}
	}
	return spans
}
