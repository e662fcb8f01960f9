package client_test

import (
	"encoding/json"
	"os"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/client"
)

// TestMessageAlias: names.json, which the tests of other languages read too.
func TestMessageAlias(t *testing.T) {
	var vectors []struct {
		Name      string `json:"name"`
		MessageID string `json:"message_id"`
		Alias     string `json:"alias"`
	}
	b, err := os.ReadFile("../../proto/testdata/names.json")
	if err == nil {
		err = json.Unmarshal(b, &vectors)
	}
	if err != nil || len(vectors) == 0 {
		t.Fatal("no vectors:", err)
	}
	for _, v := range vectors {
		if got := client.MessageAlias(v.MessageID); got != v.Alias {
			t.Errorf("%s: %q, want %q", v.Name, got, v.Alias)
		}
	}
	if got, want := client.MessageAlias("a\xff"), "msg/sha256:8dd06b5ab6b594257e41b7d8dd440a4062eddc67fdab5c13b4dc300176896f6e"; got != want {
		t.Errorf("an id that is not UTF-8: %q, want %q", got, want)
	}
}

// TestEveryMessageHasAnAlias: the server takes the alias of any id, and no two ids have one.
func TestEveryMessageHasAnAlias(t *testing.T) {
	c := newLink(t).client()
	id := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("a\x00é:")), 400, 600, -1),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.StringMatching("[a-f0-9]{0,64}"), func(s string) string { return "sha256:" + s }))
	root := begun(t, c).Head()
	rapid.Check(t, func(rt *rapid.T) {
		a, b := id.Draw(rt, "a"), id.Draw(rt, "b")
		alias := client.MessageAlias(a)
		if (alias == client.MessageAlias(b)) != (a == b) {
			rt.Errorf("%q and %q are both %q", a, b, alias)
		}
		if client.MessageAlias(alias) == alias || !utf8.ValidString(alias) {
			rt.Errorf("%q", alias)
		}
		if _, err := c.SetAliases(t.Context(), client.AliasMove{Name: alias, Target: client.ByID(root)}); err != nil {
			rt.Errorf("%q is refused: %v", alias, err)
		}
	})
}
