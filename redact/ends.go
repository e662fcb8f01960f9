package redact

import (
	"encoding/base64"
	"strings"
)

// quote is an opening quote: its sign, how many backslashes stand before it, and where its text begins.
type quote struct {
	sign  byte
	level int
	start int
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func openQuote(s string, j int) (quote, bool) {
	at := j
	for at < len(s) && s[at] == '\\' && at-j < 15 {
		at++
	}
	if at == len(s) || !isQuote(s[at]) {
		return quote{}, false
	}
	return quote{s[at], at - j, at + 1}, true
}

// close gives the end of the quoted text: the closing quote of the same level, or where the line or the text ends.
func (q quote) close(s string) int {
	slashes := 0
	for i := q.start; i < len(s) && i-q.start < maxQuote; i++ {
		switch {
		case s[i] == '\\':
			slashes++
			continue
		case s[i] == '\n' && q.sign != '`':
			return i
		case s[i] == q.sign && (slashes <= q.level && q.level > 0 || q.level == 0 && slashes%2 == 0):
			return i - min(slashes, q.level)
		}
		slashes = 0
	}
	return min(len(s), q.start+maxQuote)
}

func skipBlanks(s string, i int) int {
	for n := 0; i < len(s) && n < maxBlanks && isBlank(s[i]); n++ {
		i++
	}
	return i
}

func endsBare(c byte) bool { return isSpace(c) || strings.IndexByte("\"'`<>,;&(){}[]|", c) >= 0 }

// bareEnd gives the end of an unquoted value in running text.
func bareEnd(s string, i int) int {
	for from := i; i < len(s) && i-from < maxBare; i++ {
		c := s[i]
		if endsBare(c) || c == '#' && i == from {
			return i
		}
		if c == '\\' && i+1 < len(s) && strings.IndexByte("nrt\"'\\", s[i+1]) >= 0 {
			return i
		}
		if c == '=' && i+1 < len(s) && s[i+1] != '=' && !endsBare(s[i+1]) || c == '%' && strings.HasPrefix(s[i:], "%26") {
			return i // '=' belongs to a value only at its end
		}
		if c == ':' && i-from <= 16 && isWord(s[from:i]) {
			return i
		}
	}
	return runeStart(s, i)
}

// envEnd is bareEnd for a shell's words, which may hold signs that end a value elsewhere.
func envEnd(s string, i int, shell bool) int {
	if !shell || i == len(s) || s[i] == '$' || isQuote(s[i]) {
		return i
	}
	return spaceEnd(s, i)
}

// spaceEnd gives the end of a shell's word.
func spaceEnd(s string, i int) int {
	for from := i; i < len(s) && i-from < maxBare; i++ {
		if isSpace(s[i]) || isQuote(s[i]) || s[i] == '\\' && i+1 < len(s) && strings.IndexByte("nrt\"'\\", s[i+1]) >= 0 {
			return i
		}
		if s[i] == ';' || s[i] == '|' || s[i] == ')' || s[i] == '<' || s[i] == '>' {
			return i
		}
	}
	return runeStart(s, i)
}

// pairEnd gives the end of a value among pairs with ';' between them.
func pairEnd(s string, i int) int {
	for from := i; i < len(s) && i-from < maxBare; i++ {
		if s[i] == ';' || s[i] == '"' || s[i] == '\'' || s[i] == '\n' || s[i] == '\\' || s[i] == '<' {
			return i
		}
	}
	return runeStart(s, i)
}

// runeStart moves back to the start of a code point that was cut.
func runeStart(s string, i int) int {
	for n := 0; n < 3 && i > 0 && i < len(s) && s[i]&0xC0 == 0x80; n++ {
		i--
	}
	return i
}

// yamlWord gives the end of the only word between j and eol, or 0 if there are more. A comment does not count.
func yamlWord(s string, j, eol int) int {
	if eol-j > maxBare {
		return 0
	}
	t := s[j:eol]
	if c := strings.Index(t, " #"); c >= 0 {
		t = t[:c]
	}
	t = strings.TrimRight(t, " \t")
	if t == "" || hasSpace(t) || strings.HasSuffix(t, ",") || strings.HasSuffix(t, ";") || strings.HasSuffix(t, ")") && strings.Contains(t, "(") {
		return 0
	}
	return j + len(t)
}

// wordsEnd gives the end of the lower-case words at i, with single blanks between them.
func wordsEnd(s string, i int) int {
	end := i
	for n := 0; n < 25; n++ {
		at := i
		for at < len(s) && isLower(s[at]) && at-i < 13 {
			at++
		}
		if at == i || at < len(s) && (isAlnum(s[at]) || s[at] == '_') {
			break
		}
		end = at
		i = at
		if i == len(s) || s[i] != ' ' {
			break
		}
		i++
	}
	return end
}

// trimEnd cuts the signs that end a sentence.
func trimEnd(s string, i, end int) int {
	for end > i && strings.IndexByte(".,;: \t\r", s[end-1]) >= 0 {
		end--
	}
	return end
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// isBasic says whether t is base64 of printable text with a colon.
func isBasic(t string) bool {
	if len(t) < 8 || len(t) > 1024 {
		return false
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(t, "="))
	if err != nil {
		return false
	}
	colon := false
	for _, c := range text {
		if c < ' ' || c == 0x7F {
			return false
		}
		colon = colon || c == ':'
	}
	return colon
}
