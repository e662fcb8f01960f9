// Package looks says what a word looks like by its characters alone: random, chosen by people, an identifier, a UUID.
package looks

import (
	"math"
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// Random says whether t looks random: long enough, of a key's characters, mixed, and of high entropy for its alphabet.
func Random(t string) bool {
	if len(t) < 16 || chars.HasSpace(t) {
		return false
	}
	hex, digits, alphas, breaks := true, 0, 0, 0
	for i := 0; i < len(t); i++ {
		c := t[i]
		switch {
		case chars.IsDigit(c):
			digits++
		case chars.IsAlpha(c):
			alphas++
		case c >= 0x80 || strings.IndexByte("+/=_-.~%:|$@!^*", c) < 0:
			return false
		default:
			breaks++
		}
		hex = hex && (chars.IsHex(c) || c == '-' || c == ':')
	}
	e := Entropy(t[:min(len(t), 512)])
	if hex {
		return digits > 0 && e >= 2.6 && breaks*3 < len(t)
	}
	if len(t) >= 24 && digits == 0 {
		return e >= 4.0 && breaks*8 < len(t) && TurnsOften(t)
	}
	return digits > 0 && alphas > 0 && e >= 3.2 && breaks*4 < len(t) && !WordsAndNumbers(t) && !(digits*8 < len(t) && hasLongWord(t))
}

// hasLongWord: seven lower-case letters in a row, which random text of few digits seldom has.
func hasLongWord(t string) bool {
	run := 0
	for i := 0; i < len(t); i++ {
		if run++; !chars.IsLower(t[i]) {
			run = 0
		}
		if run == 7 {
			return true
		}
	}
	return false
}

// TurnsOften says whether upper and lower case change more often than camelCase does.
func TurnsOften(t string) bool {
	n := 0
	for i := 1; i < len(t); i++ {
		if chars.IsAlpha(t[i]) && chars.IsAlpha(t[i-1]) && chars.IsUpper(t[i]) != chars.IsUpper(t[i-1]) {
			n++
		}
	}
	return n*5 > len(t)*2
}

// IsCamel says whether t is a word of several words, with capitals where they begin.
func IsCamel(t string) bool {
	for i := 1; i < len(t); i++ {
		if chars.IsUpper(t[i]) && chars.IsLower(t[i-1]) {
			return true
		}
	}
	return false
}

// WordsAndNumbers says whether t has parts between '-', '_', '.', '/' that are each all letters or all digits (a slug, a date, a version).
func WordsAndNumbers(t string) bool {
	was := byte(0)
	for i := 0; i < len(t); i++ {
		var is byte
		switch {
		case chars.IsDigit(t[i]):
			is = 'd'
		case chars.IsAlpha(t[i]):
			is = 'a'
		}
		if was != 0 && is != 0 && was != is {
			return false
		}
		was = is
	}
	return true
}

// Chosen says whether t looks like a password as people make them: letters with digits or signs and no space.
func Chosen(t string) bool {
	if len(t) < 5 || len(t) > 128 || chars.HasSpace(t) {
		return false
	}
	letters, others := 0, 0
	for i := 0; i < len(t); i++ {
		switch {
		case chars.IsAlpha(t[i]) || t[i] >= 0x80:
			letters++
		default:
			others++
		}
	}
	return letters > 0 && others > 0 && !techWord(t) && !strings.HasSuffix(t, "()")
}

// techWord: sha256, base64, v1.2.3, utf-8, oauth2, 12h, 30s: words with digits that are no passwords; and name-like slugs.
func techWord(t string) bool {
	l := strings.ToLower(t)
	for _, w := range [...]string{"sha", "md5", "base", "utf", "oauth", "http", "ed25519", "rs256", "hs256", "es256", "aes", "rsa", "argon2",
		"bcrypt", "pbkdf2", "x509", "rfc", "iso", "ipv", "tls1", "ssl", "p256", "k8s", "i18n", "arg", "param", "str", "val"} {
		if strings.HasPrefix(l, w) && len(t) <= 12 {
			return true
		}
	}
	if chars.IsDigit(t[0]) || t[0] == 'v' && chars.IsDigit(t[1]) {
		return unitOrVersion(l)
	}
	return false
}

func unitOrVersion(l string) bool {
	letters := 0
	for i := 0; i < len(l); i++ {
		switch {
		case chars.IsAlpha(l[i]):
			letters++
		case !chars.IsDigit(l[i]) && l[i] != '.' && l[i] != '-' && l[i] != ':' && l[i] != '_' && l[i] != ',':
			return false
		}
	}
	return letters <= 2 && len(l) < 12
}

// Mixed says whether t has letters with a digit, or with a sign that names do not have.
func Mixed(t string) bool {
	letter, other := false, false
	for i := 0; i < len(t); i++ {
		letter = letter || chars.IsAlpha(t[i])
		other = other || chars.IsDigit(t[i]) || strings.IndexByte("!@#$%^&*+~", t[i]) >= 0
	}
	return letter && other
}

// HasMark says whether t has a sign that people put into passwords and programmers do not put into names.
func HasMark(t string) bool { return strings.ContainsAny(t, "!@#$%^&*+=?~:") }

// IsOneCaseKey says whether t is a run of letters alone, longer than words are.
func IsOneCaseKey(t string) bool { return len(t) >= 24 && IsWord(t) && Entropy(t) >= 3.5 }

// Entropy is the entropy of the bytes of t, in bits a byte.
func Entropy(t string) float64 {
	var count [256]int
	for i := 0; i < len(t); i++ {
		count[t[i]]++
	}
	e := 0.0
	for _, c := range count {
		if c > 0 {
			p := float64(c) / float64(len(t))
			e -= p * math.Log2(p)
		}
	}
	return e
}
