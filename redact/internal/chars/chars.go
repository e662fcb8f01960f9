// Package chars tells bytes apart, and says where runs of them end. It knows no names and no secrets.
package chars

// InWord says whether c may be part of a word of source text.
func InWord(c byte) bool { return IsAlnum(c) || c == '_' }

// InDashed says the same of words that also have a '-' in them.
func InDashed(c byte) bool { return InWord(c) || c == '-' }

// InDotted says the same of words with '-' and '.' in them.
func InDotted(c byte) bool { return InDashed(c) || c == '.' }

// InBase64 says whether c is of base64 in either alphabet.
func InBase64(c byte) bool { return InDashed(c) || c == '+' || c == '/' || c == '=' }

func IsQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func IsUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func IsLower(c byte) bool { return 'a' <= c && c <= 'z' }

func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

func IsAlpha(c byte) bool { return IsUpper(c) || IsLower(c) }

func IsAlnum(c byte) bool { return IsAlpha(c) || IsDigit(c) }

func IsHex(c byte) bool { return IsDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

func IsSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

func Lower(c byte) byte {
	if IsUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}

// HexValue is the number that hexadecimal digits write.
func HexValue(s string) rune {
	var r rune
	for i := range len(s) {
		c := Lower(s[i])
		r <<= 4
		if IsDigit(c) {
			r |= rune(c - '0')
		} else {
			r |= rune(c-'a') + 10
		}
	}
	return r
}
