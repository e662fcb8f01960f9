package tokens

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
)

// Form is what is known of one kind of tokens.
type Form struct {
	Maker  string            // who gives them out
	Prefix string            // what they begin with
	Chars  Alphabet          // what follows is of these characters
	Min    int               // at least so many of them
	Max    int               // and at most so many, or it is no token; 0: there is no bound
	Also   func(string) bool // and what follows must be this, so that words are no tokens; nil: it may be anything
	Source string            // where the form is told: a rule of a scanner, or the maker's own page
}

// at gives the end of the form's token at s[i], or 0.
func (f *Form) at(s string, i int) int {
	if !strings.HasPrefix(s[i:], f.Prefix) {
		return 0
	}
	from := i + len(f.Prefix)
	end := f.follow(s, from)
	if end == 0 || f.Also != nil && !f.Also(s[from:min(end, from+chars.MaxBare)]) {
		return 0
	}
	if strings.HasPrefix(f.Prefix, "EAA") && inBase64(s, i, end) {
		return 0 // zeros of a program
	}
	return end
}

// inBase64 says whether the letters and digits s[i:end] are a part of base64: that goes on before or behind them, where a path would
// have fewer capitals.
func inBase64(s string, i, end int) bool {
	const enough = 32
	from, to, capitals := i, end, 0
	for ; from > 0 && i-from < enough && path(s[from-1]); from-- {
		if chars.IsUpper(s[from-1]) {
			capitals++
		}
	}
	for ; to < len(s) && to-end < enough && path(s[to]); to++ {
		if chars.IsUpper(s[to]) {
			capitals++
		}
	}
	around := i - from + to - end
	return around >= enough && capitals*4 >= around
}

// follow gives where what follows the prefix ends, or 0 if it is too short or too long. A token that is cut off may lack its
// last quarter; a stop, a dash or a '_' at the end is mostly the sentence's. What is no token by its first MaxBare bytes is looked
// at no further.
func (f *Form) follow(s string, from int) int {
	whole := from
	for whole < len(s) && f.Chars(s[whole]) {
		whole++
		switch n := whole - from; {
		case f.Max > 0 && n > f.Max+3:
			return 0 // even if three of its signs are the sentence's
		case n == chars.MaxBare && f.Also != nil && !f.Also(s[from:whole]):
			return 0 // however it goes on
		}
	}
	end := whole
	for end > from && strings.IndexByte(".-,_", s[end-1]) >= 0 {
		end--
	}
	switch n := end - from; {
	case n >= f.Min:
	case n*4 >= f.Min*3 && len(f.Prefix) > 2 && isCutOff(s, end) && looks.Random(s[from-len(f.Prefix):end]):
	case whole-from >= f.Min:
		end = from + f.Min // a key may end in a sign
	default:
		return 0
	}
	if end+1 == whole && end-from != f.Max && strings.IndexByte("-_", s[end]) >= 0 && endsWord(s, whole) {
		end = whole
	}
	if f.Max > 0 && (end-from > f.Max || end < len(s) && chars.IsAlnum(s[end])) {
		return 0
	}
	return end
}

// endsWord says whether a text, a quoted part of it or a word of it ends at i.
func endsWord(s string, i int) bool {
	return i == len(s) || chars.IsSpace(s[i]) || chars.IsQuote(s[i])
}

// isCutOff says whether a word that ends at i was longer: it is the last of a text, or dots stand for the rest.
func isCutOff(s string, i int) bool {
	rest := strings.TrimLeft(s[i:min(len(s), i+chars.MaxBlanks)], " \t\r\n\"'`")
	if rest == "" {
		return len(s)-i < chars.MaxBlanks
	}
	rest = strings.TrimLeft(rest, "[(<")
	return strings.HasPrefix(rest, "…") || strings.HasPrefix(rest, "...") || strings.Contains(chars.FirstLine(rest), "truncated")
}
