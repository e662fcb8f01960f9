package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Bounds of a key, in bytes.
const (
	minKey = 32
	maxKey = 4096
)

// ErrKey says that a key cannot be used.
var ErrKey = errors.New("not a key of an audit")

// Key is what the lines of an audit are keyed with: who has it not can make none. A nil Key stands for none: anybody can compute hashes.
// What is printed of a Key is its id.
type Key struct {
	id           string
	chain, names []byte
}

// What is derived of a key. Part of the format: must not change.
const (
	forID    = "transcriptd audit 1: id"
	forChain = "transcriptd audit 1: chain"
	forNames = "transcriptd audit 1: names"
)

// NewKey makes a key of a secret of at least 32 bytes.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) < minKey || len(secret) > maxKey {
		return nil, fmt.Errorf("%w: must be %d to %d bytes, is %d; openssl rand -hex 32 makes one", ErrKey, minKey, maxKey, len(secret))
	}
	return &Key{id: hex.EncodeToString(keyed(secret, forID)[:4]), chain: keyed(secret, forChain), names: keyed(secret, forNames)}, nil
}

// ReadKey reads a key from a file that nobody but its owner may read. White space at the file's end does not count.
func ReadKey(path string) (*Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, fmt.Errorf("%w: others may read %s, whose mode is %04o: chmod 600 it", ErrKey, path, mode)
	}
	if info.Size() > maxKey+1 {
		return nil, fmt.Errorf("%w: %s is over %d bytes", ErrKey, path, maxKey)
	}
	secret, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := NewKey(bytes.TrimRight(secret, " \t\r\n"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// ID tells keys apart, and nothing about them; empty: no key.
func (k *Key) ID() string {
	if k == nil {
		return ""
	}
	return k.id
}

// Format writes the id in place of the key.
func (k *Key) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "audit key %s", k.ID()) }

// sum is the hash of a line's body.
func (k *Key) sum(body []byte) string {
	if k == nil {
		sum := sha256.Sum256(body)
		return hex.EncodeToString(sum[:])
	}
	code := hmac.New(sha256.New, k.chain)
	code.Write(body)
	return hex.EncodeToString(code.Sum(nil))
}

// Name is what stands for an alias in a line: by the key, or else by the salt of the line's file, which tells nobody the name who does not
// guess it. Namespaces have no NUL, so no two pairs are alike.
func (k *Key) Name(salt, namespace, alias string) string {
	secret := []byte(salt)
	if k != nil {
		secret = k.names
	}
	return hex.EncodeToString(keyed(secret, namespace+"\x00"+alias)[:16])
}

func keyed(secret []byte, text string) []byte {
	code := hmac.New(sha256.New, secret)
	code.Write([]byte(text))
	return code.Sum(nil)
}
