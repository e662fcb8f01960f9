package tokens

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
)

// Checks of what follows a prefix, from the mildest on.
var (
	mixed  = looks.Mixed
	random = looks.Random
)

// keyPart: one of the parts between signs is a key's, not a word of a class name (sk-folding-cube).
func keyPart(t string) bool {
	for p := range strings.FieldsFuncSeq(t, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		if len(p) >= 12 && mixed(p) || len(p) >= 32 {
			return true
		}
	}
	return false
}

// randomPart: it looks random as a whole, and a part of it is a key's: for prefixes that are words, and short tokens.
func randomPart(t string) bool { return random(t) && keyPart(t) }

// threeKinds: random, of capitals, small letters and three digits: for prefixes that source text has, too.
func threeKinds(t string) bool {
	upper, lower, digit := 0, 0, 0
	for i := range len(t) {
		switch c := t[i]; {
		case chars.IsUpper(c):
			upper++
		case chars.IsLower(c):
			lower++
		case chars.IsDigit(c):
			digit++
		}
	}
	return upper >= 3 && lower >= 3 && digit >= 3 && random(t)
}

// afterDigits: a number, '_' and a key.
func afterDigits(t string) bool {
	n := chars.DigitsEnd(t, 0)
	return n > 0 && n < len(t) && t[n] == '_' && random(t[n+1:])
}

// withAccount: parts between dots, of which one names an account.
func withAccount(t string) bool {
	return (strings.Contains(t, ".acc_") || strings.Contains(t, ".acc-")) && random(t)
}

// ofHash: what follows the last $ is a hash.
func ofHash(t string) bool {
	hash := t[strings.LastIndexByte(t, '$')+1:]
	return len(hash) >= 22 && mixed(hash)
}

// bolt11: an amount, the separator 1, and bech32 to the end.
func bolt11(t string) bool {
	t = strings.ToLower(t)
	t = strings.TrimPrefix(t, "rt") // lnbcrt
	t = strings.TrimPrefix(t, "s")  // lntbs
	n := 0
	for n < len(t) && chars.IsDigit(t[n]) && !(t[n] == '1' && onlyBech32(t[n+1:])) {
		n++
	}
	if n > 0 && n < len(t) && strings.IndexByte("munp", t[n]) >= 0 {
		n++
	}
	return n < len(t) && t[n] == '1' && onlyBech32(t[n+1:])
}

func onlyBech32(t string) bool {
	for i := range len(t) {
		if !bech32(t[i]) {
			return false
		}
	}
	return len(t) >= 50
}

// databricks: 32 digits in hexadecimal, and perhaps a number.
func databricks(t string) bool {
	n := strings.IndexByte(t, '-')
	return mixed(t) && (n < 0 && len(t) == 32 || n == 32 && strings.Count(t, "-") == 1)
}
