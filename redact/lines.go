package redact

import "strings"

// maxEmpty is how many empty lines and fences may stand between a name and the value below it.
const maxEmpty = 2

// below is the value that stands alone on a line after the one that ends at j, under the name at i of kind k: on the next that is
// not empty. What tools put before the name on its line may stand before the value too. A list of lines, as source and JSON write
// one, is read as its lines. A word that could be another is none.
func (sc *scanner) below(i, j int, k kind) (value, bool) {
	s := sc.s
	front := lineFront(s, i)
	at := nextLine(s, j, front)
	for n := 0; n < maxEmpty && at > j; n++ {
		end, ok := emptyLine(s, at)
		if !ok {
			break
		}
		j, at = end, nextLine(s, end, front)
	}
	if at == j {
		return value{}, false
	}
	end := textEnd(s, at)
	if end-at >= maxBare {
		return value{}, false
	}
	if strings.HasPrefix(s[at:end], "- ") {
		at += len("- ") // of a list of its own
	}
	start, end := sc.unmarked(i, at, end)
	if end-start > 2 && isQuote(s[start]) && s[start] == s[end-1] {
		start, end = start+1, end-1
	}
	return value{start: start, end: end, place: inINI}, isBelow(s[start:end], k)
}

// isBelow says whether t, which stands alone where a value of kind k could, looks like one.
func isBelow(t string, k kind) bool {
	if (k == phrase || k == seed) && isWords(t, 12) {
		return true
	}
	if t == "" || hasSpace(t) || strings.ContainsAny(t, "{}()[]<>;,\"'`") || strings.HasSuffix(t, ":") || strings.HasSuffix(t, "++") || strings.HasSuffix(t, "--") {
		return false
	}
	switch k {
	case pin, named:
		return true
	case password, secret, token, pass, phrase:
		return mixed(t) && (looksChosen(t) || looksRandom(t))
	}
	return false
}

// lineFront is what stands before i on its line, or in the string that begins there.
func lineFront(s string, i int) string {
	from := max(0, i-maxFront)
	if n := strings.LastIndexAny(s[from:i], "\n\"'"); n >= 0 {
		return s[from+n+1 : i]
	}
	return either(from == 0, s[from:i], "")
}

// nextLine gives where the line after the one that ends at j begins, without what stands before the text of both; j if there is
// none.
func nextLine(s string, j int, front string) int {
	from := skipBlanks(s, j)
	at := from
	if strings.HasPrefix(s[at:], "\r") {
		at++
	}
	if strings.HasPrefix(s[at:], "\n") {
		at++
	}
	if at = afterJoin(s, at); at > from {
		return afterFront(s, at, front)
	}
	return j
}

// emptyLine gives where the line ends whose text is at i, if that is empty, or opens a fence of code.
func emptyLine(s string, i int) (int, bool) {
	if afterJoin(s, i) > i {
		return i, true // an empty string in a list of lines
	}
	end := textEnd(s, i)
	return end, end == i || strings.HasPrefix(s[i:], "```")
}

// afterFront passes as much of the line at i as is like the front of another: with other numbers, and '-' for ':', which grep
// writes. A word is passed as a whole or not at all.
func afterFront(s string, i int, front string) int {
	at := i
	for f := 0; f < len(front); {
		from := at
		switch c := front[f]; {
		case isBlank(c):
			at, f = skipBlanks(s, at), skipBlanks(front, f)
			if at == from && at < len(s) && isDigit(s[at]) && f < len(front) && isDigit(front[f]) {
				continue // the number is longer
			}
		case isDigit(c):
			at, f = digitsEnd(s, at), digitsEnd(front, f)
		case at < len(s) && (s[at] == c || c == ':' && s[at] == '-'):
			at, f = at+1, f+1
		}
		if at == from {
			if strings.TrimSpace(front[f:]) == "" {
				break
			}
			for at > i && isAlnum(s[at-1]) {
				at--
			}
			break
		}
	}
	return skipBlanks(s, at)
}

// afterJoin passes what is between two strings of a list, or of one that is written in parts, if that begins with the quote at i.
func afterJoin(s string, i int) int {
	if i == len(s) || !isQuote(s[i]) {
		return i
	}
	at := skipBlanks(s, i+1)
	if at == len(s) || strings.IndexByte(",+\r\n", s[at]) < 0 {
		return i
	}
	for at++; at < len(s) && at-i < maxBlanks && isSpace(s[at]); at++ {
	}
	if at == len(s) || !isQuote(s[at]) {
		return i
	}
	return at + 1
}

// textEnd gives where the text of a line ends that begins at i, without the blanks behind it: at the end of the line or at the
// quote that closes the string which it is in. It looks at maxBare bytes.
func textEnd(s string, i int) int {
	line := firstLine(s[i:min(len(s), i+maxBare)])
	end := i + closingQuote(line)
	for end > i && isSpace(s[end-1]) {
		end--
	}
	return end
}

// closingQuote gives the first quote in t that ends a string which begins before t, or the length of t.
func closingQuote(t string) int {
	for n := 1; n < len(t); n++ {
		if isQuote(t[n]) && t[n] != t[0] && (n+1 == len(t) || strings.IndexByte(" \t\r,;:)]}\\\"'", t[n+1]) >= 0) {
			return n
		}
	}
	return len(t)
}

// marks are what Markdown puts around words.
const marks = "*_`"

// afterMarks passes the marks at i that close what was opened before a name: those at the end of a word or a string, and stars.
func afterMarks(s string, i int) int {
	end, stars := i, i
	for ; end < len(s) && end-i < 3 && strings.IndexByte(marks, s[end]) >= 0; end++ {
		if s[end] == '*' && stars == end {
			stars++
		}
	}
	return either(end == len(s) || isSpace(s[end]) || isQuote(s[end]), end, stars)
}

// unmarked is [start, end) without the marks around it.
func unmarked(s string, start, end int) (int, int) {
	for end-start > 2 && s[start] == s[end-1] && strings.IndexByte(marks, s[start]) >= 0 {
		start, end = start+1, end-1
	}
	return start, end
}

// unmarked is the value [start, end) of the name at i without the marks around it, and without those at its end that close what
// was opened before the name.
func (sc *scanner) unmarked(i, start, end int) (int, int) {
	start, end = unmarked(sc.s, start, end)
	if start == end || strings.IndexByte(marks, sc.s[end-1]) < 0 {
		return start, end
	}
	return start, start + len(strings.TrimSuffix(sc.s[start:end], sc.marksBefore(i)))
}

// marksBefore are the marks before the name at i, or before the words that lead to it.
func (sc *scanner) marksBefore(i int) string {
	from := sc.leadStart(i)
	to := from
	for from > 0 && to-from < 3 && strings.IndexByte(marks, sc.s[from-1]) >= 0 {
		from--
	}
	for to < i+3 && to < len(sc.s) && sc.s[to] == '_' {
		to++
	}
	return sc.s[from:to]
}
