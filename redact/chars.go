package redact

import "github.com/transcriptd/transcriptd/redact/internal/chars"

// sameWords: a value that is its own name in another spelling (apiKey: "api_key", password: "Password").
func sameWords(t, name string) bool {
	if len(t) > maxName || name == "" {
		return false
	}
	return chars.SameLetters(t, name)
}
