package chainstore

import (
	"context"
	"fmt"
)

// TokenKeyLife is how old the present key of page tokens becomes, in milliseconds. So what is authenticated with it stays valid for at
// least as long. Part of the contract: may only grow.
const TokenKeyLife = 30 * 24 * 60 * 60 * 1000

// TokenKeeper keeps the keys that page tokens are authenticated with.
type TokenKeeper interface {
	// TokenKeys returns the keys as of now: one pair for the whole store, the same for all who have it open, also after it was closed. It
	// makes the first key where there is none, and a new one where the present one is TokenKeyLife old: the present one becomes the
	// previous one, which is forgotten. A key is durable before it is returned. Where several callers, or several servers over one
	// database, are to make a key at once, one key is made, and all get that one.
	//
	// Where a new key cannot be made just then, and there is one, the keys stay as they are. Errors: ErrCorrupt, ErrClosed, the context's;
	// where there is no key yet, those of a Commit too.
	TokenKeys(ctx context.Context) (TokenKeys, error)
}

// TokenKeys are the two keys that are valid.
type TokenKeys struct {
	// Current is the one to make tokens with. Previous is the one before; its Version is 0 where there was none.
	Current, Previous TokenKey
}

// TokenKey is a key of page tokens.
type TokenKey struct {
	// Version counts the keys of a store, from 1.
	Version uint32
	// MadeAt is in milliseconds since the epoch.
	MadeAt int64
	Secret Secret
}

// Due tells whether a new key is to be made, as of a time in milliseconds since the epoch.
func (k *TokenKeys) Due(now int64) bool {
	return k.Current.Version == 0 || now-k.Current.MadeAt >= TokenKeyLife
}

// Next are the keys once one was made of a secret.
func (k *TokenKeys) Next(now int64, secret Secret) TokenKeys {
	return TokenKeys{Current: TokenKey{Version: k.Current.Version + 1, MadeAt: now, Secret: secret}, Previous: k.Current}
}

// Secret is 32 random bytes. No verb of fmt that is meant for values, and no encoder of text or JSON, shows them.
type Secret [32]byte

// Format writes a word in place of the bytes.
func (Secret) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(hiddenSecret)) }

// MarshalText gives a word in place of the bytes.
func (Secret) MarshalText() ([]byte, error) { return []byte(hiddenSecret), nil }

const hiddenSecret = "(secret)"
