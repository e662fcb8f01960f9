package redact

import (
	"math"
	"strings"
)

// looksRandom: long enough, of a key's characters, mixed, and of high entropy for its alphabet.
func looksRandom(t string) bool {
	if len(t) < 16 || hasSpace(t) {
		return false
	}
	hex, digits, alphas, breaks := true, 0, 0, 0
	for i := 0; i < len(t); i++ {
		c := t[i]
		switch {
		case isDigit(c):
			digits++
		case isAlpha(c):
			alphas++
		case c >= 0x80 || strings.IndexByte("+/=_-.~%:|$@!^*", c) < 0:
			return false
		default:
			breaks++
		}
		hex = hex && (isHex(c) || c == '-' || c == ':')
	}
	e := entropy(t[:min(len(t), 512)])
	if hex {
		return digits > 0 && e >= 2.6 && breaks*3 < len(t)
	}
	if len(t) >= 24 && digits == 0 {
		return e >= 4.0 && breaks*8 < len(t) && turnsOften(t)
	}
	return digits > 0 && alphas > 0 && e >= 3.2 && breaks*4 < len(t) && !wordsAndNumbers(t) && !(digits*8 < len(t) && hasLongWord(t))
}

// hasLongWord: seven lower-case letters in a row, which random text of few digits seldom has.
func hasLongWord(t string) bool {
	run := 0
	for i := 0; i < len(t); i++ {
		if run++; !isLower(t[i]) {
			run = 0
		}
		if run == 7 {
			return true
		}
	}
	return false
}

// turnsOften: upper and lower case change more often than camelCase does.
func turnsOften(t string) bool {
	n := 0
	for i := 1; i < len(t); i++ {
		if isAlpha(t[i]) && isAlpha(t[i-1]) && isUpper(t[i]) != isUpper(t[i-1]) {
			n++
		}
	}
	return n*5 > len(t)*2
}

// isCamel: a word of several words, with capitals where they begin.
func isCamel(t string) bool {
	for i := 1; i < len(t); i++ {
		if isUpper(t[i]) && isLower(t[i-1]) {
			return true
		}
	}
	return false
}

// wordsAndNumbers: parts between '-', '_', '.', '/' that are each all letters or all digits (a slug, a date, a version).
func wordsAndNumbers(t string) bool {
	was := byte(0)
	for i := 0; i < len(t); i++ {
		var is byte
		switch {
		case isDigit(t[i]):
			is = 'd'
		case isAlpha(t[i]):
			is = 'a'
		}
		if was != 0 && is != 0 && was != is {
			return false
		}
		was = is
	}
	return true
}

// looksChosen: a password as people make them, letters with digits or signs and no space.
func looksChosen(t string) bool {
	if len(t) < 5 || len(t) > 128 || hasSpace(t) {
		return false
	}
	letters, others := 0, 0
	for i := 0; i < len(t); i++ {
		switch {
		case isAlpha(t[i]) || t[i] >= 0x80:
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
	if isDigit(t[0]) || t[0] == 'v' && isDigit(t[1]) {
		return unitOrVersion(l)
	}
	return false
}

func unitOrVersion(l string) bool {
	letters := 0
	for i := 0; i < len(l); i++ {
		switch {
		case isAlpha(l[i]):
			letters++
		case !isDigit(l[i]) && l[i] != '.' && l[i] != '-' && l[i] != ':' && l[i] != '_' && l[i] != ',':
			return false
		}
	}
	return letters <= 2 && len(l) < 12
}

// mixed: letters with a digit, or with a sign that names do not have.
func mixed(t string) bool {
	letter, other := false, false
	for i := 0; i < len(t); i++ {
		letter = letter || isAlpha(t[i])
		other = other || isDigit(t[i]) || strings.IndexByte("!@#$%^&*+~", t[i]) >= 0
	}
	return letter && other
}

// hasMark: a sign that people put into passwords and programmers do not put into names.
func hasMark(t string) bool { return strings.ContainsAny(t, "!@#$%^&*+=?~:") }

// isOneCaseKey: a long run of letters alone, longer than words are.
func isOneCaseKey(t string) bool { return len(t) >= 24 && isWord(t) && entropy(t) >= 3.5 }

// isWords: n or more words of letters alone. Less than twelve have no word in them that sentences are made with; twelve and
// more, which may, are written alike: all in lower case, in upper case or with a capital.
func isWords(t string, n int) bool {
	fields := strings.Fields(t)
	if len(fields) < n {
		return false
	}
	for _, f := range fields {
		if len(f) > 12 || !isWord(f) || n < 12 && joinWords[strings.ToLower(f)] || n >= 12 && caseOf(f) != caseOf(fields[0]) {
			return false
		}
	}
	return true
}

// caseOf tells word, WORD, Word and the rest apart.
func caseOf(w string) byte {
	switch rest := w[1:]; {
	case w == strings.ToLower(w):
		return 'a'
	case w == strings.ToUpper(w):
		return 'A'
	case rest == strings.ToLower(rest):
		return 'T'
	}
	return 'x'
}

func entropy(t string) float64 {
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
