package identity

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Text that is a token has the form of one, byte for byte, and so names at most who was given it.
func FuzzToken(f *testing.F) {
	const has = "trd_00000000000000000000000000000000000000000000PRA6c" // the same in each process that fuzzes
	t := &table{tokens: map[[32]byte]heldToken{HashToken(has): {who: &Principal{Name: "agents"}}}}
	f.Add(has)
	f.Add(NewToken())
	f.Add("trd_")
	f.Add("Bearer " + has)
	f.Fuzz(func(test *testing.T, text string) {
		if IsToken(text) && (len(text) != tokenLen || text[tokenLen-sumLen:] != sum(text[:tokenLen-sumLen])) {
			test.Errorf("%q is a token", text)
		}
		if who, err := t.byHeader("Bearer "+text, noon); (who != nil) != (text == has) || (who == nil) != (err != nil) {
			test.Errorf("%q names %v, %v", text, who, err)
		}
	})
}

// A file is refused, or read as it will be read again once it is written.
func FuzzFile(f *testing.F) {
	f.Add(agents(tokenEntry("a", NewToken(), `,"created":"2026-12-01T00:00:00Z","expires":"2026-12-01T00:00:00+01:00"`)))
	f.Add(sso(`"jwks_file":"k","clock_skew":"90s"`))
	f.Add(sso(`"jwks_url":"https://sso.example/keys"`))
	f.Add(`{"principals":[{"name":"a","certificates":["dns:a","uri:b:c","CN=x"],"rate":{"calls_per_second":1e-9,"burst":3}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, table, err := parse([]byte(text))
		if err != nil {
			return
		}
		written, err := file.text()
		if err != nil {
			t.Fatal(err)
		}
		_, again, err := parse(written)
		if err != nil || !reflect.DeepEqual(again.principals, table.principals) || !reflect.DeepEqual(again.certificates, table.certificates) ||
			len(again.tokens) != len(table.tokens) {
			t.Errorf("written as %s, it is read as something else: %v", written, err)
		}
		for hash, k := range table.tokens {
			if !again.tokens[hash].expires.Equal(k.expires) {
				t.Errorf("a token expires at %s, then at %s", k.expires, again.tokens[hash].expires)
			}
		}
	})
}

// A token names somebody only if its claims are some that the issuer signed.
func FuzzJWT(f *testing.F) {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{1}, 32)) // the same in each process that fuzzes
	if err != nil {
		f.Fatal(err)
	}
	ec := signer{"k1", jose.ES256, key}
	_, trusts, err := parse([]byte(sso(`"jwks_file":"k"`)))
	if err != nil {
		f.Fatal(err)
	}
	set, err := parseKeys([]byte(keysFile(f, ec)))
	if err != nil {
		f.Fatal(err)
	}
	trusts.jwt.keys = keysOfFile{set}
	signed := map[string]bool{}
	add := func(token string, good bool) {
		f.Add(token)
		if good {
			signed[payloadOf(token)] = true
		}
	}
	add(ec.sign(f, good(), nil), true)
	add(ec.sign(f, good().with(claims{"sub": "robot"}), nil), true)
	add(ec.sign(f, good().with(claims{"exp": nil}), nil), false)
	add(ec.sign(f, good(), map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}), false)
	add(newEC(f, "k1").sign(f, good().with(claims{"sub": "eve"}), nil), false)
	add(base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"k1"}`))+".e30.", false)
	f.Fuzz(func(t *testing.T, token string) {
		trusts.jwt.forged.n = 0 // as if each came in a second of its own
		who, err := trusts.byHeader("Bearer "+token, noon)
		if (who == nil) != (err != nil) || who != nil && !signed[payloadOf(token)] {
			t.Errorf("%q names %v, %v", token, who, err)
		}
	})
}

// payloadOf is what a token says, whoever signed it.
func payloadOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	text, _ := base64.RawURLEncoding.DecodeString(parts[1])
	return string(text)
}

// A set of keys is refused, or has none but public keys to check signatures with.
func FuzzKeys(f *testing.F) {
	f.Add(keysFile(f, newEC(f, "k1"), newRSA(f, "k2")))
	f.Add(`{"keys":[{"kty":"oct","kid":"k","k":"c2VjcmV0"}]}`)
	f.Add(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := parseKeys([]byte(text))
		if err != nil {
			return
		}
		for kid, keys := range set.keys {
			for _, key := range keys {
				if !key.IsPublic() || !key.Valid() || kid == "" {
					t.Errorf("key %q of %T", kid, key.Key)
				}
			}
		}
		_, _ = (&issuer{keys: keysOfFile{set}}).authenticate(text, time.Now())
	})
}
