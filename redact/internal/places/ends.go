package places

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// Quote is an opening quote: its sign, how many backslashes stand before it, and where its text begins.
type Quote struct {
	sign  byte
	level int
	Start int
}

func OpenQuote(s string, j int) (Quote, bool) {
	at := j
	for at < len(s) && s[at] == '\\' && at-j < 15 {
		at++
	}
	if at == len(s) || !chars.IsQuote(s[at]) {
		return Quote{}, false
	}
	return Quote{s[at], at - j, at + 1}, true
}

// Close gives the end of the quoted text: the closing quote of the same level, or where the line or the text ends.
func (q Quote) Close(s string) int {
	slashes := 0
	for i := q.Start; i < len(s) && i-q.Start < chars.MaxQuote; i++ {
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
	return min(len(s), q.Start+chars.MaxQuote)
}

func EndsBare(c byte) bool { return chars.IsSpace(c) || strings.IndexByte("\"'`<>,;&(){}[]|", c) >= 0 }

// BareEnd gives the end of an unquoted value in running text.
func BareEnd(s string, i int) int {
	for from := i; i < len(s) && i-from < chars.MaxBare; i++ {
		c := s[i]
		if EndsBare(c) && !isNumbered(s, from, i) || c == '#' && i == from {
			return i
		}
		if c == '\\' && i+1 < len(s) && strings.IndexByte("nrt\"'\\", s[i+1]) >= 0 {
			return i
		}
		if c == '=' && i+1 < len(s) && s[i+1] != '=' && !EndsBare(s[i+1]) || c == '%' && strings.HasPrefix(s[i:], "%26") {
			return i // '=' belongs to a value only at its end
		}
		if c == ':' && i-from <= 16 && looks.IsWord(s[from:i]) {
			return i
		}
	}
	return chars.RuneStart(s, i)
}

// isNumbered says whether the sign at i is between a number that begins at from and a token: 12|k2vLm9ZtRcYw4NpU.
func isNumbered(s string, from, i int) bool {
	if s[i] != '|' || i == from || chars.DigitsEnd(s, from) != i {
		return false
	}
	end := i + 1
	for end < len(s) && end-i <= 16 && chars.IsAlnum(s[end]) {
		end++
	}
	return end-i > 16
}

// challenge are what a server says of a scheme: Bearer realm="…".
var challenge = chars.Words(`realm scope error error_description error_uri resource_metadata authorization_uri charset title`)

// credentialEnd gives the end of what stands behind the scheme of an authorization: more signs may be within it than within
// other values (12|token, user:token).
func credentialEnd(s string, i int) int {
	end := i
	for end < len(s) && end-i < chars.MaxBare && (!EndsBare(s[end]) || s[end] == '|') &&
		!(s[end] == '\\' && end+1 < len(s) && strings.IndexByte("nrt\"'\\", s[end+1]) >= 0) {
		if strings.HasPrefix(s[end:], "://") {
			return end // a link
		}
		if s[end] == '=' && challenge[s[i:end]] {
			return end
		}
		end++
	}
	for end > i && s[end-1] == '|' {
		end--
	}
	return trimEnd(s, i, end)
}

// fieldEnd is BareEnd for the value of a name of kind k: a cookie's has a '=' in it.
func fieldEnd(s string, i int, k names.Kind) int {
	end := BareEnd(s, i)
	if k == names.Cookie && end < len(s) && s[end] == '=' {
		return BareEnd(s, end+1)
	}
	return end
}

// envEnd is BareEnd for a shell's words, which may hold signs that end a value elsewhere.
func envEnd(s string, i int, shell bool) int {
	if !shell || i == len(s) || s[i] == '$' || chars.IsQuote(s[i]) {
		return i
	}
	return SpaceEnd(s, i)
}

// SpaceEnd gives the end of a shell's word.
func SpaceEnd(s string, i int) int {
	for from := i; i < len(s) && i-from < chars.MaxBare; i++ {
		if chars.IsSpace(s[i]) || chars.IsQuote(s[i]) || s[i] == '\\' && i+1 < len(s) && strings.IndexByte("nrt\"'\\", s[i+1]) >= 0 {
			return i
		}
		if s[i] == ';' || s[i] == '|' && !isNumbered(s, from, i) || s[i] == ')' || s[i] == '<' || s[i] == '>' {
			return i
		}
	}
	return chars.RuneStart(s, i)
}

// wordBreak gives the first blank of t that has no backslash before it, or -1.
func wordBreak(t string) int {
	for i := 0; i < len(t); i++ {
		if t[i] == ' ' && (i == 0 || t[i-1] != '\\') {
			return i
		}
	}
	return -1
}

// formEnd cuts a line's value where another field of a form follows: password=…&user=ada.
func formEnd(s string, i, end int) int {
	for at := i; at < end; at++ {
		if s[at] != '&' {
			continue
		}
		if eq := WordEnd(s[:end], at+1); eq > at+1 && eq < end && s[eq] == '=' {
			return at
		}
	}
	return end
}

// pairEnd gives the end of a value among pairs with ';' between them.
func pairEnd(s string, i int) int {
	for from := i; i < len(s) && i-from < chars.MaxBare; i++ {
		if s[i] == ';' || s[i] == '"' || s[i] == '\'' || s[i] == '\n' || s[i] == '\\' || s[i] == '<' {
			return i
		}
	}
	return chars.RuneStart(s, i)
}

// valueEnd gives where a line's value ends that begins at j, or j if it is no value but source. A comment does not count.
func valueEnd(s string, j, eol int) int {
	if eol-j > chars.MaxBare {
		return j
	}
	end := commentStart(s, j, eol)
	for end > j && chars.IsBlank(s[end-1]) {
		end--
	}
	t := s[j:end]
	if strings.HasSuffix(t, ",") || strings.HasSuffix(t, ";") || strings.HasSuffix(t, ")") && strings.Contains(t, "(") {
		return j
	}
	if n := end - 1; n > j && chars.IsQuote(s[n]) && strings.IndexByte(s[j:n], s[n]) < 0 {
		return n // it closes a string that the line is the end of
	}
	return end
}

// escapeAt gives where \n, \r or an escaped quote ends a line in s[j:end], or end.
func escapeAt(s string, j, end int) int {
	for i := j; i+1 < end && i-j < chars.MaxBare; i++ {
		if s[i] == '\\' && (s[i+1] == 'n' || s[i+1] == 'r' || chars.IsQuote(s[i+1])) || chars.IsQuote(s[i]) {
			return i
		}
	}
	return end
}

// commentStart gives where a comment begins in s[j:end], or end.
func commentStart(s string, j, end int) int {
	if c := strings.Index(s[j:end], " #"); c >= 0 {
		return j + c
	}
	return end
}

// wordsEnd gives the end of the words of letters at i, with single blanks between them.
func wordsEnd(s string, i int) int {
	end := i
	for n := 0; n < 25; n++ {
		at := i
		for at < len(s) && chars.IsAlpha(s[at]) && at-i < 13 {
			at++
		}
		if at == i || at < len(s) && (chars.IsAlnum(s[at]) || s[at] == '_') {
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

// WordEnd gives the end of the word at i: letters, digits, '_', '-', '$' and '.' between them. Names longer than names.MaxName are
// none, so a word may be cut; the rest is a word of its own.
func WordEnd(s string, i int) int {
	from := i
	for i < len(s) && i-from < chars.MaxShape && (chars.InDotted(s[i]) || s[i] == '$') {
		i++
	}
	for i > from && s[i-1] == '.' {
		i--
	}
	return i
}
