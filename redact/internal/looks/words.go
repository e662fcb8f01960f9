package looks

import "github.com/transcriptd/transcriptd/redact/internal/chars"

// IsWord says whether t is ASCII letters only.
func IsWord(t string) bool {
	for i := 0; i < len(t); i++ {
		if !chars.IsAlpha(t[i]) {
			return false
		}
	}
	return t != ""
}

// IsAlnumText says whether t is letters and digits, with '-' and '_' between them.
func IsAlnumText(t string) bool {
	for i := 0; i < len(t); i++ {
		if !chars.IsAlnum(t[i]) && t[i] != '_' && t[i] != '-' {
			return false
		}
	}
	return chars.HasAlnum(t)
}

// IsIdent says whether t is an identifier of source text: letters, digits and '_', no digit first.
func IsIdent(t string) bool {
	for i := 0; i < len(t); i++ {
		if !chars.IsAlnum(t[i]) && t[i] != '_' {
			return false
		}
	}
	return t != "" && !chars.IsDigit(t[0])
}

// IsScreaming says whether t is A-Z, 0-9 and '_', with a letter first.
func IsScreaming(t string) bool {
	for i := 0; i < len(t); i++ {
		if !chars.IsUpper(t[i]) && !chars.IsDigit(t[i]) && t[i] != '_' {
			return false
		}
	}
	return t != "" && chars.IsUpper(t[0])
}

// IsUUID says whether t is a UUID in its usual spelling.
func IsUUID(t string) bool {
	if len(t) != 36 {
		return false
	}
	for i := 0; i < len(t); i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if t[i] != '-' {
				return false
			}
		} else if !chars.IsHex(t[i]) {
			return false
		}
	}
	return true
}
