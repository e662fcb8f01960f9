package lines

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// Marks are what Markdown puts around words.
const Marks = "*_`"

// AfterMarks passes the marks at i that close what was opened before a name: those at the end of a word or a string, and stars.
func AfterMarks(s string, i int) int {
	end, stars := i, i
	for ; end < len(s) && end-i < 3 && strings.IndexByte(Marks, s[end]) >= 0; end++ {
		if s[end] == '*' && stars == end {
			stars++
		}
	}
	if end == len(s) || chars.IsSpace(s[end]) || chars.IsQuote(s[end]) {
		return end
	}
	return stars
}

// Unmarked is [start, end) without the marks around it.
func Unmarked(s string, start, end int) (int, int) {
	for end-start > 2 && s[start] == s[end-1] && strings.IndexByte(Marks, s[start]) >= 0 {
		start, end = start+1, end-1
	}
	return start, end
}
