package identity

import (
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/redact"
	"pgregory.net/rapid"
)

// The form of tokens does not change: a scanner's rule and this one are what users have.
func TestTokenForm(t *testing.T) {
	const known = "trd_00000000000000000000000000000000000000000000PRA6c"
	if text := tokenPrefix + strings.Repeat("0", secretLen); text+sum(text) != known || !IsToken(known) {
		t.Errorf("a token of zeros is %s", text+sum(text))
	}
}

func TestTokensAreTokens(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		text := NewToken()
		if !IsToken(text) || len(text) != 53 || seen[text] {
			t.Fatalf("a new token is %q", text)
		}
		seen[text] = true
	}
}

// Tokens are taken out of text that is shown or put.
func TestTokensAreRedacted(t *testing.T) {
	for range 200 {
		if text := NewToken(); redact.Text("it is "+text+", keep it") != "it is "+redact.Mark+", keep it" {
			t.Fatalf("%q stays", text)
		}
	}
}

// A token in which one byte is another, or that is longer or shorter, is none.
func TestMistypedTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := NewToken()
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		c := rapid.Byte().Draw(t, "byte")
		if changed := text[:at] + string([]byte{c}) + text[at+1:]; changed != text && IsToken(changed) {
			t.Errorf("one byte of a token is changed at %d, and it is still one", at)
		}
		if IsToken(text[:at]) || IsToken(text+text[at:]) {
			t.Errorf("a token cut at %d, or with more behind it, is still one", at)
		}
	})
}
