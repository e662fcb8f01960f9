package tokens

import "github.com/transcriptd/transcriptd/redact/internal/chars"

// Alphabet says which bytes a token is made of.
type Alphabet func(byte) bool

var (
	alnum  Alphabet = chars.IsAlnum
	word   Alphabet = chars.InWord
	dashed Alphabet = chars.InDashed
	dotted Alphabet = chars.InDotted
	b64    Alphabet = chars.InBase64
	hexa   Alphabet = chars.IsHex
	digits Alphabet = chars.IsDigit
)

func caps(c byte) bool        { return chars.IsUpper(c) || chars.IsDigit(c) }
func hexDashed(c byte) bool   { return chars.IsHex(c) || c == '-' }
func b64Dotted(c byte) bool   { return chars.InBase64(c) || c == '.' }
func coloned(c byte) bool     { return chars.InDashed(c) || c == ':' }
func tilded(c byte) bool      { return chars.InDotted(c) || c == '~' }
func percented(c byte) bool   { return b64Dotted(c) || c == '%' }
func path(c byte) bool        { return chars.InDashed(c) || c == '/' || c == '@' || c == '+' }
func headed(c byte) bool      { return chars.IsAlnum(c) || c == '+' || c == '/' }
func crypted(c byte) bool     { return chars.IsAlnum(c) || c == '.' || c == '/' || c == '$' || c == '=' }
func hashed(c byte) bool      { return b64Dotted(c) || c == '$' || c == ',' }
func b58(c byte) bool         { return chars.IsAlnum(c) && c != '0' && c != 'O' && c != 'I' && c != 'l' }
func lowerBase32(c byte) bool { return chars.IsLower(c) || '2' <= c && c <= '7' }

func bech32(c byte) bool {
	c = chars.Lower(c)
	return chars.IsAlnum(c) && c != '1' && c != 'b' && c != 'i' && c != 'o'
}
