package redact

import "strings"

func trimSpace(v string) (a, b int) {
	a, b = 0, len(v)
	for a < b && isSpace(v[a]) {
		a++
	}
	for b > a && isSpace(v[b-1]) {
		b--
	}
	return a, b
}

func hasSpace(t string) bool {
	return strings.IndexByte(t, ' ') >= 0 || strings.ContainsAny(t, "\t\n\r")
}

// isWord: ASCII letters only.
func isWord(t string) bool {
	for i := 0; i < len(t); i++ {
		if !isAlpha(t[i]) {
			return false
		}
	}
	return t != ""
}

// isAlnumText: letters and digits, '-' and '_' between them.
func isAlnumText(t string) bool {
	for i := 0; i < len(t); i++ {
		if !isAlnum(t[i]) && t[i] != '_' && t[i] != '-' {
			return false
		}
	}
	return hasAlnum(t)
}

func hasAlnum(t string) bool {
	for i := 0; i < len(t); i++ {
		if isAlnum(t[i]) {
			return true
		}
	}
	return false
}

func isIdent(t string) bool {
	for i := 0; i < len(t); i++ {
		if !isAlnum(t[i]) && t[i] != '_' {
			return false
		}
	}
	return t != "" && !isDigit(t[0])
}

// isScreaming: A-Z, 0-9 and '_', with a letter first.
func isScreaming(t string) bool {
	for i := 0; i < len(t); i++ {
		if !isUpper(t[i]) && !isDigit(t[i]) && t[i] != '_' {
			return false
		}
	}
	return t != "" && isUpper(t[0])
}

func isUUID(t string) bool {
	if len(t) != 36 {
		return false
	}
	for i := 0; i < len(t); i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if t[i] != '-' {
				return false
			}
		} else if !isHex(t[i]) {
			return false
		}
	}
	return true
}

// sameWords: a value that is its own name in another spelling (apiKey: "api_key", password: "Password").
func sameWords(t, name string) bool {
	if len(t) > maxName || name == "" {
		return false
	}
	return sameLetters(t, name)
}

// sameLetters compares letters and digits alone, without case.
func sameLetters(a, b string) bool {
	i, j := 0, 0
	for {
		for i < len(a) && !isAlnum(a[i]) {
			if a[i] >= 0x80 {
				return false
			}
			i++
		}
		for j < len(b) && !isAlnum(b[j]) {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		if lower(a[i]) != lower(b[j]) {
			return false
		}
		i++
		j++
	}
}
