// Package views reads texts as people and machines do: without the colours of a terminal and what is not seen, and with what
// escapes and entities stand for; and carries what is found there back to what is written.
package views

import (
	"strings"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/tokens"
)

// View is a way to read a text as people read it: some of its sequences stand for something else. Secrets are looked for in what
// is read, and carried back to what is written.
type View int

const (
	Screen         View = iota // of a terminal: screen
	Literals                   // of source and HTML: literals
	QuotedLiterals             // of that with escaped quotes: quotedLiterals
)

// next gives the first sequence at or after i that stands for something else, [from, to), and what for; from is len(s) if there is
// none.
func (v View) next(s string, i int) (from, to int, with string) {
	switch v {
	case Literals:
		return literals(s, i)
	case QuotedLiterals:
		return quotedLiterals(s, i)
	default:
		return screen(s, i)
	}
}

// Read is the text with what its sequences stand for; false if it has none.
func (v View) Read(s string) (string, bool) {
	from, to, with := v.next(s, 0)
	if from == len(s) {
		return s, false
	}
	var b strings.Builder
	b.Grow(len(s))
	at := 0
	for ; from < len(s); from, to, with = v.next(s, at) {
		b.WriteString(s[at:from])
		b.WriteString(with)
		at = to
	}
	b.WriteString(s[at:])
	return b.String(), true
}

// Back carries the spans found in v.Read(s) to s, where s begins at offset base. A sequence of which a byte is secret goes as a
// whole; one that stands for nothing stays before and behind a secret, and goes within it.
func (v View) Back(s string, base int, spans []edit.Span) []edit.Span {
	out := make([]edit.Span, 0, len(spans))
	at, seen := 0, 0 // s[at:] is read as what is behind seen
	from, to, with := v.next(s, 0)
	place := func(p int) (start, end int) {
		for from < len(s) && p >= seen+from-at+len(with) {
			seen += from - at + len(with)
			at = to
			from, to, with = v.next(s, at)
		}
		if p < seen+from-at {
			return at + p - seen, at + p - seen + 1
		}
		return from, to
	}
	for _, sp := range spans {
		start, _ := place(sp.Start)
		_, end := place(sp.End - 1)
		out = append(out, edit.Span{Start: base + start, End: base + end, Text: sp.Text})
	}
	return out
}

const (
	esc       = '\x1b'
	maxColour = 16 // of 38;2;100;200;255
)

// screen is the view of a terminal: sequences of control (ECMA-48) stand for nothing, also colours that have lost their escape,
// nor do characters that are not seen. Blanks of other widths are blanks, and the lines of tables are those of ASCII.
func screen(s string, i int) (from, to int, with string) {
	for ; i < len(s); i++ {
		switch s[i] {
		case esc:
			return i, controlEnd(s, i), ""
		case '[':
			if end := colourEnd(s, i+1); end > 0 && !isWritten(s[max(0, i-6):i]) {
				return i, end, ""
			}
		case 0xC2, 0xE2, 0xEF:
			if with, n := seenAs(s[i:]); n > 0 {
				return i, i + n, with
			}
		}
	}
	return len(s), len(s), ""
}

// seenAs is what the character that t begins with is read as, and its length; 0 if it is read as what it is.
func seenAs(t string) (with string, n int) {
	r, n := utf8.DecodeRuneInString(t)
	switch {
	case r == 0xAD, r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F, r == 0xFEFF:
		return "", n // without width, or of direction
	case r == 0xA0, r >= 0x2000 && r <= 0x200A, r == 0x202F, r == 0x205F:
		return " ", n
	case r == '─', r == '━', r == '═':
		return "-", n
	case r == '│', r == '┃', r == '║':
		return "|", n
	case r > '━' && r <= '╿':
		return "+", n
	}
	return "", 0
}

// OnScreen says whether the view of a terminal may be another than what is written.
func OnScreen(s string) bool {
	for _, first := range [...]byte{esc, '[', 0xC2, 0xE2, 0xEF} {
		if strings.IndexByte(s, first) >= 0 {
			return true
		}
	}
	return false
}

// isWritten says whether an escape is written out at the end of t: \x1b, \u001b, ^[.
func isWritten(t string) bool { return strings.IndexByte(t, '\\') >= 0 || strings.HasSuffix(t, "^[") }

// colourEnd gives the end of a colour, whose bracket ends at i, that has lost its escape: [1;32m; 0 if it is none, but [5m] or [3me.
func colourEnd(s string, i int) int {
	from := i
	for i < len(s) && i-from < maxColour && (chars.IsDigit(s[i]) || s[i] == ';') {
		i++
	}
	if i == from || i == len(s) || s[i] != 'm' || s[i-1] == ';' || i+1 < len(s) && s[i+1] == ']' || beginsSecret(s, i) {
		return 0
	}
	return i + 1
}

// controlEnd gives the end of the sequence that begins with the escape at i. One that is cut off ends before the word after it.
func controlEnd(s string, i int) int {
	j := i + 1
	switch {
	case j == len(s) || strings.HasPrefix(s[j:], edit.Mark):
	case s[j] == '[':
		return csiEnd(s, j+1)
	case isCommand(s[j]):
		return commandEnd(s, j)
	case strings.IndexByte("()*+#%", s[j]) >= 0 && j+1 < len(s) && chars.IsAlnum(s[j+1]) && !beginsSecret(s, j+1):
		return j + 2
	case strings.IndexByte(`78=>\`, s[j]) >= 0:
		return j + 1
	}
	return j
}

// csiEnd gives the end of a sequence after its bracket: parameters, a sign and a letter. If there is no letter, or it belongs to
// the word after it, the sequence ends with its parameters; a number of more than three digits is none of them.
func csiEnd(s string, i int) int {
	cut := i
	for cut < len(s) && (chars.IsDigit(s[cut]) || s[cut] == ';' || s[cut] == '?') {
		to := max(chars.DigitsEnd(s, cut), cut+1)
		if to-cut > 3 && s[i] != '?' {
			return cut
		}
		cut = to
	}
	j := cut
	for j < len(s) && s[j] >= '0' && s[j] <= '?' && j-i < chars.MaxBlanks {
		j++
	}
	if j < len(s) && strings.IndexByte(` !"$'*`, s[j]) >= 0 {
		j++
	}
	if j < len(s) && (chars.IsAlpha(s[j]) || s[j] == '@' || s[j] == '~') && !beginsSecret(s, j) {
		return j + 1
	}
	return cut
}

// beginsSecret says whether the letter at i belongs to the word after it: with it that is the name of a secret, alone or with the
// next word, or has the shape of one; without it neither.
func beginsSecret(s string, i int) bool {
	end := dashedEnd(s, i)
	if end <= i+1 {
		return false
	}
	two := end
	if end < len(s) && s[end] == ' ' {
		two = dashedEnd(s, end+1)
	}
	return names.NeedsFirst(s[i:end]) || names.NeedsFirst(s[i:two]) || tokens.At(s, i) > 0 && tokens.At(s, i+1) == 0
}

// dashedEnd gives the end of the word at i, of which it looks at no more than a name has.
func dashedEnd(s string, i int) int {
	from := i
	for i < len(s) && i-from <= names.MaxName && chars.InDashed(s[i]) {
		i++
	}
	return i
}

// commandEnd gives the end of a sequence with text of its own, whose sign is at i.
func commandEnd(s string, i int) int {
	j := i + 1
	for j < len(s) && s[j] != '\a' && s[j] != esc && s[j] != '\n' {
		j++
	}
	switch {
	case strings.HasPrefix(s[j:], "\a"):
		return j + 1
	case strings.HasPrefix(s[j:], "\x1b\\"):
		return j + 2
	}
	return i
}

// isCommand says whether a sequence with text of its own begins with an escape and c: of a link, a window's title.
func isCommand(c byte) bool { return strings.IndexByte("]P^_X", c) >= 0 }

// CommandTexts are the texts within sequences of control, of links and titles, without the byte that ends each.
func CommandTexts(s string) (texts []edit.Span) {
	for from, to, _ := screen(s, 0); from < len(s); from, to, _ = screen(s, to) {
		if to-from > 2 && s[from] == esc && isCommand(s[from+1]) {
			texts = append(texts, edit.Span{Start: from + 2, End: to - 1})
		}
	}
	return texts
}
