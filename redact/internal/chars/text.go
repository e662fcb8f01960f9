package chars

import (
	"strings"
	"unicode/utf8"
)

// FirstLine is s up to the end of its first line.
func FirstLine(s string) string {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return s[:n]
	}
	return s
}

// TrimSpace gives the part [a, b) of v without the white space around it.
func TrimSpace(v string) (a, b int) {
	a, b = 0, len(v)
	for a < b && IsSpace(v[a]) {
		a++
	}
	for b > a && IsSpace(v[b-1]) {
		b--
	}
	return a, b
}

// HasSpace says whether white space is in t.
func HasSpace(t string) bool {
	return strings.IndexByte(t, ' ') >= 0 || strings.ContainsAny(t, "\t\n\r")
}

// HasAlnum says whether a letter or a digit is in t.
func HasAlnum(t string) bool {
	for i := 0; i < len(t); i++ {
		if IsAlnum(t[i]) {
			return true
		}
	}
	return false
}

// SameLetters compares letters and digits alone, without case.
func SameLetters(a, b string) bool {
	i, j := 0, 0
	for {
		for i < len(a) && !IsAlnum(a[i]) {
			if a[i] >= 0x80 {
				return false
			}
			i++
		}
		for j < len(b) && !IsAlnum(b[j]) {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		if Lower(a[i]) != Lower(b[j]) {
			return false
		}
		i++
		j++
	}
}

// HasPrefixFold says whether s begins with prefix, without case.
func HasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// Words is the set of the words between white space.
func Words(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// RuneStart moves back to the start of the code point that is cut at i. A byte that is of none stays where it is.
func RuneStart(s string, i int) int {
	for at := i; at > 0 && at < len(s) && i-at < utf8.UTFMax && s[at] >= utf8.RuneSelf; at-- {
		if utf8.RuneStart(s[at]) {
			return at
		}
	}
	return i
}

// RuneEnd moves on to the end of the code point that is cut at i.
func RuneEnd(s string, i int) int {
	for n := 0; n < utf8.UTFMax-1 && i < len(s) && !utf8.RuneStart(s[i]); n++ {
		i++
	}
	return i
}
