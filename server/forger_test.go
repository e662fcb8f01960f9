package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/transcriptd/transcriptd/internal/identity"
)

// forger has a file of principals, and makes what does not say who calls.
type forger struct {
	directory *identity.Directory
	// good are headers that say who calls, live and revoked tokens that were given out.
	good                   map[string]string
	live, revoked, expired string
	// key is the issuer's, stranger another's; both call themselves by the same id.
	key, stranger *ecdsa.PrivateKey
}

const issuersName, audiencesName, keysID = "https://issuer.example", "transcriptd", "k1"

// newForger opens a file of principals, in which one token counts until it has been used, and is then revoked.
func newForger(t *testing.T) *forger {
	t.Helper()
	f := &forger{live: identity.NewToken(), revoked: identity.NewToken(), expired: identity.NewToken(), key: newKey(t), stranger: newKey(t)}
	path := filepath.Join(t.TempDir(), "principals.json")
	keys := filepath.Join(filepath.Dir(path), "keys.json")
	write(t, keys, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: f.key.Public(), KeyID: keysID, Algorithm: "ES256", Use: "sig"}}})
	write(t, path, f.file(keys, f.live, f.revoked))
	var err error
	if f.directory, err = identity.Open(path, identity.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.directory.Close() })
	f.good = map[string]string{
		"a token": "Bearer " + f.live, "a JWT": "Bearer " + f.sign(t, f.key, jose.ES256, claimsOf(nil)), "another case": "bearer " + f.live,
	}
	if _, err := f.directory.Authenticate(identity.Credentials{Authorization: []string{"Bearer " + f.revoked}}); err != nil {
		t.Fatalf("before it is revoked a token is good: %v", err)
	}
	write(t, path, f.file(keys, f.live))
	within, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := f.directory.Authenticate(identity.Credentials{Authorization: []string{"Bearer " + f.revoked}}); err != nil {
			return f
		}
		select {
		case <-tick.C:
		case <-within.Done():
			t.Fatal("a token that was revoked is good")
		}
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// file is a file of principals of one who may everything, by some tokens or by JWTs.
func (f *forger) file(keys string, tokens ...string) any {
	type object = map[string]any
	held := []object{{"id": "expired", "sha256": hashOf(f.expired), "expires": time.Now().Add(-time.Second)}}
	for _, token := range tokens {
		held = append(held, object{"id": hashOf(token)[:8], "sha256": hashOf(token)})
	}
	grants := []object{{"roles": []string{"read", "append", "erase", "operate", "backup", "admin"}, "namespaces": "*"}}
	return object{
		"principals": []object{{"name": "agent", "grants": grants, "tokens": held}},
		"jwt": object{
			"issuer": issuersName, "audience": audiencesName, "algorithms": []string{"ES256"}, "jwks_file": keys, "clock_skew": "0s",
			"principals": []object{{"name": "people", "claim": "groups", "value": "acme", "name_claim": "sub", "grants": grants}},
		},
	}
}

func hashOf(token string) string {
	hash := identity.HashToken(token)
	return hex.EncodeToString(hash[:])
}

// write replaces a file at once.
func write(t *testing.T, path string, content any) {
	t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// claimsOf are those of a good token but for some; nil takes one away.
func claimsOf(others map[string]any) map[string]any {
	claims := map[string]any{
		"iss": issuersName, "aud": audiencesName, "sub": "ann", "groups": []string{"acme"}, "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(claims, others)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

// sign makes a JWT of claims that says to be by the issuer's key.
func (f *forger) sign(t *testing.T, key any, algorithm jose.SignatureAlgorithm, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", keysID))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

// unsigned is a JWT without a signature, that says so or not.
func unsigned(t *testing.T, algorithm string, claims map[string]any) string {
	t.Helper()
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	head := `{"alg":"` + algorithm + `","kid":"` + keysID + `"}`
	return base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + base64.RawURLEncoding.EncodeToString(text) + "."
}

// forgeries are the headers of calls that do not say who calls, by what is wrong with them.
func (f *forger) forgeries(t *testing.T) map[string][]string {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(f.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	secret := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	good := f.sign(t, f.key, jose.ES256, claimsOf(nil))
	parts := strings.Split(good, ".")
	other := strings.Split(f.sign(t, f.key, jose.ES256, claimsOf(map[string]any{"sub": "eve"})), ".")
	last := map[bool]string{true: "1", false: "0"}[strings.HasSuffix(f.live, "0")]
	jwt := func(others map[string]any) string { return f.sign(t, f.key, jose.ES256, claimsOf(others)) }
	all := map[string][]string{
		"none": nil, "two good ones": {"Bearer " + f.live, "Bearer " + f.live}, "a good one and an empty one": {"Bearer " + f.live, ""},
		"a good one behind another's": {"Bearer " + identity.NewToken(), "Bearer " + f.live}, "two in one": {"Bearer " + f.live + ", Bearer " + f.live},
		"an empty header": {""}, "a scheme alone": {"Bearer"}, "two blanks": {"Bearer  " + f.live}, "no scheme": {f.live}, "another scheme": {"Basic " + f.live},
		"a password": {"Basic " + base64.StdEncoding.EncodeToString([]byte("agent:"+f.live))}, "the name": {"Bearer agent"},
	}
	for what, token := range map[string]string{
		"expired": f.expired, "revoked, replayed": f.revoked, "nobody's": identity.NewToken(), "its hash": hashOf(f.live), "cut": f.live[:len(f.live)-1],
		"its last digit changed": f.live[:len(f.live)-1] + last, "longer": f.live + "0", "upper case": strings.ToUpper(f.live),
		"JWT: alg none": unsigned(t, "none", claimsOf(nil)), "JWT: alg None": unsigned(t, "None", claimsOf(nil)), "JWT: no signature": unsigned(t, "ES256", claimsOf(nil)),
		"JWT: HMAC with the public key": f.sign(t, secret, jose.HS256, claimsOf(nil)), "JWT: another's key": f.sign(t, f.stranger, jose.ES256, claimsOf(nil)),
		"JWT: other claims": parts[0] + "." + other[1] + "." + parts[2], "JWT: another signature": parts[0] + "." + parts[1] + "." + other[2],
		"JWT: cut": good[:len(good)-4], "JWT: a fourth part": good + ".x", "JWT: huge": good + strings.Repeat("x", 9000),
		"JWT: wrong audience": jwt(map[string]any{"aud": "other"}), "JWT: no audience": jwt(map[string]any{"aud": nil}), "JWT: wrong issuer": jwt(map[string]any{"iss": "https://other.example"}),
		"JWT: no issuer": jwt(map[string]any{"iss": nil}), "JWT: expired": jwt(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "JWT: no end": jwt(map[string]any{"exp": nil}),
		"JWT: not yet": jwt(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "JWT: another group": jwt(map[string]any{"groups": []string{"acme2"}}), "JWT: no name": jwt(map[string]any{"sub": nil}),
	} {
		all[what] = []string{"Bearer " + token}
	}
	return all
}
