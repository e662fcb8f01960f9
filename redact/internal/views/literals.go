package views

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

const maxEntity = 32 // of &CounterClockwiseContourIntegral;

// literals is the view of text that was written for a machine: escapes of source and JSON (\n, \u003d, \x1b[32m), and
// entities of HTML (&quot;).
func literals(s string, i int) (from, to int, with string) { return sequence(s, i, `\&^`) }

// quotedLiterals is literals for text with escaped quotes, which are within others: those are read as single quotes, so that it
// can be told which of them close.
func quotedLiterals(s string, i int) (from, to int, with string) { return sequence(s, i, `\&^"`) }

func sequence(s string, i int, signs string) (from, to int, with string) {
	for i < len(s) {
		n := strings.IndexAny(s[i:], signs)
		if n < 0 {
			break
		}
		i += n
		switch s[i] {
		case '"':
			return i, i + 1, "'"
		case '\\':
			if to, with := literalEnd(s, i+1); to > 0 {
				return i, to, with
			}
			i++
		case '&':
			if to, with := entityEnd(s, i); to > 0 {
				return i, to, with
			}
			i++
		case '^':
			if strings.HasPrefix(s[i:], "^[[") {
				return i, i + 2, string(esc)
			}
			i++
		}
	}
	return len(s), len(s), ""
}

// literalEnd gives the end of the escape whose backslash ends at j, and what it stands for; 0 if it is none.
func literalEnd(s string, j int) (to int, with string) {
	if j == len(s) {
		return 0, ""
	}
	switch s[j] {
	case '\\', '"', '\'', '/':
		return j + 1, s[j : j+1]
	case 'n', 'r', 't':
		if beginsSecret(s, j) {
			return 0, "" // the letter belongs to the word after it: \token
		}
		if s[j] == 't' {
			return j + 1, "\t"
		}
		if strings.HasPrefix(s[j:], `r\n`) {
			return j + 3, "\n"
		}
		return j + 1, "\n"
	case 'x':
		if j+2 < len(s) && chars.IsHex(s[j+1]) && chars.IsHex(s[j+2]) {
			if c := chars.HexValue(s[j+1 : j+3]); c < utf8.RuneSelf {
				return j + 3, string(c)
			}
		}
	case '0', '1':
		if n, err := strconv.ParseUint(s[j:min(len(s), j+3)], 8, 7); err == nil && j+2 < len(s) {
			return j + 3, string(rune(n))
		}
	case 'U':
		if end := hexEnd(s, j+1, 8); end == j+9 {
			return end, string(chars.HexValue(s[j+1 : end]))
		}
	case 'u':
		if end := hexEnd(s, j+2, 6); strings.HasPrefix(s[j:], "u{") && end > j+2 && strings.HasPrefix(s[end:], "}") {
			return end + 1, string(chars.HexValue(s[j+2 : end]))
		}
		if j+4 < len(s) && chars.IsHex(s[j+1]) && chars.IsHex(s[j+2]) && chars.IsHex(s[j+3]) && chars.IsHex(s[j+4]) {
			return j + 5, string(chars.HexValue(s[j+1 : j+5]))
		}
	}
	for _, name := range [...]string{"e[", "E[", "33["} {
		if strings.HasPrefix(s[j:], name) {
			return j + len(name) - 1, string(esc)
		}
	}
	return 0, ""
}

// hexEnd gives the end of the hexadecimal digits at i, of at most so many.
func hexEnd(s string, i, most int) int {
	from := min(i, len(s))
	for i = from; i < len(s) && i-from < most && chars.IsHex(s[i]); i++ {
	}
	return i
}

// entityEnd gives the end of the entity at i, and what it stands for; 0 if it is none.
func entityEnd(s string, i int) (to int, with string) {
	j := i + 1
	for j < len(s) && j-i < maxEntity && (chars.IsAlnum(s[j]) || s[j] == '#') {
		j++
	}
	if j == len(s) || s[j] != ';' {
		return 0, ""
	}
	with = html.UnescapeString(s[i : j+1])
	if with == s[i:j+1] {
		return 0, ""
	}
	return j + 1, with
}
