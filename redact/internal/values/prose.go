package values

import (
	"strings"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// joinWords are what sentences are made with and phrases of random words are not.
var joinWords = chars.Words(`a an the is are was be to or and in for with from if when of by at it its this that must not your my our
	you has have does please enter set can will should only without new password token secret`)

// tellWords are what prompts and complaints say of a value: "must be at least 8 characters", "is too short".
var tellWords = chars.Words(`must should cannot can't please required requires invalid incorrect wrong missing expired characters minimum
	maximum least too unauthorized denied provided specified unsupported unconfigured`)

// hintWords do so in company of another, or of a word that joins: passwords of several words may have one.
var hintWords = chars.Words(`enter provide specify choose select optional expires character chars letters digits min max most short long
	match matches allowed supported configured unknown stored encrypted hashed generated default string value blank empty
	field forgot reset confirm change used user's description authentication authenticate authenticates authorization failed
	not identifies returned example`)

// describes says whether a value of several words speaks of a secret instead of being one: by its words, as a sentence with its
// stop, or at length. Text without a Latin letter or digit is taken for a label.
func describes(t string) bool {
	if !chars.HasSpace(t) {
		return !chars.HasAlnum(t) && utf8.RuneCountInString(t) < len(t)
	}
	words := strings.Fields(t)
	if len(words) > 24 {
		return !IsWords(t, 12)
	}
	if len(words) > 3 && chars.IsUpper(t[0]) && (strings.HasSuffix(t, ".") || strings.HasSuffix(t, "?")) && isProse(t) {
		return true
	}
	hints, joins := 0, 0
	for _, w := range words {
		switch w = plainWord(w); {
		case tellWords[w]:
			return true
		case hintWords[w]:
			hints++
		case joinWords[w]:
			joins++
		}
	}
	return hints > 0 && joins > 0 || hints == len(words)
}

// speaksOf says whether a value of several words has the last word of its name among them: {"apiKey": "API key of the
// account"}. One with "my" in it does not: people's passwords do.
func speaksOf(t, name string) bool {
	if !chars.HasSpace(t) || len(t) > chars.MaxBare {
		return false
	}
	last := names.Noun(name)
	if last == "" {
		return false
	}
	found := false
	for _, w := range strings.Fields(t) {
		w = plainWord(w)
		if w == "my" {
			return false
		}
		found = found || w == last || strings.TrimSuffix(w, "s") == last || names.IsPassword(w) && names.IsPassword(last)
	}
	return found
}

// plainWord is a word of a sentence in lower case, without the signs around it.
func plainWord(w string) string { return strings.ToLower(strings.Trim(w, `.,;:!?'"()`+"`")) }

// IsPhrase says whether the words of a line are a password of several words rather than prose.
func IsPhrase(t string) bool {
	words := strings.Fields(t)
	stops := 0
	for _, w := range words {
		if IsStopWord(w) {
			stops++
		}
	}
	return len(words) <= 12 && stops*4 <= len(words) && IsWords(t, 3) && !describes(t)
}

// isShortMix: two or three words that are no sentence.
func isShortMix(t string) bool {
	return chars.HasSpace(t) && len(strings.Fields(t)) <= 3 && !isProse(t) && looks.Mixed(t)
}

// isProse: words with spaces between them, letters and plain punctuation only.
func isProse(t string) bool {
	words := 0
	for _, f := range strings.Fields(t) {
		for i := 0; i < len(f); i++ {
			if !chars.IsAlpha(f[i]) && f[i] < 0x80 && !strings.ContainsRune(`.,;:!?'"()-/`+"`", rune(f[i])) {
				return false
			}
		}
		words++
	}
	return words > 1
}

// IsWords says whether t is n or more words of letters alone. Less than twelve have no word in them that sentences are made with; twelve and
// more, which may, are written alike: all in lower case, in upper case or with a capital.
func IsWords(t string, n int) bool {
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
