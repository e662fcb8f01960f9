package redact

import (
	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// sameWords: a value that is its own name in another spelling (apiKey: "api_key", password: "Password").
func sameWords(t, name string) bool {
	if len(t) > names.MaxName || name == "" {
		return false
	}
	return chars.SameLetters(t, name)
}
