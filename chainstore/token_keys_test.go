package chainstore

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestSecretsAreNotShown: neither a verb of fmt nor an encoder writes a secret down.
func TestSecretsAreNotShown(t *testing.T) {
	secret := Secret(bytes.Repeat([]byte("k"), 32))
	keys := TokenKeys{Current: TokenKey{Version: 2, Secret: secret}, Previous: TokenKey{Version: 1, Secret: secret}}
	var out bytes.Buffer
	for _, verb := range "vsqxXdbocUtT" {
		for _, flag := range []string{"", "+", "#", "# ", "0100"} {
			fmt.Fprintf(&out, "%"+flag+string(verb)+"\n", secret)
			fmt.Fprintf(&out, "%"+flag+string(verb)+"\n", keys)
			fmt.Fprintf(&out, "%"+flag+string(verb)+"\n", &keys)
		}
	}
	for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&out, nil)), slog.New(slog.NewJSONHandler(&out, nil))} {
		log.Info("keys", "keys", keys, "pointer", &keys, "secret", secret, "error", fmt.Errorf("%v: %w", keys, errors.New("x")))
	}
	if err := json.NewEncoder(&out).Encode(keys); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "(secret)"); n < 100 {
		t.Errorf("the word for it is written %d times", n)
	}
	for _, shown := range []string{
		"kkk", hex.EncodeToString(secret[:3]), "6B6B", "6b 6b", "0x6b", "107 107", "107,107", "'k' 'k'", "U+006B", base64.StdEncoding.EncodeToString(secret[:9]),
		"153 153", "1101011",
	} {
		if i := strings.Index(out.String(), shown); i >= 0 {
			t.Errorf("a secret is written as %s: %q", shown, out.String()[max(0, i-40):i+40])
		}
	}
}
