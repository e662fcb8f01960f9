// Package jsontext knows where JSON values and strings end, and where what a string holds is written. It reads no names and no
// secrets.
package jsontext

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
)

const (
	maxNesting = 10_000 // of brackets, as in encoding/json
	MaxDepth   = 8      // of JSON text within strings, as it is looked at
)

// End validates the JSON value that begins at s[i:], without white space before it. It returns its end, or where it is
// no JSON, and whether it is.
func End(s string, i int) (int, bool) {
	var open []byte // closing brackets that are owed
	for {
		// a value begins at i
		switch {
		case i == len(s):
			return i, false
		case (s[i] == '{' || s[i] == '[') && len(open) < maxNesting:
			open = append(open, s[i]+2)
			next := chars.SkipSpace(s, i+1)
			if next < len(s) && s[next] == s[i]+2 {
				i = next
				break
			}
			if s[i] == '{' {
				var ok bool
				if next, ok = KeyEnd(s, next); !ok {
					return next, false
				}
			}
			i = next
			continue
		default:
			end, ok := ScalarEnd(s, i)
			if !ok {
				return end, false
			}
			i = end
		}
		// a value has ended, or i is at the bracket that closes an empty one
		for {
			if len(open) == 0 {
				return i, true
			}
			i = chars.SkipSpace(s, i)
			if i == len(s) {
				return i, false
			}
			closes := open[len(open)-1]
			if s[i] == closes {
				open = open[:len(open)-1]
				i++
				continue
			}
			if s[i] != ',' {
				return i, false
			}
			i = chars.SkipSpace(s, i+1)
			if closes == '}' {
				var ok bool
				if i, ok = KeyEnd(s, i); !ok {
					return i, false
				}
			}
			break
		}
	}
}

// KeyEnd passes a member's name and its colon and gives the start of the value.
func KeyEnd(s string, i int) (int, bool) {
	if i == len(s) || s[i] != '"' {
		return i, false
	}
	end, ok := StringEnd(s, i)
	if !ok {
		return end, false
	}
	end = chars.SkipSpace(s, end)
	if end == len(s) || s[end] != ':' {
		return end, false
	}
	return chars.SkipSpace(s, end+1), true
}

func ScalarEnd(s string, i int) (int, bool) {
	switch {
	case s[i] == '"':
		return StringEnd(s, i)
	case s[i] == '-' || chars.IsDigit(s[i]):
		return numberEnd(s, i)
	}
	for _, w := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(s[i:], w) {
			return i + len(w), true
		}
	}
	return i, false
}

// StringEnd gives the end of the string literal at i, past its closing quote.
func StringEnd(s string, i int) (int, bool) {
	for i++; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return i + 1, true
		case s[i] < ' ':
			return i, false
		case s[i] == '\\':
			i++
			if i == len(s) || strings.IndexByte(`"\/bfnrtu`, s[i]) < 0 {
				return i, false
			}
			if s[i] == 'u' {
				if i+4 >= len(s) || !chars.IsHex(s[i+1]) || !chars.IsHex(s[i+2]) || !chars.IsHex(s[i+3]) || !chars.IsHex(s[i+4]) {
					return i, false
				}
				i += 4
			}
		}
	}
	return i, false
}

func numberEnd(s string, i int) (int, bool) {
	if s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if end := chars.DigitsEnd(s, i); end > i {
		i = end
	} else {
		return i, false
	}
	if i < len(s) && s[i] == '.' {
		end := chars.DigitsEnd(s, i+1)
		if end == i+1 {
			return end, false
		}
		i = end
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		end := chars.DigitsEnd(s, i)
		if end == i {
			return end, false
		}
		i = end
	}
	return i, true
}

// Unquote decodes the inside of a JSON string literal. A lone surrogate becomes U+FFFD.
func Unquote(raw string) string {
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); {
		n := literal(raw, i)
		writeUnit(&b, raw[i:i+n])
		i += n
	}
	return b.String()
}

// literal gives how many bytes of raw stand for the character at i: 1, an escape's 2 or 6, a surrogate pair's 12.
func literal(raw string, i int) int {
	switch {
	case raw[i] != '\\':
		return 1
	case raw[i+1] != 'u':
		return 2
	case i+12 <= len(raw) && raw[i+6] == '\\' && raw[i+7] == 'u' &&
		utf16.DecodeRune(hex4(raw[i+2:]), hex4(raw[i+8:])) != utf8.RuneError:
		return 12
	}
	return 6
}

func writeUnit(b *strings.Builder, unit string) {
	switch len(unit) {
	case 1:
		b.WriteByte(unit[0])
	case 2:
		b.WriteByte(unescape(unit[1]))
	case 6:
		b.WriteRune(hex4(unit[2:])) // a lone surrogate is written as U+FFFD
	default:
		b.WriteRune(utf16.DecodeRune(hex4(unit[2:]), hex4(unit[8:])))
	}
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func hex4(s string) rune { return chars.HexValue(s[:4]) }

// ToRaw carries the spans found in unquote(raw) back to raw, where raw begins at offset base. Their texts are escaped once.
func ToRaw(raw string, base int, spans []edit.Span) []edit.Span {
	out := make([]edit.Span, 0, len(spans))
	at, decoded := 0, 0
	advance := func(to int) int {
		for at < len(raw) && decoded < to {
			n := literal(raw, at)
			decoded += unitLen(raw[at : at+n])
			at += n
		}
		return base + at
	}
	for _, sp := range spans {
		start := advance(sp.Start)
		out = append(out, edit.Span{Start: start, End: advance(sp.End), Text: escape(sp.Text)})
	}
	return out
}

func unitLen(unit string) int {
	switch len(unit) {
	case 1, 2:
		return 1
	case 6:
		if n := utf8.RuneLen(hex4(unit[2:])); n > 0 {
			return n
		}
		return 3
	}
	return 4
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func escape(text string) string { return escaper.Replace(text) }
