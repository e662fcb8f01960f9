package redact

import (
	"encoding/base64"
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// isBelow says whether t, which stands alone where a value of kind k could, looks like one.
func isBelow(t string, k names.Kind) bool {
	if (k == names.Phrase || k == names.Seed) && isWords(t, 12) {
		return true
	}
	if t == "" || chars.HasSpace(t) || strings.ContainsAny(t, "{}()[]<>;,\"'`") || strings.HasSuffix(t, ":") || strings.HasSuffix(t, "++") || strings.HasSuffix(t, "--") {
		return false
	}
	switch k {
	case names.PIN, names.Named:
		return true
	case names.Password, names.Secret, names.Token, names.Pass, names.Phrase:
		return looks.Mixed(t) && (looks.Chosen(t) || looks.Random(t))
	default:
		return false
	}
}

// isBasic says whether t is base64 of printable text with a colon.
func isBasic(t string) bool {
	if len(t) < 8 || len(t) > 1024 {
		return false
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(t, "="))
	if err != nil {
		return false
	}
	colon := false
	for _, c := range text {
		if c < ' ' || c == 0x7F {
			return false
		}
		colon = colon || c == ':'
	}
	return colon
}

// wordList is what the words of a list have in common.
type wordList struct {
	n     int
	plain bool // each is one word of a phrase: three letters or more
	short bool // each is short and in upper case, as an assembler's mnemonics are
}

func (l *wordList) add(t string) {
	l.n++
	l.plain = l.plain && looks.IsWord(t) && len(t) >= 3 && len(t) <= 12
	l.short = l.short && looks.IsScreaming(t) && len(t) <= 5
}

// isPhrase says whether a list under a name of kind k is a phrase, word by word.
func (l *wordList) isPhrase(k names.Kind) bool {
	return k == names.Phrase && l.n >= 11 || l.n >= 3 && l.plain && !l.short && (k == names.Phrase || k == names.Seed)
}
