package main

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// TestChatAlias: an alias keeps its id, whatever the id is, and holds no control character.
func TestChatAlias(t *testing.T) {
	runes := rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("%0123456789ABCDEFabcdef/\n\x00\x7f\u0085")))
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringOfN(runes, 1, 40, -1).Draw(t, "id")
		alias, err := chatAlias(id)
		if errors.Is(err, errBadID) && len(id) > 100 {
			return // 40 control characters beyond ASCII take more than an alias has
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(alias, "chat/") || strings.IndexFunc(alias, unicode.IsControl) >= 0 {
			t.Fatalf("%q", alias)
		}
		if back := chatID(alias); back != id {
			t.Fatalf("%q became %q and then %q", id, alias, back)
		}
	})
}

func TestChatAliasExamples(t *testing.T) {
	for id, want := range map[string]string{
		"a/b c": "chat/a/b c", "50%": "chat/50%", "a\nb": "chat/a%0Ab", "a%0Ab": "chat/a%250Ab", "\u0085": "chat/%C2%85",
	} {
		if alias, err := chatAlias(id); err != nil || alias != want {
			t.Errorf("%q became %q, %v; want %q", id, alias, err, want)
		}
	}
	for _, id := range []string{"", strings.Repeat("x", 508)} {
		if _, err := chatAlias(id); !errors.Is(err, errBadID) {
			t.Errorf("an id of %d bytes: %v", len(id), err)
		}
	}
	if id := chatID("chat/a%41"); id != "a%41" {
		t.Errorf("another client's name became %q", id)
	}
}
