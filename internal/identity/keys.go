package identity

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// keySet are the public keys of an issuer, by their key ids. It does not change: another set is another pointer.
type keySet struct{ keys map[string][]jose.JSONWebKey }

// keySource is where an issuer's keys come from. Its methods may run at once, and wait for nothing.
type keySource interface {
	// current are the keys now; ErrUnavailable: they were never got, or too long ago.
	current() (*keySet, error)
	// lookFor tells that a token names a key that the current set has not. True: the keys are being got anew, so it may soon be there.
	lookFor(kid string) bool
}

// keysOfFile are keys that came with the table of principals, and change with it.
type keysOfFile struct{ set *keySet }

func (k keysOfFile) current() (*keySet, error) { return k.set, nil }
func (k keysOfFile) lookFor(string) bool       { return false }

// maxKeys bounds a set of keys.
const maxKeys = 100

// parseKeys reads a JWK Set. Keys of kinds that are not known, for encryption, or without an id are passed over (RFC 7517, 5); a set with a
// secret in it is refused: who has it makes tokens.
func parseKeys(text []byte) (*keySet, error) {
	var file struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, errors.New(tellJSON(text, err))
	}
	if len(file.Keys) > maxKeys {
		return nil, fmt.Errorf("keys: are more than %d", maxKeys)
	}
	set := &keySet{keys: map[string][]jose.JSONWebKey{}}
	for i, raw := range file.Keys {
		if hasSecret(raw) {
			return nil, fmt.Errorf("keys[%d]: has a private or symmetric key; only public keys may be here", i)
		}
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(raw); err != nil || key.KeyID == "" || key.Use != "" && key.Use != "sig" || !isStrong(key.Key) {
			continue
		}
		set.keys[key.KeyID] = append(set.keys[key.KeyID], key)
	}
	if len(set.keys) == 0 {
		return nil, errors.New("keys: none can be used; each needs a kid, and must be RSA of 2048 to 8192 bits, EC, or Ed25519, to sign with")
	}
	return set, nil
}

// hasSecret tells whether a key has what only its owner may know.
func hasSecret(raw jsontext.Value) bool {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return false
	}
	for _, name := range []string{"d", "k", "p", "q", "dp", "dq", "qi", "oth", "priv"} {
		if _, ok := members[name]; ok {
			return true
		}
	}
	return false
}

func isStrong(key any) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen() >= 2048 && key.N.BitLen() <= 8192
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	default:
		return false
	}
}
