// Package lines knows the lines of a text: where the next one begins, what tools and people put before and around its words.
package lines

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// MaxEmpty is how many empty lines and fences may stand between a name and the value below it.
const MaxEmpty = 2

// Front is what stands before i on its line, or in the string that begins there.
func Front(s string, i int) string {
	from := max(0, i-MaxFront)
	if n := strings.LastIndexAny(s[from:i], "\n\"'"); n >= 0 {
		return s[from+n+1 : i]
	}
	if from > 0 {
		return ""
	}
	return s[:i]
}

// Next gives where the line after the one that ends at j begins, without what stands before the text of both; j if there is
// none.
func Next(s string, j int, front string) int {
	from := chars.SkipBlanks(s, j)
	at := from
	if strings.HasPrefix(s[at:], "\r") {
		at++
	}
	if strings.HasPrefix(s[at:], "\n") {
		at++
	}
	if at = AfterJoin(s, at); at > from {
		return afterFront(s, at, front)
	}
	return j
}

// Empty gives where the line ends whose text is at i, if that is empty, or opens a fence of code.
func Empty(s string, i int) (int, bool) {
	if AfterJoin(s, i) > i {
		return i, true // an empty string in a list of lines
	}
	end := TextEnd(s, i)
	return end, end == i || strings.HasPrefix(s[i:], "```")
}

// afterFront passes as much of the line at i as is like the front of another: with other numbers, and '-' for ':', which grep
// writes. A word is passed as a whole or not at all.
func afterFront(s string, i int, front string) int {
	at := i
	for f := 0; f < len(front); {
		from := at
		switch c := front[f]; {
		case chars.IsBlank(c):
			at, f = chars.SkipBlanks(s, at), chars.SkipBlanks(front, f)
			if at == from && at < len(s) && chars.IsDigit(s[at]) && f < len(front) && chars.IsDigit(front[f]) {
				continue // the number is longer
			}
		case chars.IsDigit(c):
			at, f = chars.DigitsEnd(s, at), chars.DigitsEnd(front, f)
		case at < len(s) && (s[at] == c || c == ':' && s[at] == '-'):
			at, f = at+1, f+1
		}
		if at == from {
			if strings.TrimSpace(front[f:]) == "" {
				break
			}
			for at > i && chars.IsAlnum(s[at-1]) {
				at--
			}
			break
		}
	}
	return chars.SkipBlanks(s, at)
}

// AfterJoin passes what is between two strings of a list, or of one that is written in parts, if that begins with the quote at i.
func AfterJoin(s string, i int) int {
	if i == len(s) || !chars.IsQuote(s[i]) {
		return i
	}
	at := chars.SkipBlanks(s, i+1)
	if at == len(s) || strings.IndexByte(",+\r\n", s[at]) < 0 {
		return i
	}
	for at++; at < len(s) && at-i < chars.MaxBlanks && chars.IsSpace(s[at]); at++ {
	}
	if at == len(s) || !chars.IsQuote(s[at]) {
		return i
	}
	return at + 1
}

// TextEnd gives where the text of a line ends that begins at i, without the blanks behind it: at the end of the line or at the
// quote that closes the string which it is in. It looks at chars.MaxBare bytes.
func TextEnd(s string, i int) int {
	line := chars.FirstLine(s[i:min(len(s), i+chars.MaxBare)])
	end := i + closingQuote(line)
	for end > i && chars.IsSpace(s[end-1]) {
		end--
	}
	return end
}

// closingQuote gives the first quote in t that ends a string which begins before t, or the length of t.
func closingQuote(t string) int {
	for n := 1; n < len(t); n++ {
		if chars.IsQuote(t[n]) && t[n] != t[0] && (n+1 == len(t) || strings.IndexByte(" \t\r,;:)]}\\\"'", t[n+1]) >= 0) {
			return n
		}
	}
	return len(t)
}

// maxIndent is how far in a name is looked for on its line.
const maxIndent = 96

// Deeper gives the end of the lines after j that are further in than the name at i is in its line.
func Deeper(s string, i, j int) int {
	indent := 0
	for a := i; a > 0 && s[a-1] != '\n' && indent < maxIndent; a-- {
		indent++
	}
	n := strings.IndexByte(s[j:], '\n')
	if n < 0 {
		return j
	}
	from := j + n + 1
	end := from
	for line := from; line < len(s) && line-from < chars.MaxQuote; {
		text := line
		for text < len(s) && s[text] == ' ' {
			text++
		}
		if text == len(s) || text-line <= indent && s[text] != '\n' {
			break
		}
		end = text + len(chars.FirstLine(s[text:]))
		line = end + 1
	}
	return end
}
