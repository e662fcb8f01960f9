package main

import (
	"bufio"
	"strings"
	"testing"
)

// TestTable: columns are aligned, numbers at the right end, also behind characters that take two columns or none; a cell that is wider than
// those before widens its column; nothing ends in spaces; and there are no heads without rows.
func TestTable(t *testing.T) {
	var b strings.Builder
	s := newSession(&commandLine{}, nil, bufio.NewWriter(&b), nil)
	listing := s.table(left("NAME").wide(6), right("SIZE"), left("REST"))
	for _, cells := range [][]string{{"a", "1", "x"}, {"日本", "22", ""}, {"e\u0301🌿", "333", "y"}, {"wider than six", "4", "z"}, {"b", "55555", "w"}} {
		if err := listing.print(nil, cells...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.table(left("NONE")).printAll(nil); err != nil {
		t.Fatal(err)
	}
	if err := s.printRows([][2]string{{"日本", "1"}, {"a", "2"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.out.Flush(); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"NAME    SIZE  REST", "a          1  x", "日本      22", "e\u0301🌿      333  y", "wider than six     4  z", "b               55555  w", "日本  1", "a     2", "",
	}, "\n")
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}
