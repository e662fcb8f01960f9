package main

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
	"google.golang.org/protobuf/proto"
)

// column is a column of a table: its head, and how wide it is at least.
type column struct {
	head  string
	width int
	// right has cells stand at the right end: numbers.
	right bool
}

// left and right are columns as wide as their heads, of texts and of numbers.
func left(head string) column  { return column{head: head, width: columnsOf(head)} }
func right(head string) column { return column{head: head, width: columnsOf(head), right: true} }

// wide is a column that has at least some width.
func (c column) wide(least int) column {
	c.width = max(c.width, least)
	return c
}

// The columns that most listings begin with: what is in them has one width.
func nodeColumn() column            { return left("NODE").wide(shortDigits) }
func timeColumn(head string) column { return left(head).wide(len("2006-01-02T15:04:05Z")) }

// table prints a listing, each row as it comes. So a column is as wide as it was made, and wider from the first wider cell on; tables whose
// rows are all there before the first is printed can be made to fit. text/tabwriter does neither: it holds all rows back, and takes each
// character for one column.
type table struct {
	s       *session
	columns []column
	// headless tables have no line of heads; begun says that it is printed.
	headless, begun bool
}

func (s *session) table(columns ...column) *table { return &table{s: s, columns: columns} }

// fit makes columns as wide as rows need them.
func (t *table) fit(rows [][]string) {
	for _, cells := range rows {
		for i, cell := range cells {
			t.columns[i].width = max(t.columns[i].width, columnsOf(cell))
		}
	}
}

// print prints an entry of a listing: a reply or an object as json, else a row, below the heads.
func (t *table) print(entry any, cells ...string) error {
	if reply, ok := entry.(proto.Message); ok && t.s.json {
		return t.s.printReply(reply)
	}
	if t.s.json {
		return t.s.printJSON(entry)
	}
	return t.row(cells)
}

// printAll prints rows that are all there.
func (t *table) printAll(rows [][]string) error {
	t.fit(rows)
	for _, cells := range rows {
		if err := t.row(cells); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) row(cells []string) error {
	if !t.begun && !t.headless {
		t.begun = true
		heads := make([]string, len(t.columns))
		for i, c := range t.columns {
			heads[i] = c.head
		}
		if err := t.row(heads); err != nil {
			return err
		}
	}
	for i, cell := range cells {
		cells[i] = name(cell)
	}
	t.fit([][]string{cells})
	var line strings.Builder
	for i, cell := range cells {
		c := &t.columns[i]
		room := strings.Repeat(" ", c.width-columnsOf(cell))
		if i > 0 {
			line.WriteString("  ")
		}
		if c.right {
			line.WriteString(room + cell)
		} else {
			line.WriteString(cell + room)
		}
	}
	return t.s.printLine("%s", strings.TrimRight(line.String(), " "))
}

// columnsOf is how many columns of a terminal a text takes: none for what is put onto the character before, two for the wide ones of East
// Asia and for pictures.
func columnsOf(text string) (n int) {
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
