package search

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// folded finds a text in any case of its letters: two code points are the same where Unicode's simple case folding says
// so, as in Go's regular expressions with (?i). It looks at bytes alone, so it may be asked of a whole payload as well as
// of a text in it: spellings of code points in UTF-8 are never found out of step. It may be used by one call alone.
type folded struct {
	// spellings are the encodings of each code point's cases.
	spellings [][][]byte
	// anchor is the code point that is looked for first: one that is rare in transcripts. Two at once were no faster.
	anchor int
	// classes and borders are made once findRepeated needs them.
	classes []rune
	borders []int
	// work is how many bytes were looked at, each as often as it was.
	work int
}

func newFolded(text string) *folded {
	f := &folded{}
	least := -1
	for _, r := range text {
		cases := [][]byte{[]byte(string(r))}
		for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
			cases = append(cases, []byte(string(c)))
		}
		if n := frequency(cases); least < 0 || n < least {
			least, f.anchor = n, len(f.spellings)
		}
		f.spellings = append(f.spellings, cases)
	}
	return f
}

// common are the bytes that text and JSON are mostly made of, the most frequent last.
const common = `@~^&%!?$#|[]{}+;'<>*zZqQjJXKVYGBULWHMFDkxNPAORCSTIE8967543)(=_:/,.\10v-wbgypfhmu"cldsiarnot e`

// frequency tells which code points are met more often than others.
func frequency(cases [][]byte) int {
	n := 0
	for _, c := range cases {
		n++
		if len(c) == 1 {
			n += max(0, strings.IndexByte(common, c[0]))
		}
	}
	return n
}

// find is the first occurrence in b from a byte on; start < 0 if there is none.
func (f *folded) find(b []byte, from int) (start, end int) {
	cases := f.spellings[f.anchor]
	var room [4]int
	next := room[:0] // where each case of the anchor comes next; -1: nowhere
	for _, c := range cases {
		next = append(next, f.index(b, c, from))
	}
	for compared := 0; ; {
		i := nearest(next)
		if i < 0 {
			f.work += compared
			return -1, -1
		}
		at := next[i]
		before, whole := f.before(b[from:at])
		start, end = at-before, at+len(cases[i])
		if compared += before; whole {
			var behind int
			behind, whole = f.behind(b[end:])
			if compared, end = compared+behind, end+behind; whole {
				f.work += compared
				return start, end
			}
		}
		if compared > 8*(at-from)+64<<10 {
			f.work += compared
			return f.findRepeated(b, from)
		}
		next[i] = f.index(b, cases[i], at+1)
	}
}

func nearest(next []int) int {
	least := -1
	for i, at := range next {
		if at >= 0 && (least < 0 || at < next[least]) {
			least = i
		}
	}
	return least
}

// before tells how many bytes at the end of b are what comes before the anchor, and whether that is all of it.
func (f *folded) before(b []byte) (n int, whole bool) {
	for i := f.anchor - 1; i >= 0; i-- {
		size := 0
		for _, c := range f.spellings[i] {
			if bytes.HasSuffix(b[:len(b)-n], c) {
				size = len(c)
				break
			}
		}
		if size == 0 {
			return n, false
		}
		n += size
	}
	return n, true
}

// behind tells how many bytes at the start of b are what comes behind the anchor, and whether that is all of it.
func (f *folded) behind(b []byte) (n int, whole bool) {
	for _, cases := range f.spellings[f.anchor+1:] {
		size := 0
		for _, c := range cases {
			if bytes.HasPrefix(b[n:], c) {
				size = len(c)
				break
			}
		}
		if size == 0 {
			return n, false
		}
		n += size
	}
	return n, true
}

// findRepeated is find for a text that repeats itself in b: Knuth, Morris and Pratt's way, slower, but as long as b
// whatever b is.
func (f *folded) findRepeated(b []byte, from int) (start, end int) {
	if f.classes == nil {
		f.prepare()
	}
	matched := 0
	for at := from; at < len(b); {
		r, n := utf8.DecodeRune(b[at:])
		at += n
		if matched = f.step(matched, class(r)); matched < len(f.classes) {
			continue
		}
		start = at
		for range f.classes {
			_, n := utf8.DecodeLastRune(b[:start])
			start -= n
		}
		return start, at
	}
	return -1, -1
}

// prepare finds the classes of the text and, of each beginning of it, the longest other one that it ends in.
func (f *folded) prepare() {
	for _, cases := range f.spellings {
		r, _ := utf8.DecodeRune(cases[0])
		f.classes = append(f.classes, class(r))
	}
	f.borders = make([]int, len(f.classes)+1)
	for i := 1; i < len(f.classes); i++ {
		f.borders[i+1] = f.step(f.borders[i], f.classes[i])
	}
}

// step tells how much of the text is matched behind one more code point.
func (f *folded) step(matched int, next rune) int {
	if matched == len(f.classes) {
		matched = f.borders[matched]
	}
	for f.work++; matched > 0 && f.classes[matched] != next; f.work++ {
		matched = f.borders[matched]
	}
	if f.classes[matched] == next {
		matched++
	}
	return matched
}

// class is the same for all cases of a code point: the least of them.
func class(r rune) rune {
	least := r
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		least = min(least, c)
	}
	return least
}

// index is where a part of b comes next; -1: nowhere.
func (f *folded) index(b, part []byte, from int) int {
	at := bytes.Index(b[from:], part)
	if at < 0 {
		f.work += len(b) - from
		return -1
	}
	f.work += at + len(part)
	return from + at
}
