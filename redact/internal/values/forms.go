package values

import (
	"encoding/base64"
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// IsBelow says whether t, which stands alone where a value of kind k could, looks like one.
func IsBelow(t string, k names.Kind) bool {
	if (k == names.Phrase || k == names.Seed) && IsWords(t, 12) {
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

// IsBasic says whether t is base64 of printable text with a colon.
func IsBasic(t string) bool {
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

// WordList is what the words of a list have in common.
type WordList struct {
	n     int
	other bool // not each is one word of a phrase: three letters or more
	long  bool // not each is short and in upper case, as an assembler's mnemonics are
}

func (l *WordList) Add(t string) {
	l.n++
	l.other = l.other || !looks.IsWord(t) || len(t) < 3 || len(t) > 12
	l.long = l.long || !looks.IsScreaming(t) || len(t) > 5
}

// Count is how many words were added.
func (l *WordList) Count() int { return l.n }

// IsPlain says whether each word is one of a phrase.
func (l *WordList) IsPlain() bool { return !l.other }

// IsPhrase says whether a list under a name of kind k is a phrase, word by word.
func (l *WordList) IsPhrase(k names.Kind) bool {
	return k == names.Phrase && l.n >= 11 || l.n >= 3 && !l.other && l.long && (k == names.Phrase || k == names.Seed)
}
