// Package tokens knows the forms of tokens and keys, which are secrets wherever they stand: what its maker lets each begin
// with, and what follows. The forms are facts in tables; [At] compares a text with all of them.
//
// Ids that are public (AC… of Twilio, pk_live_… of Stripe, keys for browsers) are no forms here, nor is what only a name beside
// it makes a secret (32 digits in hexadecimal).
package tokens

import (
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// all are the forms that begin with their prefix.
var all = slices.Concat(models, hosts, clouds, services, coins)

// index finds the forms that a word may begin a token of by its first two characters.
type index struct {
	group  [1 << 16]uint8 // of each two characters; 0 has no forms
	groups [][]Form
	letter [256][]Form // the forms whose prefix is one character
}

var byBeginning = newIndex(all)

func newIndex(forms []Form) *index {
	x := &index{groups: make([][]Form, 1)}
	for _, f := range forms {
		if len(f.Prefix) == 1 {
			x.letter[f.Prefix[0]] = append(x.letter[f.Prefix[0]], f)
			continue
		}
		at := &x.group[beginning(f.Prefix, 0)]
		if *at == 0 {
			*at = uint8(len(x.groups)) // a test counts them
			x.groups = append(x.groups, nil)
		}
		x.groups[*at] = append(x.groups[*at], f)
	}
	return x
}

func beginning(s string, i int) int { return int(s[i])<<8 | int(s[i+1]) }

// Begins says whether a token may begin with c.
func Begins(c byte) bool { return chars.IsAlnum(c) || c == '$' }

// At gives the end of the token that begins at s[i], the longest one, or 0 if none does. The byte before i is not of a word, or
// is '_', '-' or '.'. The time grows with the length of what is compared, which is bounded where it is no token.
func At(s string, i int) int {
	end := 0
	if i+1 < len(s) {
		forms := byBeginning.groups[byBeginning.group[beginning(s, i)]]
		for n := range forms {
			end = max(end, forms[n].at(s, i))
		}
	}
	for n := range byBeginning.letter[s[i]] {
		end = max(end, byBeginning.letter[s[i]][n].at(s, i))
	}
	return max(end, markedAt(s, i), builtAt(s, i))
}

// builtAt is At for what has parts that are more than characters.
func builtAt(s string, i int) int {
	switch {
	case s[i] == 'e' && strings.HasPrefix(s[i:], "eyJ"):
		return jwt(s, i)
	case s[i] == 'L' && strings.HasPrefix(s[i:], "LS0tLS1CRUdJTi"), s[i] == 'C' && strings.HasPrefix(s[i:], "Ci0tLS0tQkVHSU4g"):
		return pemInBase64(s, i)
	}
	return 0
}
