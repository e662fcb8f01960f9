package runloop_test

import (
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// TestStubLength: the length of a stub is that of its bytes, at every size of its id and name.
func TestStubLength(t *testing.T) {
	for n := range 1100 {
		text := runloop.Some(strings.Repeat("x", n))
		for _, c := range []runloop.Call{{}, {ID: text}, {Name: text}, {ID: text, Name: text}} {
			if got, want := runloop.StubLength(c), len(stubBytes(c)); got != want {
				t.Fatalf("%d for an id and a name of %d bytes, want %d", got, n, want)
			}
		}
	}
}

// TestLeftOut: the length of a left-out line is that of its bytes, and its text says how many.
func TestLeftOut(t *testing.T) {
	for _, n := range []int64{1, 9, 10, 99, 100, 12_345, runloop.MaxLeftOut} {
		text := runloop.LeftOutText(n)
		body := field(2, field(8, []byte(text)))
		if got, want := runloop.LeftOutLength(n), len(field(1, append(append([]byte{1 << 3, 3}, body...), 9<<3, 4))); got != want {
			t.Errorf("%d bytes for %d, want %d", got, n, want)
		}
		if got := runloop.LeftOutIn(text); got != n {
			t.Errorf("%q says %d", text, got)
		}
	}
	if got := runloop.LeftOutText(47); got != "[47 earlier turns are not shown]" {
		t.Errorf("the text is %q", got)
	}
	for _, text := range []string{
		"", "[ earlier turns are not shown]", "[-1 earlier turns are not shown]", "[+1 earlier turns are not shown]", "[01 earlier turns are not shown]",
		"[2147483648 earlier turns are not shown]", "7", "[7 earlier turns are not shown] ", "[seven earlier turns are not shown]",
	} {
		if got := runloop.LeftOutIn(text); got != 0 {
			t.Errorf("%q says %d", text, got)
		}
	}
}

func TestLineText(t *testing.T) {
	f := &runloop.Facts{PartsLength: 12345, CallID: runloop.Some("call_1")}
	from := runloop.Source{Node: "0123456789ab", Index: 7}
	for _, c := range []struct {
		name runloop.Optional
		f    *runloop.Facts
		want string
	}{
		{runloop.Some("read"), f, "[result of read, 12345 bytes, left out; recall call_1 0123456789ab.7]"},
		{runloop.Optional{}, f, "[result of -, 12345 bytes, left out; recall call_1 0123456789ab.7]"},
		{runloop.Some(""), &runloop.Facts{}, "[result of , 0 bytes, left out; recall - 0123456789ab.7]"},
	} {
		if got := runloop.LineText(c.name, c.f, from); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestLineLength: it is that of the line's bytes, and 0 from where on the line is not shorter.
func TestLineLength(t *testing.T) {
	name := runloop.Some("read")
	for _, bare := range []int{2, 60, 120, 1000} {
		for _, parts := range []int{5, 99, 100, 123456} {
			result := runloop.Facts{
				Role: runloop.Tool, CallID: runloop.Some("1"), BareLength: bare, PartsLength: parts, Length: 1 << 20,
			}
			line := len(lineBytes(&result, name, "000000000000", 1))
			for _, length := range []int{line - 1, line, line + 1, 1 << 20} {
				result.Length = length
				call := runloop.Facts{Role: runloop.Assistant, Calls: []runloop.Call{{ID: runloop.Some("1"), Name: name}}}
				_, marks := foldAll(t, nodesOf([]runloop.Facts{call, result}))
				want := line
				if length <= line {
					want = 0
				}
				if marks[1].LineLength != want {
					t.Errorf("a result of %d bytes has a line of %d, want %d", length, marks[1].LineLength, want)
				}
			}
		}
	}
}

func TestPlaceBefore(t *testing.T) {
	at := func(seq, index uint32) runloop.Place { return runloop.Place{Seq: seq, Index: index} }
	for _, c := range []struct {
		p, q runloop.Place
		want bool
	}{
		{at(0, 0), at(0, 0), false}, {at(0, 1), at(0, 2), true}, {at(0, 2), at(0, 1), false}, {at(1, 0), at(0, 9), false}, {at(0, 9), at(1, 0), true},
	} {
		if got := c.p.Before(c.q); got != c.want {
			t.Errorf("%v before %v: %t", c.p, c.q, got)
		}
	}
}

func TestGroupCounts(t *testing.T) {
	s, _ := foldAll(t, nodesOf(parse(t, "u c:1,22 c:-,333 r:22")))
	if s.Group.Unanswered() != 3 || s.Group.Size() != 6 {
		t.Errorf("%d calls open, %d bytes", s.Group.Unanswered(), s.Group.Size())
	}
}
