package names

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// MaxName is how many bytes a name has at most.
const MaxName = 96

const maxWords = 12

// nameWords is a name split into lower-case words.
type nameWords struct {
	buf  [MaxName]byte
	from [maxWords]uint8
	to   [maxWords]uint8
	n    int
}

func (w *nameWords) word(i int) []byte { return w.buf[w.from[i]:w.to[i]] }

// join gives the words from i on, joined with '_'.
func (w *nameWords) join(i int) string {
	var b strings.Builder
	for j := i; j < w.n; j++ {
		if j > i {
			b.WriteByte('_')
		}
		b.Write(w.word(j))
	}
	return b.String()
}

// split splits at everything but letters and digits and where camelCase turns: "x-APIKey2" is x, api, key2. A name
// that is too long or has too many words has none.
func split(name string) (w nameWords) {
	if len(name) > MaxName {
		return nameWords{}
	}
	open := false
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !chars.IsAlnum(c) {
			open = false
			continue
		}
		if open && turns(name, i) {
			open = false
		}
		if !open {
			if w.n == maxWords {
				return nameWords{}
			}
			w.from[w.n] = uint8(i)
			w.n++
			open = true
		}
		w.buf[i] = chars.Lower(c)
		w.to[w.n-1] = uint8(i + 1)
	}
	return w
}

// turns says whether a word of camelCase begins at i > 0: aB, 2B, ABc (at B).
func turns(name string, i int) bool {
	if !chars.IsUpper(name[i]) {
		return false
	}
	if !chars.IsUpper(name[i-1]) {
		return true
	}
	return i+1 < len(name) && chars.IsLower(name[i+1]) && !(name[i+1] == 's' && (i+2 == len(name) || !chars.IsLower(name[i+2])))
}

func trimDigits(w []byte) []byte {
	n := len(w)
	for n > 0 && chars.IsDigit(w[n-1]) {
		n--
	}
	if n == 0 || string(w) == "bolt11" || string(w) == "bip39" || string(w) == "erc20" || string(w) == "ed25519" {
		return w
	}
	return w[:n]
}
