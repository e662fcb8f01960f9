package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/looks"
)

// isWords: n or more words of letters alone. Less than twelve have no word in them that sentences are made with; twelve and
// more, which may, are written alike: all in lower case, in upper case or with a capital.
func isWords(t string, n int) bool {
	fields := strings.Fields(t)
	if len(fields) < n {
		return false
	}
	for _, f := range fields {
		if len(f) > 12 || !looks.IsWord(f) || n < 12 && joinWords[strings.ToLower(f)] || n >= 12 && caseOf(f) != caseOf(fields[0]) {
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
